#include "jobs/worker/worker_assignment.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/check.h"
#include "core/base/probe.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/worker/worker_service.h"

namespace bellwether::node {

Status AssignmentStream::add(uint64_t second, std::string_view bytes, Duration covered) {
  if (!outbox_) return {};
  BW_RETURN_IF_ERROR(ingest::check_window(bytes, shape_));
  const uint64_t next = last_ + 1;
  uint64_t number = next;
  if (second >= dispatch::kMaxSeconds) {
    return fail(Errc::kProtocol, "an assignment reports second {}, which is beyond the limit", second);
  }
  if (base_ + second >= from_) number = base_ + second - from_ + 1;
  if (number > next + kMaxGap) {
    return fail(Errc::kProtocol, "an assignment reports second {}, {} later than expected", second, number - next);
  }
  for (uint64_t missing = next; missing < number; ++missing) {
    BW_PROBE("worker: an empty second stands for one that was not lived through");
    outbox_->add(ingest::encode_window(metrics::Window(shape_)));
  }
  outbox_->add(std::string(bytes), covered >= Duration::seconds(1));
  last_ = outbox_->last_number();
  return {};
}

AssignmentStream::Next AssignmentStream::next(uint64_t seconds_most) {
  if (outbox_) {
    auto delta = outbox_->next(seconds_most);
    if (delta) {
      last_sent_first_ = delta->first;
      return std::move(*delta);
    }
  }
  if (end_ && !end_noted_) return *end_;
  return std::monostate();
}

Status AssignmentStream::applied(const ingest::Delta& delta, const dispatch::Applied& answer, bool* progress) {
  *progress = outbox_ && answer.applied >= delta.last;
  if (!outbox_) return {};
  if (!*progress) return resume(answer.applied);
  Status good = outbox_->answered(answer.applied, answer.durable);
  if (good) {
    applied_ = answer.applied;
  } else {
    *progress = false;
    again();
  }
  return good;
}

void AssignmentStream::again() {
  // It succeeded before.
  if (outbox_) static_cast<void>(outbox_->resume(applied_));
}

Status AssignmentStream::resume(uint64_t applied) {
  if (!outbox_) return {};
  Status good = outbox_->resume(applied);
  if (good || good.error().code == Errc::kNotFound) applied_ = applied;
  return good;
}

void AssignmentStream::prove() {
  if (!is_in_doubt() || last_sent_first_ == 0) return;
  static_cast<void>(outbox_->resume(last_sent_first_ - 1));
}

namespace {

using dispatch::Refusal;
using runtime::task;
namespace event = dispatch::kernel_event;

constexpr Duration kMaxAssignmentAnswer = Duration::seconds(2);
constexpr Duration kMaxEstimate = Duration::hours(24);
// Counters are sent this long after the end, because the connection may be busy at first.
constexpr Duration kLastWords = Duration::millis(200);
constexpr Duration kProveEvery = Duration::seconds(2);
// For an owner that takes only batches: seconds in one, at least and at most.
constexpr uint64_t kMinBatch = 3;
constexpr uint64_t kMaxBatch = 10;
// For ever: the worker keeps its seconds until a manager has them. The cap is the longest wait of a new owner.
constexpr resilience::RetryPolicy kDelivery{std::numeric_limits<unsigned>::max(), Duration::millis(100),
                                            Duration::seconds(2), resilience::Jitter::kEqual};

dispatch::AssignmentOutcome outcome_of(AssignmentEnd::How how) {
  switch (how) {
    case AssignmentEnd::How::kCompleted: return dispatch::AssignmentOutcome::kCompleted;
    case AssignmentEnd::How::kStopped: return dispatch::AssignmentOutcome::kStopped;
    case AssignmentEnd::How::kAborted: return dispatch::AssignmentOutcome::kAborted;
    case AssignmentEnd::How::kTimedOut: return dispatch::AssignmentOutcome::kTimedOut;
    case AssignmentEnd::How::kNotPrepared: return dispatch::AssignmentOutcome::kFailed;
    case AssignmentEnd::How::kCrashed: return dispatch::AssignmentOutcome::kCrashed;
    case AssignmentEnd::How::kKilled: return dispatch::AssignmentOutcome::kKilled;
    case AssignmentEnd::How::kFenced: return dispatch::AssignmentOutcome::kIsolated;
    case AssignmentEnd::How::kLost: return dispatch::AssignmentOutcome::kLost;
  }
  return dispatch::AssignmentOutcome::kCrashed;
}

}  // namespace

WorkerAssignment::WorkerAssignment(runtime::Runtime& runtime, cluster::PeerLinks& links, WorkerService& worker,
                                   dispatch::AssignmentKey key, AssignmentStream stream, Duration graceful_stop)
    : runtime_(runtime),
      links_(links),
      worker_(worker),
      key_(std::move(key)),
      stream_(std::move(stream)),
      graceful_stop_(graceful_stop),
      proofs_(Period::about(kProveEvery), runtime.prng().fork()),
      retry_(fresh_retry()) {}

resilience::Retry WorkerAssignment::fresh_retry() { return {kDelivery, Instant::never(), runtime_.prng().fork()}; }

// --- its process -----------------------------------------------------------------------------------------------------

void WorkerAssignment::start(AssignmentFactory& factory, ChildOrder order) {
  loops_ = order.count;
  process_ = factory.start(std::move(order), {.on_prepared = callback_to<&WorkerAssignment::on_prepared>(*this),
                                              .on_second = callback_to<&WorkerAssignment::on_second>(*this),
                                              .on_counters = callback_to<&WorkerAssignment::on_counters>(*this),
                                              .on_ended = callback_to<&WorkerAssignment::on_ended>(*this)});
}

// A process whose permit has ended stops by itself, perhaps a little later than that: it gets no other one. The clock
// of the kernel stands while the machine sleeps; this one does not.
void WorkerAssignment::permit(Instant until) {
  if (process_ == nullptr || (begun_ && permit_ <= runtime_.boot_now())) return;
  permit_ = until;
  process_->permit(until);
}

void WorkerAssignment::begin(const dispatch::kernel_effect::Begin& begin) {
  check(process_ != nullptr && !begun_, "the kernel begins what is prepared, once");
  begun_ = true;
  begun_at_ = turns_counted_ = runtime_.now();
  stream_.begin(begin.base, begin.from);
  const Duration ago = begin.at.value_or(runtime_.read_clock() - begin.origin);
  process_->begin(begin.origin, begin.resumes ? std::max(ago, Duration::zero()) : Duration::zero(), begin.rows);
}

void WorkerAssignment::hand_over(const dispatch::kernel_effect::HandOver& over) {
  until_ = over.until;
  if (process_ != nullptr) process_->hand_over(over.at);
}

void WorkerAssignment::stop(dispatch::StopHow how) {
  if (process_ != nullptr) process_->stop(how == dispatch::StopHow::kGraceful);
}

// Its progress: the part that is done of all that was done and is under way. Iterations to come are unknown.
resilience::ExtensionRequest WorkerAssignment::request(resilience::ExtensionRequest::Reason reason) const {
  const double done = static_cast<double>(told_.tally.requests + told_.tally.iterations);
  const double doing = static_cast<double>(std::max<int64_t>(told_.tally.vus_active, 0));
  resilience::ExtensionRequest made;
  made.reason = reason;
  made.progress = done + doing > 0 ? done / (done + doing) : 0;
  const double rest = made.progress > 0 ? (1 - made.progress) / made.progress : 1;
  const double ran = (runtime_.now() - begun_at_).seconds_f();
  made.estimate = Duration::from_seconds_f(std::min(ran * rest, kMaxEstimate.seconds_f()));
  made.workflows = 1;
  return made;
}

task<void> WorkerAssignment::ask_for_time(std::shared_ptr<WorkerAssignment> self, Duration left,
                                          resilience::ExtensionRequest::Reason reason) {
  const std::vector<cluster::PeerAddress> ways = self->worker_.ways(self->key_.job);
  if (ways.empty()) co_return;
  // The worker ends what gets no more time: no opinion of the members keeps it from asking the owner itself.
  const std::string owner = self->worker_.kernel().owner_of(self->key_.job);
  const auto known = std::ranges::find(ways, owner, &cluster::PeerAddress::name);
  const cluster::PeerAddress& way = known == ways.end() ? ways.front() : *known;
  const std::string from = way.name;
  std::string message =
      dispatch::encode(dispatch::ExtendMessage{self->key_.job, self->key_.assignment, left, self->request(reason)});
  const auto answer = co_await self->links_.request(way, cluster::message_type::kDispatch, wire::Priority::kControl,
                                                    std::move(message), kMaxAssignmentAnswer, &self->over_);
  if (!answer || self->over_.cancelled() || !self->worker_.may_own(self->key_.job, from)) co_return;
  const auto response = dispatch::decode_response(*answer);
  const auto* given = response ? std::get_if<dispatch::MoreTime>(&*response) : nullptr;
  if (given == nullptr) co_return;  // it asks again, or the seconds reach the owner
  self->worker_.tell(event::OwnerAnswered{self->key_.job, from});
  self->worker_.tell(event::TimeGiven{self->key_, *given});
}

void WorkerAssignment::on_prepared(Status prepared) {
  if (prepared) {
    worker_.tell(event::Prepared{key_, graceful_stop_});
  } else {
    worker_.tell(event::NotPrepared{key_, prepared.error()});
  }
}

void WorkerAssignment::on_second(uint64_t second, std::string window, Duration covered) {
  if (!nonsense_.empty()) return;
  const Status added = stream_.add(second, window, covered);
  if (!added) {
    nonsense_ = "its process sent an invalid message: " + added.error().message;
    process_->kill();
    return;
  }
  worker_.tell(event::Measured{key_, stream_.last_number()});
  wake();
}

void WorkerAssignment::on_counters(const ChildCounters& counters) {
  const bool is_news = counters.tally != told_.tally;
  count_turns(runtime_.now());
  told_ = counters;
  loops_ = counters.loops;
  if (is_news) worker_.on_counters(false);
}

void WorkerAssignment::on_ended(const AssignmentEnd& ended) {
  const auto self = shared_from_this();  // until the end of this function
  dispatch::AssignmentEnd end{outcome_of(ended.how), ended.detail,  0, ended.elapsed, ended.provided,
                              ended.notes,           ended.findings};
  if (!nonsense_.empty()) end = {dispatch::AssignmentOutcome::kCrashed, nonsense_, 0, {}, {}};
  process_.reset();
  ended_at_ = runtime_.now();
  worker_.on_counters(true);
  worker_.tell(event::Ended{key_, std::move(end)});
}

std::optional<dispatch::LiveMessage::Assignment> WorkerAssignment::live(Instant now) const {
  const bool has_ended = process_ == nullptr;
  if (!begun_ || (has_ended && now - ended_at_ > kLastWords)) return std::nullopt;
  if (!pacer_.may_send(now, resilience::Pacer::Kind::kBatch)) return std::nullopt;
  const int64_t vus = has_ended ? 0 : told_.tally.vus_active;
  return dispatch::LiveMessage::Assignment{
      key_.job, key_.assignment, told_.tally.requests, told_.tally.failed, told_.tally.iterations, told_.tally.dropped,
      vus};
}

// A stopped process reports nothing: the time that passes here shows what it could have done meanwhile.
void WorkerAssignment::count_turns(Instant now) {
  could_turn_ += (now - turns_counted_) * static_cast<int64_t>(loops_);
  turns_counted_ = now;
}

dispatch::Headway WorkerAssignment::headway(Instant now) {
  if (!begun_ || process_ == nullptr) return {};
  count_turns(now);
  const vuser::Headway& made = told_.headway;
  return {static_cast<uint64_t>(could_turn_ / vuser::kTurn),
          made.turned,
          made.could_begin,
          made.begun,
          made.due,
          made.served};
}

// --- messages to the owner -------------------------------------------------------------------------------------------

void WorkerAssignment::tell_end(const dispatch::AssignmentEnd& end) {
  stream_.end(end);
  told_delivered_ = false;
  wake();
}

void WorkerAssignment::resume(uint64_t applied) {
  const Status good = stream_.resume(applied);
  if (!good) complain(fmt::format("a new owner has {} seconds of it: {}", applied, good.error().message));
  wake();
}

void WorkerAssignment::wake() {
  if (resting_ != nullptr) resting_->cancel();
}

void WorkerAssignment::follow() {
  followed_ = true;
  pacer_ = resilience::Pacer();  // the new owner reports the load of its buffer
  wake();
  if (pausing_ != nullptr) pausing_->cancel();
  if (asking_ != nullptr) asking_->cancel();
}

task<void> WorkerAssignment::deliver(std::shared_ptr<WorkerAssignment> self) {
  while (!self->over_.cancelled()) {
    const Instant now = self->runtime_.now();
    const Instant held_back = self->held_back_until(now);
    if (held_back > now) {
      co_await self->hold_back(held_back);
      continue;
    }
    const bool single = self->pacer_.may_send(now, resilience::Pacer::Kind::kSingle);
    AssignmentStream::Next next = self->stream_.next(single ? 1 : kMaxBatch);
    if (std::holds_alternative<std::monostate>(next)) {
      self->tell_delivered();
      co_await self->rest();
    } else {
      co_await self->say(std::move(next));
    }
  }
}

// Seconds are never dropped: they wait, and are merged. Ends wait only for earlier seconds.
Instant WorkerAssignment::held_back_until(Instant now) const {
  if (stream_.unsent() == 0) return now;
  Instant until = said_ + pacer_.interval(now, Duration::zero());
  const bool is_batch = stream_.has_ended() || stream_.unsent() >= kMinBatch;
  if (!is_batch && !pacer_.may_send(now, resilience::Pacer::Kind::kSingle)) until = pacer_.until();
  return std::min(until, std::max(pacer_.until(), now));
}

task<void> WorkerAssignment::hold_back(Instant until) {
  runtime::Cancellation nap(&over_);
  resting_ = &nap;
  co_await runtime_.sleep_until(until, &nap);
  resting_ = nullptr;
}

// Until it has something to send. It asks now and then for what is in doubt.
task<void> WorkerAssignment::rest() {
  const bool in_doubt = stream_.is_in_doubt();
  const Instant until = in_doubt ? runtime_.now() + proofs_.next() : Instant::never();
  runtime::Cancellation nap(&over_);
  resting_ = &nap;
  const bool due = co_await runtime_.sleep_until(until, &nap);
  resting_ = nullptr;
  if (due && in_doubt) stream_.prove();
}

task<void> WorkerAssignment::pause(Duration at_least) {
  const auto until = retry_.failed(runtime_.now(), Errc::kTimeout, at_least);
  check(until.has_value(), "it is tried for ever");
  runtime::Cancellation nap(&over_);
  pausing_ = &nap;
  co_await runtime_.sleep_until(*until, &nap);
  pausing_ = nullptr;
}

task<void> WorkerAssignment::say(AssignmentStream::Next what) {
  const std::vector<cluster::PeerAddress> ways = worker_.ways(key_.job);
  followed_ = false;
  bool taken = false;
  bool moved = false;
  Duration again_after;
  if (!ways.empty()) {
    // Beside the turns of all: an owner that another manager names may have failed only in its old connection.
    const bool again = std::exchange(is_named_, false) && ways.front().name == worker_.kernel().owner_of(key_.job);
    const cluster::PeerAddress to = again ? ways.front() : ways[turn_++ % ways.size()];
    std::string message = dispatch::encode(message_of_type(what));
    runtime::Cancellation attempt(&over_);
    asking_ = &attempt;
    const auto answer = co_await links_.request(to, cluster::message_type::kDispatch, wire::Priority::kBulk,
                                                std::move(message), kMaxAssignmentAnswer, &attempt);
    asking_ = nullptr;
    if (over_.cancelled()) co_return;
    moved = std::exchange(followed_, false);
    // Answers of a former owner are ignored.
    if (!moved) taken = heard(what, to.name, answer, again_after);
  }
  if (taken) {
    turn_ = 0;
    retry_ = fresh_retry();
    co_return;
  }
  stream_.again();
  // A new owner that has sent a message is asked at once, and soon again. One that an answer names is next after the
  // pause: two managers that name each other must not keep the worker busy.
  followed_ = moved;
  if (!moved) co_await pause(again_after);
  if (!followed_) co_return;
  turn_ = 0;
  retry_ = fresh_retry();
}

dispatch::JobMessage WorkerAssignment::message_of_type(const AssignmentStream::Next& what) const {
  if (const auto* delta = std::get_if<ingest::Delta>(&what)) {
    return dispatch::WindowMessage{key_.job, key_.assignment, stream_.from(), delta->first, delta->last, delta->window};
  }
  return dispatch::EndMessage{key_.job, key_.assignment, std::get<dispatch::AssignmentEnd>(what), until_};
}

void WorkerAssignment::add_kept(uint64_t number, dispatch::Kept& answer, std::size_t& room) const {
  for (const ingest::Delta* delta : stream_.beyond(number)) {
    if (room == 0 || answer.windows.size() == dispatch::kMaxNews) return;
    room -= std::min(room, delta->window.size());
    answer.windows.push_back(std::get<dispatch::WindowMessage>(message_of_type(*delta)));
  }
  if (stream_.ended()) answer.ends.push_back(std::get<dispatch::EndMessage>(message_of_type(*stream_.ended())));
}

bool WorkerAssignment::heard(const AssignmentStream::Next& what, const std::string& from,
                             const Result<std::string>& answer, Duration& again_after) {
  if (!answer) return false;  // the links have logged it
  const auto response = dispatch::decode_response(*answer);
  if (!response) {
    complain(fmt::format("the answer of '{}' cannot be read: {}", from, response.error().message));
    return false;
  }
  if (const auto* refusal = std::get_if<Refusal>(&*response)) {
    again_after = refusal->again_after;
    if (refusal->kind == Refusal::Kind::kNotOwner) {
      worker_.tell(event::OwnerNamed{key_.job, refusal->owner, refusal->fence, from});
      is_named_ = from != refusal->owner && worker_.kernel().owner_of(key_.job) == refusal->owner;
    } else {
      complain(fmt::format("'{}' refuses its results: {}", from, refusal->why));
    }
    return false;
  }
  // A former owner that does not know of its successor may take seconds that the new owner then never gets.
  if (!worker_.may_own(key_.job, from)) return false;
  const auto* delta = std::get_if<ingest::Delta>(&what);
  const auto* applied = std::get_if<dispatch::Applied>(&*response);
  if (delta != nullptr && applied != nullptr) return heard_applied(*delta, from, *applied);
  if (delta == nullptr && std::holds_alternative<dispatch::Noted>(*response)) {
    stream_.noted();
    worker_.tell(event::OwnerAnswered{key_.job, from});
    return true;
  }
  complain(fmt::format("the answer of '{}' does not match the request", from));
  return false;
}

bool WorkerAssignment::heard_applied(const ingest::Delta& delta, const std::string& from,
                                     const dispatch::Applied& applied) {
  bool progress = applied.excess;
  said_ = runtime_.now();
  pacer_.heard(said_, applied.pressure);
  Status good;
  if (!applied.excess) good = stream_.applied(delta, applied, &progress);
  if (!good) complain(fmt::format("'{}': {}", from, good.error().message));
  if (progress && !applied.excess && process_ != nullptr) process_->applied(stream_.applied_seconds());
  worker_.tell(event::OwnerAnswered{key_.job, from});
  if (applied.excess) worker_.tell(event::Excess{key_});
  return progress;
}

void WorkerAssignment::tell_delivered() {
  if (!stream_.delivered() || std::exchange(told_delivered_, true)) return;
  worker_.tell(event::Delivered{key_});
}

// The same text is logged once.
void WorkerAssignment::complain(const std::string& text) {
  if (text == complaint_) return;
  complaint_ = text;
  worker_.note(true, fmt::format("assignment {} of job '{}': {}", key_.assignment.value(), key_.job, text));
}

}  // namespace bellwether::node
