#include "jobs/manager/watchers.h"

#include <algorithm>
#include <utility>

#include "jobs/manager/cluster_view.h"
#include "load/codec/totals_codec.h"

namespace bellwether::node {

metrics::LiveWindows& LiveBoard::windows(Instant now) {
  if (!windows_) windows_.emplace(zero_.value_or(now));
  return *windows_;
}

void LiveBoard::begins(Instant now, dispatch::AssignmentId assignment) {
  if (finished_) return;
  const auto [at, is_new] = told_.try_emplace(assignment);
  if (is_new) at->second.source = windows(now).open(now, true);
}

bool LiveBoard::heard(Instant now, Instant collected, uint64_t number, const dispatch::LiveMessage::Assignment& told) {
  if (finished_) return false;
  const auto [at, is_new] = told_.try_emplace(told.assignment);
  Told& known = at->second;
  if (known.over) return false;
  if (is_new) known.source = windows(now).open(now, false);
  windows_->take(now, known.source, collected, number,
                 {told.requests, told.failed, told.iterations, told.dropped, told.vus});
  if (known.number && number <= *known.number) return false;
  if (known.number) count(known.what, -1);
  known.number = number;
  known.at = now;
  known.what = told;
  count(told, 1);
  ++version_;
  return true;
}

void LiveBoard::ended(Instant now, dispatch::AssignmentId assignment) {
  const auto at = told_.find(assignment);
  if (finished_ || at == told_.end() || at->second.over) return;
  at->second.over = true;
  sum_.vus -= at->second.what.vus;
  at->second.what.vus = 0;
  windows_->end(now, at->second.source);
  ++version_;
}

void LiveBoard::finish(Instant now) {
  if (windows_ && !finished_) windows_->finish(now);
  finished_ = true;
}

dispatch::LiveSum LiveBoard::sum(Instant now) const {
  dispatch::LiveSum out = sum_;
  for (const auto& [assignment, told] : told_) {
    if (!told.over && told.number) out.age = std::max(out.age, client::Span((now - told.at).ns()));
  }
  return out;
}

dispatch::LiveNews LiveBoard::news(Instant now, uint64_t change) const {
  dispatch::LiveNews out;
  out.total = sum(now);
  if (!windows_) return out;
  out.change = windows_->change();
  std::vector<metrics::LiveWindow> closed;
  windows_->since(change, closed);
  static_assert(metrics::LiveWindows::kKept <= dispatch::kMaxLiveWindows);
  for (const metrics::LiveWindow& one : closed) {
    const metrics::LiveCounts& done = one.counts;
    out.windows.push_back({one.number,
                           one.revision,
                           one.told,
                           {done.requests, done.failed, done.iterations, done.dropped, done.vus, {}}});
  }
  return out;
}

void LiveBoard::count(const dispatch::LiveMessage::Assignment& one, int64_t sign) {
  sum_.requests += sign * one.requests;
  sum_.failed += sign * one.failed;
  sum_.iterations += sign * one.iterations;
  sum_.dropped += sign * one.dropped;
  sum_.vus += sign * one.vus;
}

using dispatch::Refusal;

namespace {

constexpr Duration kMaxWatch = Duration::seconds(30);  // the maximum wait of a watcher
// Of the seconds in one answer to a watcher; the rest comes with the next.
constexpr std::size_t kMaxNewsBytes = std::size_t{512} << 10;

}  // namespace

void Watchers::respond(link::Connection& connection, wire::RequestId id, const dispatch::Response& response) const {
  node::respond(parts_.router, connection, id, response);
}

// --- the job and its totals ------------------------------------------------------------------------------------------

void Watchers::set_position(uint32_t position, const std::string& why) {
  position_ = position;
  waits_for_ = position == 0 ? std::string() : why;
}

dispatch::JobRecord Watchers::shown_record() const {
  dispatch::JobRecord record = parts_.job.record();
  if (record.why.empty() && !parts_.job.over()) record.why = waits_for_;
  return record;
}

bool Watchers::has_news(const dispatch::Watch& question) const {
  return question.revision != parts_.job.record().revision || question.life != parts_.life ||
         question.seconds != parts_.ingest.seconds() || parts_.job.over();
}

dispatch::Watched Watchers::view(Instant now, const dispatch::Watch& question) const {
  dispatch::Watched out;
  out.record = shown_record();
  out.position = position_;
  out.owner = parts_.owner;
  out.life = parts_.life;
  out.final = parts_.job.over();
  if (!dispatch::is_final(out.record.state)) out.live = live_.sum(now);
  out.seconds = parts_.ingest.seconds();
  if (question.life != parts_.life || !parts_.ingest.has_news_since(question.seconds)) {
    auto totals = ingest::encode_totals(parts_.ingest.totals().save());
    if (totals) out.totals = std::move(*totals);
    return out;
  }
  std::size_t bytes = 0;
  out.seconds = question.seconds;
  for (const ingest::RunIngest::Second* one : parts_.ingest.news_since(question.seconds)) {
    if (bytes > 0 && bytes + one->window.size() > kMaxNewsBytes) {
      out.final = false;
      break;
    }
    bytes += one->window.size();
    out.news.push_back({one->covered, one->amends, one->window});
    ++out.seconds;
  }
  return out;
}

void Watchers::watch(link::Connection& connection, wire::RequestId id, const dispatch::Watch& message) {
  const Instant now = parts_.runtime.read_clock();
  if (has_news(message) || message.wait <= Duration::zero()) return respond(connection, id, view(now, message));
  Watcher one{&connection, id, message, now + std::min(message.wait, kMaxWatch)};
  one.live_version = live_.version();
  if (message.live_every > Duration::zero()) one.live_at = now + std::max(message.live_every, dispatch::kMinLive);
  keep(watchers_, std::move(one));
}

// --- the live channel: counters of workers for screens, and their windows --------------------------------------------

bool Watchers::heard(Instant collected, uint64_t number, const dispatch::LiveMessage::Assignment& told) {
  if (!live_.heard(parts_.runtime.now(), collected, number, told) || counters_told_) return false;
  counters_told_ = std::any_of(watchers_.begin(), watchers_.end(),
                               [](const Watcher& one) { return one.live_at != Instant::never(); });
  return counters_told_;
}

bool Watchers::has_news(const dispatch::WatchLive& question) const {
  return parts_.job.over() || live_.change() > (question.life == parts_.life ? question.change : 0);
}

dispatch::LiveNews Watchers::view(Instant now, const dispatch::WatchLive& question) const {
  dispatch::LiveNews out = live_.news(now, question.life == parts_.life ? question.change : 0);
  out.life = parts_.life;
  out.final = parts_.job.over();
  return out;
}

void Watchers::watch(link::Connection& connection, wire::RequestId id, const dispatch::WatchLive& message) {
  const Instant now = parts_.runtime.read_clock();
  live_.advance(now);
  if (has_news(message) || message.wait <= Duration::zero()) return respond(connection, id, view(now, message));
  keep(live_watchers_, LiveWatcher{&connection, id, message, now + std::min(message.wait, kMaxWatch)});
}

// --- both ------------------------------------------------------------------------------------------------------------

template <class Question>
void Watchers::keep(std::list<Waiting<Question>>& waiting, Waiting<Question> one) {
  if (watchers_.size() + live_watchers_.size() < parts_.most) return waiting.push_back(std::move(one));
  respond(*one.connection, one.id,
          dispatch::refusal(Refusal::Kind::kBusy, "too many clients watch this job", Duration::seconds(2)));
}

void Watchers::forget(const link::Connection& connection) {
  watchers_.remove_if([&](const Watcher& one) { return one.connection == &connection; });
  live_watchers_.remove_if([&](const LiveWatcher& one) { return one.connection == &connection; });
}

Instant Watchers::next_deadline() const {
  Instant next = due_;
  for (const Watcher& one : watchers_) {
    next = std::min({next, one.until, has_counters(one) ? one.live_at : Instant::never()});
  }
  if (!live_watchers_.empty()) next = std::min(next, live_.next_close());
  for (const LiveWatcher& one : live_watchers_) next = std::min(next, one.until);
  return next;
}

template <class Question, class Due>
void Watchers::answer(std::list<Waiting<Question>>& waiting, Instant now, Due due) {
  waiting.remove_if([&](const Waiting<Question>& one) {
    if (one.until > now && !due(one)) return false;
    respond(*one.connection, one.id, view(now, one.question));
    return true;
  });
}

void Watchers::answer(Instant now) {
  const bool due = due_ <= now;
  if (due) due_ = Instant::never();
  counters_told_ = false;
  answer(watchers_, now, [&](const Watcher& one) {
    return (due && has_news(one.question)) || (one.live_at <= now && has_counters(one));
  });
  if (live_watchers_.empty()) return;
  live_.advance(now);
  answer(live_watchers_, now, [&](const LiveWatcher& one) { return has_news(one.question); });
}

void Watchers::send_away() {
  const auto moved = dispatch::refusal(Refusal::Kind::kNotOwner,
                                       fmt::format("another manager continues job '{}'", parts_.job.record().id));
  for (const Watcher& one : watchers_) respond(*one.connection, one.id, moved);
  for (const LiveWatcher& one : live_watchers_) respond(*one.connection, one.id, moved);
  watchers_.clear();
  live_watchers_.clear();
}

}  // namespace bellwether::node
