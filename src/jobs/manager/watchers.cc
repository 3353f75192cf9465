#include "jobs/manager/watchers.h"

#include <algorithm>
#include <utility>

#include "jobs/manager/surroundings.h"
#include "load/codec/totals_codec.h"

namespace bellwether::node {

void LiveBoard::set_zero(Instant zero) {
  if (!windows_) zero_ = zero;
}

metrics::LiveWindows& LiveBoard::windows(Instant now) {
  if (!windows_) windows_.emplace(zero_.value_or(now));
  return *windows_;
}

void LiveBoard::begins(Instant now, dispatch::ShareId share) {
  if (finished_) return;
  const auto [at, is_new] = told_.try_emplace(share);
  if (is_new) at->second.source = windows(now).open(now, true);
}

bool LiveBoard::heard(Instant now, Instant collected, uint64_t number, const dispatch::LiveLetter::Share& told) {
  if (finished_) return false;
  const auto [at, is_new] = told_.try_emplace(told.share);
  Told& known = at->second;
  if (known.over) return false;
  if (is_new) known.source = windows(now).open(now, false);
  windows_->take(now, known.source, collected, number,
                 {told.requests, told.failed, told.iterations, told.dropped, told.vus});
  if (known.number && number <= *known.number) return false;
  if (known.number) take_off(known.what);
  known.number = number;
  known.at = now;
  known.what = told;
  add(told);
  ++version_;
  return true;
}

void LiveBoard::ended(Instant now, dispatch::ShareId share) {
  const auto at = told_.find(share);
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
  for (const auto& [share, told] : told_) {
    if (!told.over && told.number) out.age = std::max(out.age, client::Span((now - told.at).ns()));
  }
  return out;
}

void LiveBoard::advance(Instant now) {
  if (windows_ && !finished_) windows_->advance(now);
}

dispatch::LiveNews LiveBoard::news(Instant now, uint64_t change) const {
  dispatch::LiveNews out;
  out.total = sum(now);
  if (!windows_) return out;
  out.change = windows_->change();
  std::vector<metrics::LiveWindow> closed;
  windows_->since(change, closed);
  static_assert(metrics::LiveWindows::kKept <= dispatch::kMostLiveWindows);
  for (const metrics::LiveWindow& one : closed) {
    const metrics::LiveCounts& done = one.counts;
    out.windows.push_back({one.number,
                           one.revision,
                           one.told,
                           {done.requests, done.failed, done.iterations, done.dropped, done.vus, {}}});
  }
  return out;
}

void LiveBoard::add(const dispatch::LiveLetter::Share& one) {
  sum_.requests += one.requests;
  sum_.failed += one.failed;
  sum_.iterations += one.iterations;
  sum_.dropped += one.dropped;
  sum_.vus += one.vus;
}

void LiveBoard::take_off(const dispatch::LiveLetter::Share& one) {
  sum_.requests -= one.requests;
  sum_.failed -= one.failed;
  sum_.iterations -= one.iterations;
  sum_.dropped -= one.dropped;
  sum_.vus -= one.vus;
}

using dispatch::Refusal;

namespace {

constexpr Duration kWatchMost = Duration::seconds(30);  // the maximum wait of a watcher
// Of the seconds in one answer to a watcher; the rest comes with the next.
constexpr std::size_t kNewsBytesMost = std::size_t{512} << 10;

}  // namespace

void Watchers::respond(link::Connection& connection, wire::RequestId id, const dispatch::Response& response) const {
  node::respond(parts_.switchboard, connection, id, response);
}

void Watchers::changed() {
  if (due_ == Instant::never()) due_ = parts_.runtime.now() + parts_.pause;
}

// --- the job and its totals ------------------------------------------------------------------------------------------

void Watchers::set_position(uint32_t position, const std::string& why) {
  position_ = position;
  waits_for_ = position == 0 ? std::string() : why;
}

dispatch::JobSheet Watchers::shown_sheet() const {
  dispatch::JobSheet sheet = parts_.job.sheet();
  if (sheet.why.empty() && !parts_.job.over()) sheet.why = waits_for_;
  return sheet;
}

bool Watchers::has_news(const dispatch::Watch& question) const {
  return question.revision != parts_.job.sheet().revision || question.life != parts_.life ||
         question.seconds != parts_.account.seconds() || parts_.job.over();
}

dispatch::Watched Watchers::view(Instant now, const dispatch::Watch& question) const {
  dispatch::Watched out;
  out.sheet = shown_sheet();
  out.position = position_;
  out.owner = parts_.owner;
  out.life = parts_.life;
  out.final = parts_.job.over();
  if (!dispatch::is_final(out.sheet.state)) out.live = live_.sum(now);
  out.seconds = parts_.account.seconds();
  if (question.life != parts_.life || !parts_.account.has_news_since(question.seconds)) {
    auto totals = account::encode_totals(parts_.account.totals().save());
    if (totals) out.totals = std::move(*totals);
    return out;
  }
  std::size_t bytes = 0;
  out.seconds = question.seconds;
  for (const account::RunAccount::Second* one : parts_.account.news_since(question.seconds)) {
    if (bytes > 0 && bytes + one->window.size() > kNewsBytesMost) {
      out.final = false;
      break;
    }
    bytes += one->window.size();
    out.news.push_back({one->covered, one->amends, one->window});
    ++out.seconds;
  }
  return out;
}

void Watchers::watch(link::Connection& connection, wire::RequestId id, const dispatch::Watch& letter) {
  const Instant now = parts_.runtime.read_clock();
  if (has_news(letter) || letter.wait <= Duration::zero()) return respond(connection, id, view(now, letter));
  Watcher one{&connection, id, letter, now + std::min(letter.wait, kWatchMost)};
  one.live_version = live_.version();
  if (letter.live_every > Duration::zero()) one.live_at = now + std::max(letter.live_every, dispatch::kLiveLeast);
  keep(watchers_, std::move(one));
}

// --- the live channel: counters of workers for screens, and their windows --------------------------------------------

bool Watchers::heard(Instant collected, uint64_t number, const dispatch::LiveLetter::Share& told) {
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

void Watchers::watch(link::Connection& connection, wire::RequestId id, const dispatch::WatchLive& letter) {
  const Instant now = parts_.runtime.read_clock();
  live_.advance(now);
  if (has_news(letter) || letter.wait <= Duration::zero()) return respond(connection, id, view(now, letter));
  keep(live_watchers_, LiveWatcher{&connection, id, letter, now + std::min(letter.wait, kWatchMost)});
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
                                       fmt::format("another manager goes on with job '{}'", parts_.job.sheet().id));
  for (const Watcher& one : watchers_) respond(*one.connection, one.id, moved);
  for (const LiveWatcher& one : live_watchers_) respond(*one.connection, one.id, moved);
  watchers_.clear();
  live_watchers_.clear();
}

}  // namespace bellwether::node
