#include "jobs/client/client_following.h"

#include <algorithm>
#include <utility>

#include "core/base/units.h"
#include "core/runtime/scope.h"
#include "jobs/client/client_format.h"
#include "load/metrics/live_windows.h"
#include "load/plan/sequence.h"

namespace bellwether::client::detail {

namespace {

constexpr Duration kLength = metrics::LiveWindows::kLength;
constexpr uint64_t kMaxNumber = static_cast<uint64_t>(Duration::max().ns() / kLength.ns());

}  // namespace

std::optional<LiveNews> LiveFollower::take(Instant now, const dispatch::LiveNews& news) {
  over_ = news.final;
  LiveNews out;
  out.anew = life_ != 0 && news.life != life_ && news.life != 0;
  const bool is_first = life_ != news.life;
  if (news.windows.empty()) return std::nullopt;
  life_ = news.life;
  change_ = news.change;
  if (!is_first && news.windows.back().number >= next_) {
    // In order and contiguous, except for those that were deleted before the request.
    const auto fresh = std::find_if(news.windows.begin(), news.windows.end(),
                                    [this](const dispatch::LiveWindow& one) { return one.number >= next_; });
    out.skipped = fresh->number - next_;
  }
  next_ = is_first ? news.windows.back().number + 1 : std::max(next_, news.windows.back().number + 1);
  for (const dispatch::LiveWindow& one : news.windows) {
    const auto number = static_cast<int64_t>(std::min(one.number, kMaxNumber));
    out.windows.push_back({span_of(kLength * number), one.revision, one.told, one.done});
  }
  out.total = news.total;
  calls_.take(now);
  return out;
}

bool Silence::heard(Instant now, Duration left) {
  heard_ = now;
  left_ = left;
  return std::exchange(told_, std::nullopt).has_value();
}

bool Silence::tells(Instant now) {
  if (lasted(now) < kToldAfter || (told_ && now - *told_ < kAgain)) return false;
  told_ = now;
  return true;
}

std::size_t ToldEvents::fresh(const dispatch::JobRecord& record) {
  const std::size_t all = record.events.size() + record.events_dropped;
  if (all <= all_) return 0;
  all_ = all;
  auto at = told_.begin();
  std::size_t known = 0;
  for (; known < record.events.size(); ++known) {
    at = std::find(at, told_.end(), record.events[known]);
    if (at == told_.end()) break;
    ++at;
  }
  told_ = record.events;
  return record.events.size() - known;
}

using runtime::task;

namespace {

constexpr Duration kWatchWait = Duration::seconds(10);
constexpr Duration kRetry = Duration::seconds(3);            // of one request, so that a silence is noticed
constexpr Duration kSilentTry = Duration::seconds(5);        // of a request after one without an answer
constexpr Duration kMaxUnconfirmed = Duration::seconds(15);  // to gather a result without a quorum
constexpr Duration kLiveAgain = Duration::seconds(1);        // no manager answers, or can
constexpr Duration kLiveRest = Duration::seconds(5);         // for the last windows of a job that has ended
constexpr Duration kLiveRestStep = Duration::millis(10);

bool says_no(Errc code) { return code == Errc::kRefused || code == Errc::kNotFound || code == Errc::kExists; }

}  // namespace

// --- the client's thread ---------------------------------------------------------------------------------------------

task<void> Following::run(node::JobClient* client, runtime::Runtime* runtime, Duration quorum_wait,
                          runtime::Cancellation* cancel) {
  runtime::Cancellation stop(cancel);
  stop_ = &stop;
  if (quiet_) stop.cancel();
  follower_.emplace(
      *client, plan_, job_,
      node::JobFollower::Observer{callback_to<&Following::on_second>(*this), callback_to<&Following::on_whole>(*this)});
  runtime::Scope beside(&stop);
  if (listener_ != nullptr && wants_live()) beside.spawn(follow_live(this, client, runtime, beside.cancellation()));
  Silence silence(runtime->read_clock(), quorum_wait);
  const Duration gathering = std::min(kMaxUnconfirmed, quorum_wait / 2);
  bool away = false;
  std::string unconfirmed;
  bellwether::Error trouble{Errc::kCancelled, fmt::format("the client stopped following job '{}'", job_)};
  while (!follower_->final() && !stop.cancelled()) {
    const Instant asked = runtime->read_clock();
    // A manager that is back answers at once, although it may have no news.
    const auto news = co_await follower_->next(away ? Duration::zero() : kWatchWait,
                                               asked + (away ? kSilentTry : kWatchWait * 2), &stop, asked + kRetry);
    if (stop.cancelled()) break;
    const Instant now = runtime->read_clock();
    away = !news;
    if (away) {
      windows_.clear();
      if (says_no(news.error().code) && silence.lasted(now) < kWatchWait) {
        trouble = news.error();
        break;
      }
      if (now >= silence.end() - gathering) {
        unconfirmed = fmt::format(
            "no manager has had the job for {}: {}; when a majority of them is back, `bellwether job results {}` has "
            "the whole result",
            format_duration(silence.lasted(now)), news.error().message, job_);
        if (gathering > Duration::zero()) {
          const bellwether::Status more = co_await follower_->fetch_unconfirmed(now + gathering, &stop);
          if (more) tell_news();
        }
        if (follower_->final()) unconfirmed.clear();
        break;
      }
      if (silence.tells(now)) {
        tell_contact(false,
                     {news.error().code, fmt::format("{}; without an answer in {} this client "
                                                     "ends with an unconfirmed result",
                                                     news.error().message, format_duration(silence.end() - now))});
      }
      // Some errors come at once.
      if (now - asked < kLiveAgain) co_await runtime->sleep(kLiveAgain, &stop);
      continue;
    }
    const bool told = silence.heard(now, left());
    if (told) tell_contact(true, {});
    tell_news();
  }
  const Instant rest = runtime->read_clock() + kLiveRest;
  while (follower_->final() && beside.running() > 0 && runtime->read_clock() < rest && !stop.cancelled()) {
    co_await runtime->sleep(kLiveRestStep, &stop);
  }
  beside.cancel();
  co_await beside.join();
  if ((follower_->final() || !unconfirmed.empty()) && !stop.cancelled()) {
    conclude(runtime->wall_now(), std::move(unconfirmed));
  } else {
    const Error why = error_of(trouble);
    judge(why);
    tell([&](Listener& listener) { listener.on_given_up(why); });
  }
  stop_ = nullptr;
  end({});
}

Duration Following::left() const {
  if (follower_->record().started.unix_ns == 0) return Duration::zero();
  Duration length = plan::planned_length(plan_, std::nullopt);
  if (plan_.timeout) length = length == Duration::zero() ? *plan_.timeout : std::min(length, *plan_.timeout);
  return std::max(length - follower_->totals().elapsed(), Duration::zero());
}

void Following::conclude(WallTime now, std::string unconfirmed) {
  const dispatch::JobRecord& record = follower_->record();
  const aggregate::Totals& totals = follower_->totals();
  report::Course course =
      unconfirmed.empty() ? node::course_of(record) : node::unconfirmed_course(record, totals, std::move(unconfirmed));
  if (record.id.empty()) {  // no manager has ever answered
    course.run_id = job_;
    course.started_at = now;
  }
  report_ = report::conclude(totals, std::move(course));
  const Result result = result_of(*report_, record, status());
  judge(result);
  tell([&](Listener& listener) { listener.on_result(result); });
}

// The live channel may be missing at first or later, and no result depends on it: the client does not give up.
task<void> Following::follow_live(Following* self, node::JobClient* client, runtime::Runtime* runtime,
                                  runtime::Cancellation* cancel) {
  LiveFollower live(self->job_);
  while (!live.over() && !cancel->cancelled()) {
    const Instant now = runtime->read_clock();
    const Instant ready = live.ready(now);
    if (ready > now) {
      co_await runtime->sleep_until(ready, cancel);
      continue;
    }
    const dispatch::WatchLive question = live.question(kWatchWait);
    const auto answer = co_await client->ask(question, now + kWatchWait * 2, cancel);
    if (cancel->cancelled()) break;
    const auto* news = answer ? std::get_if<dispatch::LiveNews>(&*answer) : nullptr;
    if (news == nullptr) {
      co_await runtime->sleep(kLiveAgain, cancel);
      continue;
    }
    const auto told = live.take(runtime->read_clock(), *news);
    if (told) self->tell([&](Listener& listener) { listener.on_live(*told); });
  }
}

bool Following::wants_live() {
  bool wants = false;
  tell([&](Listener& listener) { wants = listener.wants_live(); });
  return wants;
}

void Following::stop() {
  quiet_ = true;
  if (stop_ != nullptr) stop_->cancel();
}

template <class Call>
void Following::tell(Call call) {
  if (listener_ == nullptr || quiet_) return;
  try {
    call(*listener_);
  } catch (...) {
    failed_.fetch_add(1);
  }
}

void Following::not_cancelled(const bellwether::Error& why) {
  tell([&](Listener& listener) { listener.on_not_cancelled(error_of(why)); });
}

void Following::tell_contact(bool answers, const bellwether::Error& why) {
  const Error told = answers ? Error{} : error_of(why);
  tell([&](Listener& listener) { listener.on_contact(answers, told); });
}

void Following::on_second(const metrics::Window& second, Duration covered, bool amends) {
  if (totals_ && !quiet_) totals_->on_second(second, covered, amends);
  if (listener_ == nullptr) return;
  windows_.push_back(
      {amends ? Window::Kind::kLate : Window::Kind::kSecond, second.second, figures_of(plan_, second, covered)});
}

void Following::on_whole() {
  windows_.clear();
  const aggregate::Totals& totals = follower_->totals();
  if (totals_ && !quiet_) totals_->on_whole(totals);
  if (listener_ == nullptr || totals.empty()) return;
  windows_.push_back({Window::Kind::kWhole, totals.last().second, figures_of(totals)});
}

Status Following::status() const {
  return status_of(follower_->record(), follower_->position(), follower_->owner(), &plan_);
}

void Following::tell_news() {
  const dispatch::JobRecord& record = follower_->record();
  {
    const std::lock_guard lock(mutex_);
    heard_ = true;
    state_ = record.state;
  }
  changed_.notify_all();
  if (totals_ && !quiet_) totals_->on_totals(follower_->totals());
  const bool changed =
      told_revision_ != record.revision || told_position_ != follower_->position() || told_owner_ != follower_->owner();
  if (changed) {
    told_revision_ = record.revision;
    told_position_ = follower_->position();
    told_owner_ = follower_->owner();
    const Status now = status();
    tell([&](Listener& listener) { listener.on_status(now); });
    for (std::size_t e = now.events.size() - told_events_.fresh(record); e < now.events.size(); ++e) {
      tell([&](Listener& listener) { listener.on_event(now.events[e]); });
    }
    for (const Loss& loss : now.losses) {
      if (std::find(told_losses_.begin(), told_losses_.end(), loss) != told_losses_.end()) continue;
      tell([&](Listener& listener) { listener.on_loss(loss); });
    }
    told_losses_ = now.losses;
  }
  for (const Window& window : std::exchange(windows_, {})) {
    tell([&](Listener& listener) { listener.on_window(window); });
  }
  tell_workflows();
}

void Following::tell_workflows() {
  const dispatch::JobRecord& record = follower_->record();
  const std::size_t count = std::min(record.workflows.size(), plan_.workflows.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto w = static_cast<uint16_t>(i);
    const bool whole = follower_->final() || all_counted(record, w, follower_->totals());
    if (told_workflows_.contains(i) || !dispatch::is_final(record.workflows[i].state) || !whole) continue;
    told_workflows_.insert(i);
    if (listener_ == nullptr) continue;
    const WorkflowResult result = workflow_result_of(follower_->totals(), record, w);
    tell([&](Listener& listener) { listener.on_workflow(result); });
  }
}

void Following::judge(Outcome<Result> outcome) {
  {
    const std::lock_guard lock(mutex_);
    if (!outcome_) outcome_ = std::move(outcome);
    if (*outcome_) state_ = (*outcome_)->status.state;
  }
  changed_.notify_all();
}

// --- any thread ------------------------------------------------------------------------------------------------------

void Following::end(Error why) {
  {
    const std::lock_guard lock(mutex_);
    if (!outcome_) outcome_ = Outcome<Result>(std::move(why));
    stopped_ = true;
  }
  changed_.notify_all();
}

bool Following::wait(Until until, Deadline deadline) const {
  std::unique_lock lock(mutex_);
  const auto there = [&] {
    switch (until) {
      case Until::kHeard: return heard_ || outcome_.has_value();
      case Until::kJudged: return outcome_.has_value();
      case Until::kStopped: return stopped_;
    }
    return true;
  };
  if (deadline) return changed_.wait_until(lock, *deadline, there);
  changed_.wait(lock, there);
  return true;
}

std::optional<Outcome<Result>> Following::outcome() const {
  const std::lock_guard lock(mutex_);
  return outcome_;
}

JobState Following::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

}  // namespace bellwether::client::detail
