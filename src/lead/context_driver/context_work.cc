// Payloads and results, which are copies under the id of their request, and the jobs that read and make them.
#include <algorithm>

#include "lead/context_driver/context_driver.h"

namespace bellwether::cluster {

using namespace context_lead;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject
using runtime::task;

namespace {

constexpr const char* kPayload = "payload";
constexpr const char* kResult = "result";
// Results of so many requests are kept; a leader remembers the ends of no more than 200 whose payload is there.
constexpr std::size_t kMostTold = 100;
constexpr Duration kDropAgain = Duration::seconds(10);

copies::CopyKey key_of(RequestId id, const char* kind) {
  return {std::string(1, jobs::kNotOfJobs) + "context/" + to_string(id), kind};
}

}  // namespace

task<void> ContextDriver::keep_payload(ContextDriver* self, KeepPayload wish) {
  const Instant deadline = self->parts_.runtime.read_clock() + wish.within;
  const copies::Version version{self->register_.fence(), ++self->versions_};
  copies::CopyKey key = key_of(wish.id, kPayload);
  const Status kept = co_await self->parts_.copies.put(std::move(key), version, std::move(wish.payload), deadline,
                                                       self->scope_->cancellation());
  self->tell(PayloadKept{wish.id, kept.has_value(), kept ? std::string() : kept.error().message});
}

task<void> ContextDriver::fetch_payload(ContextDriver* self, FetchPayload wish) {
  const Instant deadline = self->parts_.runtime.read_clock() + wish.within;
  copies::CopyKey key = key_of(wish.id, kPayload);
  auto found =
      co_await self->parts_.copies.get(std::move(key), jobs::JobFence(), deadline, self->scope_->cancellation());
  PayloadFetched fetched{wish.id, wish.fence, PayloadFetched::Found::kHere, {}, {}};
  if (found && *found) {
    fetched.payload = std::move((*found)->bytes);
  } else if (found || found.error().code == Errc::kNotFound) {
    fetched.found = PayloadFetched::Found::kGone;
  } else {
    fetched.found = PayloadFetched::Found::kFailed;
    fetched.why = found.error().message;
  }
  self->tell(std::move(fetched));
}

task<void> ContextDriver::drop_payload(ContextDriver* self, RequestId id) {
  const Instant deadline = self->parts_.runtime.read_clock() + self->settings_.duties.coordination_timeout;
  std::string job = key_of(id, kPayload).job;
  const Status dropped = co_await self->parts_.copies.drop(std::move(job), deadline, self->scope_->cancellation());
  if (dropped) {
    self->told_.erase(id);
    self->tell(PayloadDropped{id});
  } else if (const auto one = self->told_.find(id); one != self->told_.end()) {
    one->second = {self->parts_.runtime.now() + kDropAgain};
  }
}

// What was told long ago, or before too many others, is not kept any longer.
void ContextDriver::look_after_told() {
  const Instant now = parts_.runtime.now();
  std::vector<RequestId> over;
  std::size_t kept = 0;
  auto oldest = told_.end();
  for (auto one = told_.begin(); one != told_.end(); ++one) {
    if (one->second.dropping) continue;
    if (one->second.until <= now) {
      over.push_back(one->first);
      continue;
    }
    ++kept;
    if (oldest == told_.end() || one->second.until < oldest->second.until) oldest = one;
  }
  if (kept > kMostTold) over.push_back(oldest->first);
  for (const RequestId id : over) {
    told_[id].dropping = true;
    tell(OutcomeTold{id});
  }
}

task<void> ContextDriver::answer_with_result(ContextDriver* self, uint64_t ticket, RequestId id,
                                             OutcomeAnswer outcome) {
  const Instant deadline = self->parts_.runtime.read_clock() + self->settings_.duties.coordination_timeout;
  copies::CopyKey key = key_of(id, kResult);
  auto found =
      co_await self->parts_.copies.get(std::move(key), jobs::JobFence(), deadline, self->scope_->cancellation());
  const auto caller = self->callers_.find(ticket);
  if (caller == self->callers_.end()) co_return;
  const Caller one = caller->second;
  self->callers_.erase(caller);
  if (found) {
    if (*found) outcome.result = std::move((*found)->bytes);
    self->answer(one, outcome);
  } else if (found.error().code == Errc::kNotFound) {
    outcome.result_gone = true;
    self->answer(one, outcome);
  } else {
    self->answer(one, self->refusal(found.error()));
  }
}

// --- jobs ------------------------------------------------------------------------------------------------------------

void ContextDriver::begin_job(RunJob& wish) {
  manager_->set_term_end(term_.end != nullptr ? term_.end->ends_at() : Instant());
  Job& job = jobs_[{wish.request.id, wish.fence}];
  job.since = parts_.runtime.now();
  // What was fetched when the work was to stop.
  if (owes_stop_ || left_) job.stop.cancel();
  scope_->spawn(run_job(this, std::move(wish), &job));
}

void ContextDriver::cancel_job(const CancelJob& wish) {
  const auto job = jobs_.find({wish.id, wish.fence});
  if (job != jobs_.end()) (wish.kill ? job->second.kill : job->second.stop).cancel();
}

void ContextDriver::stop_jobs() {
  for (auto& [key, job] : jobs_) job.stop.cancel();
}

task<void> ContextDriver::run_job(ContextDriver* self, RunJob wish, Job* job) {
  const RequestId id = wish.request.id;
  const AttemptFence fence = wish.fence;
  ContextJob order{std::move(wish.request), fence};
  ContextJobEnd end = co_await self->manager_->run(std::move(order), &job->stop, &job->kill);
  // An earlier attempt that does not count may have left a result: one that is empty takes its place.
  const bool is_kept = !end.result.empty() || fence.attempt > 1;
  if (end.end == JobEnded::End::kDone && is_kept && !job->kill.cancelled() && self->scope_ != nullptr) {
    const Instant deadline = self->parts_.runtime.read_clock() + self->settings_.duties.coordination_timeout;
    const copies::Version version{self->register_.fence(), ++self->versions_};
    copies::CopyKey key = key_of(id, kResult);
    const Status kept =
        co_await self->parts_.copies.put(std::move(key), version, std::move(end.result), deadline, &job->kill);
    if (!kept) {
      end.end = JobEnded::End::kFailed;
      end.reason = "its result is not kept: " + kept.error().message;
    }
  }
  if (end.end != JobEnded::End::kCancelled) {
    ++(end.end == JobEnded::End::kDone ? self->work_.done : self->work_.failed);
    self->work_.time += self->parts_.runtime.now() - job->since;
  }
  const bool was_killed = job->kill.cancelled();
  self->jobs_.erase({id, fence});
  if (was_killed) end.end = JobEnded::End::kCancelled;
  if (self->scope_ == nullptr) co_return;
  self->tell(JobEnded{id, fence, end.end, std::move(end.reason)});
  self->settle();
}

}  // namespace bellwether::cluster
