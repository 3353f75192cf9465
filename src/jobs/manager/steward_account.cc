// What was measured: told by workers, taken into the account, judged, copied to a quorum, and told to those who watch.

#include <algorithm>
#include <utility>

#include "core/base/units.h"
#include "jobs/dispatch/codec/context_codec.h"
#include "jobs/manager/ask.h"
#include "jobs/manager/steward.h"
#include "load/aggregate/thresholds.h"
#include "load/codec/totals_codec.h"

namespace bellwether::node {

using account::StreamId;
using dispatch::JobEffects;
using dispatch::Refusal;
using dispatch::refusal;
using runtime::task;

namespace {

constexpr Duration kCopyLimit = Duration::seconds(10);
// Of the seconds in one answer to a watcher; the rest comes with the next.
constexpr std::size_t kNewsBytesMost = std::size_t{512} << 10;

}  // namespace

void Steward::open_stream(const dispatch::ShareSheet& share) {
  const Status opened = account_->open(account::StreamId(share.id.value()), share.from);
  if (!opened) say("account", opened.error().message, true);
  if (job_->zero()) live_.set_zero(*job_->zero());
  live_.begins(now(), share.id);
}

dispatch::Response Steward::window(const std::string& worker, const dispatch::WindowLetter& letter) {
  using Hearing = dispatch::Job::Hearing;
  const Hearing hearing = job_->hearing(letter.share, job_->find(letter.share)->from + letter.last - 1);
  if (hearing == Hearing::kExcess) return dispatch::Applied{0, 0, true};
  if (hearing == Hearing::kWaits) {
    const auto known = account_->applied(StreamId(letter.share.value()));
    return dispatch::Applied{known, 0, false};
  }
  if (hearing == Hearing::kUnknown) {
    return refusal(Refusal::Kind::kUnknown, "job '" + id_ + "' knows no such stream of '" + worker + "'");
  }
  const StreamId stream(letter.share.value());
  const uint64_t excess = account_->excess();
  const auto heard = account_->hear(now(), stream, letter.first, letter.last, letter.window);
  if (!heard) return refusal(Refusal::Kind::kInvalid, heard.error().message);
  dispatch::Applied answer;
  answer.applied = account_->applied(stream);
  const auto durable = durable_.find(stream);
  answer.durable = durable == durable_.end() ? 0 : durable->second;
  answer.excess = *heard == account::RunAccount::Heard::kExcess;
  if (answer.excess && !std::exchange(excess_told_, true) && !job_->over()) {
    const uint64_t rate = (account_->excess() - excess) / (letter.last - letter.first + 1);
    JobEffects out;
    job_->note(before(), "extra_load",
               "worker '" + worker + "' went on for a while with what somebody else was given: " +
                   format_count(rate, "request") + " a second were sent, and are not counted",
               out);
    after(out);
  }
  if (*heard == account::RunAccount::Heard::kCounted) told_bytes_ += letter.window.size();
  answer.pressure = pressure();
  if (*heard != account::RunAccount::Heard::kCounted) return answer;
  say_pressure();
  copied_all_ = false;
  if (!job_->over()) {
    JobEffects out;
    job_->iterated(letter.share, account_->iterated(stream));
    job_->applied(before(), letter.share, answer.applied, out);
    after(out);
  }
  if (account_->next_deadline() <= parts_.runtime.now()) poke();
  return answer;
}

// --- how much of it waits --------------------------------------------------------------------------------------------

std::size_t Steward::waiting_bytes() const {
  return account_ == nullptr ? 0 : account_->book().open_bytes() + (told_bytes_ - safe_bytes_);
}

// The fullest of its buffers. What is not copied yet has been added up, and takes no more memory: it is what workers
// have to keep, and to tell again when this manager dies.
resilience::Backpressure Steward::pressure() const {
  if (account_ == nullptr) return resilience::Backpressure::kNone;
  const account::AccountBook& book = account_->book();
  return std::max({resilience::backpressure_of(book.open_seconds(), book.settings().open_seconds_most),
                   resilience::backpressure_of(book.open_bytes(), book.settings().open_bytes_most),
                   resilience::backpressure_of(told_bytes_ - safe_bytes_, settings_.unsafe_bytes_most)});
}

void Steward::say_pressure() {
  const resilience::Backpressure now = pressure();
  if (now == std::exchange(told_pressure_, now)) return;
  say("backpressure",
      "job '" + id_ + "': workers are asked for " + std::string(to_string(now)) + ", for " +
          std::to_string(waiting_bytes()) + " bytes of what they told wait to be counted or copied",
      now == resilience::Backpressure::kReject);
}

void Steward::settle(Instant now) {
  if (account_->next_deadline() > now || !account_->settle(now)) return;
  watchers_due_ = std::min(watchers_due_, now);
  if (job_->sheet().stop || job_->over()) return;
  const auto failed = aggregate::abort_due(account_->totals());
  if (!failed) return;
  const plan::Threshold& threshold = plan_->thresholds[*failed];
  dispatch::JobStop stop;
  stop.cause = dispatch::JobStop::Cause::kThreshold;
  stop.how = dispatch::StopHow::kGraceful;
  stop.why = "threshold " + threshold.metric_text + " " + threshold.expression + " failed";
  JobEffects out;
  job_->stop(before(), stop, {}, out);
  after(out);
}

// --- copies ----------------------------------------------------------------------------------------------------------

task<void> Steward::copy_on(Steward* self) {
  // An account that knows of shares which no sheet knows would count them twice: the sheet goes first.
  if (self->written_ >= self->job_->sheet().revision) {
    const Status copied = co_await self->copy_account(self->now() + kCopyLimit);
    if (!copied && self->owned_ && !self->closing_) {
      self->say("account", "job '" + self->id_ + "': its account could not be copied: " + copied.error().message, true);
    }
    self->next_copy_ = self->now() + self->settings_.copy_every;
  } else {
    self->next_copy_ = self->now() + Duration::millis(50);
  }
  self->copying_ = false;
  self->kept_.changed();
  self->poke();
}

task<Status> Steward::copy_account(Instant deadline) {
  const copies::Version version{handle_->fence(), ++copies_put_};
  const uint64_t told = told_bytes_;
  BW_CO_TRY(auto bytes, account_->save(now()));
  copied_all_ = true;
  std::map<StreamId, uint64_t> applied = account_->applied();
  const Status put =
      co_await parts_.copies.put({id_, kAccountCopy}, version, std::move(bytes), deadline, scope_.cancellation());
  if (put) {
    durable_ = std::move(applied);
    safe_bytes_ = told;
    say_pressure();
  } else {
    copied_all_ = false;
  }
  co_return put;
}

// --- those who watch -------------------------------------------------------------------------------------------------

bool Steward::has_news(const dispatch::Watch& letter) const {
  return letter.revision != job_->sheet().revision || letter.life != account_life_ ||
         letter.seconds != account_->seconds() || job_->over();
}

dispatch::JobSheet Steward::shown_sheet() const {
  dispatch::JobSheet sheet = job_->sheet();
  if (sheet.why.empty() && !job_->over()) sheet.why = waits_for_;
  return sheet;
}

dispatch::Watched Steward::view(const dispatch::Watch& letter) const {
  dispatch::Watched out;
  out.sheet = shown_sheet();
  out.position = position_;
  out.owner = parts_.surroundings.self();
  out.life = account_life_;
  out.final = job_->over();
  if (!dispatch::is_final(out.sheet.state)) out.live = live_.sum(parts_.runtime.now());
  out.seconds = account_->seconds();
  const bool follows = letter.life == account_life_ && account_->has_news_since(letter.seconds);
  if (!follows) {
    auto totals = account::encode_totals(account_->totals().save());
    if (totals) out.totals = std::move(*totals);
    return out;
  }
  std::size_t bytes = 0;
  out.seconds = letter.seconds;
  for (const account::RunAccount::Second* one : account_->news_since(letter.seconds)) {
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

void Steward::watch(link::Connection& connection, wire::RequestId id, const dispatch::Watch& letter) {
  if (has_news(letter) || letter.wait <= Duration::zero())
    return respond(parts_.switchboard, connection, id, view(letter));
  if (watchers_.size() + live_watchers_.size() >= settings_.watchers_most) {
    return respond(parts_.switchboard, connection, id, too_many_watch());
  }
  Watcher one{&connection, id, letter, now() + std::min(letter.wait, kWatchMost)};
  one.live_version = live_.version();
  if (letter.live_every > Duration::zero()) one.live_at = now() + std::max(letter.live_every, dispatch::kLiveLeast);
  watchers_.push_back(std::move(one));
  poke();
}

Refusal Steward::too_many_watch() {
  return refusal(Refusal::Kind::kBusy, "too many clients watch this job", Duration::seconds(2));
}

Refusal Steward::moved() const {
  return refusal(Refusal::Kind::kNotOwner, "another manager goes on with job '" + id_ + "'");
}

void Steward::forget(const link::Connection& connection) {
  watchers_.remove_if([&](const Watcher& one) { return one.connection == &connection; });
  live_watchers_.remove_if([&](const LiveWatcher& one) { return one.connection == &connection; });
}

void Steward::answer_watchers(Instant now, bool all) {
  if (job_ == nullptr) return;
  const bool due = watchers_due_ <= now;
  if (due) watchers_due_ = Instant::never();
  live_told_ = false;
  for (auto at = watchers_.begin(); at != watchers_.end();) {
    if (all) {
      respond(parts_.switchboard, *at->connection, at->id, moved());
    } else if ((due && has_news(at->letter)) || at->until <= now || (at->live_at <= now && has_counters(*at))) {
      respond(parts_.switchboard, *at->connection, at->id, view(at->letter));
    } else {
      ++at;
      continue;
    }
    at = watchers_.erase(at);
  }
}

// The live channel: counters that workers tell for screens, and the windows of them for those who watch.

void Steward::live(const std::string& worker, Instant collected, uint64_t number,
                   const dispatch::LiveLetter::Share& told) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  const dispatch::ShareSheet* share = job_->find(told.share);
  if (share == nullptr || share->worker != worker || !share->streams || !dispatch::is_live(*share) || share->end)
    return;
  if (!live_.heard(parts_.runtime.now(), collected, number, told) || live_told_) return;
  live_told_ = std::any_of(watchers_.begin(), watchers_.end(),
                           [](const Watcher& one) { return one.live_at != Instant::never(); });
  if (live_told_) poke();
}

dispatch::LiveNews Steward::live_view(Instant now, const dispatch::WatchLive& letter) const {
  dispatch::LiveNews out = live_.news(now, letter.life == account_life_ ? letter.change : 0);
  out.life = account_life_;
  out.final = job_->over();
  return out;
}

bool Steward::has_live_news(const dispatch::WatchLive& letter) const {
  return job_->over() || live_.change() > (letter.life == account_life_ ? letter.change : 0);
}

void Steward::watch_live(link::Connection& connection, wire::RequestId id, const dispatch::WatchLive& letter) {
  const Instant at = now();
  live_.advance(at);
  if (has_live_news(letter) || letter.wait <= Duration::zero()) {
    return respond(parts_.switchboard, connection, id, live_view(at, letter));
  }
  if (watchers_.size() + live_watchers_.size() >= settings_.watchers_most) {
    return respond(parts_.switchboard, connection, id, too_many_watch());
  }
  live_watchers_.push_back({&connection, id, letter, at + std::min(letter.wait, kWatchMost)});
  poke();
}

Instant Steward::next_live_deadline() const {
  Instant next = live_watchers_.empty() ? Instant::never() : live_.next_close();
  for (const LiveWatcher& one : live_watchers_) next = std::min(next, one.until);
  return next;
}

void Steward::answer_live_watchers(Instant now, bool all) {
  if (live_watchers_.empty()) return;
  live_.advance(now);
  for (auto at = live_watchers_.begin(); at != live_watchers_.end();) {
    if (all) {
      respond(parts_.switchboard, *at->connection, at->id, moved());
    } else if (has_live_news(at->letter) || at->until <= now) {
      respond(parts_.switchboard, *at->connection, at->id, live_view(now, at->letter));
    } else {
      ++at;
      continue;
    }
    at = live_watchers_.erase(at);
  }
}

// Values between workflows: kept by a quorum before anybody begins with them, and read by whoever takes the job over.

namespace {

constexpr Duration kPutLimit = Duration::seconds(5);
constexpr Duration kContextAgain = Duration::millis(200);

}  // namespace

// One at a time, always the newest.
task<void> Steward::keep_context(Steward* self) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  uint64_t kept = 0;
  while (self->owned_ && !cancel->cancelled() && kept < self->job_->context().version) {
    const uint64_t version = self->job_->context().version;
    const copies::CopyKey key{self->id_, kContextCopy};
    const Status put = co_await self->parts_.copies.put(key, {self->handle_->fence(), version},
                                                        dispatch::encode_context(self->job_->context()),
                                                        self->now() + kPutLimit, cancel);
    if (cancel->cancelled() || !self->owned_) break;
    if (!put) {
      self->say("context",
                "job '" + self->id_ + "': values between workflows could not be kept: " + put.error().message, true);
      co_await self->parts_.runtime.sleep(kContextAgain, cancel);
      continue;
    }
    kept = version;
    dispatch::JobEffects out;
    self->job_->context_kept(self->before(), version, out);
    self->after(out);
  }
  self->keeping_context_ = false;
}

task<Result<plan::Values>> Steward::read_context(Instant deadline) {
  const auto& all = plan_->workflows;
  if (std::all_of(all.begin(), all.end(), [](const plan::Workflow& one) { return one.provides.empty(); })) {
    co_return plan::Values{};
  }
  BW_CO_TRY(auto copy,
            co_await parts_.copies.get({id_, kContextCopy}, handle_->fence(), deadline, scope_.cancellation()));
  if (!copy) co_return plan::Values{};
  co_return dispatch::decode_context(copy->bytes);
}

}  // namespace bellwether::node
