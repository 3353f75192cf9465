#include "lead/context_driver/context_jobs.h"

#include <utility>

#include "cluster/replication/job_store.h"
#include "lead/context_driver/context_driver.h"

namespace bellwether::cluster {

using namespace context_lead;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject
using runtime::task;

namespace {

constexpr Duration kMaxGiveBack = Duration::seconds(1);

}  // namespace

Status ContextRegister::open(jobs::JobStore& store, const std::string& key) {
  BW_TRY(handle_, store.open(key, *this));
  return {};
}

void ContextRegister::ask(Wish wish) {
  if (std::holds_alternative<ReleaseRegister>(wish)) {
    wishes_.clear();
    stop_what_is_under_way();
  }
  wishes_.emplace_back(runtime_.read_clock(), std::move(wish));
  wished_.set();
}

void ContextRegister::on_lost(const jobs::LostJob& lost) {
  driver_.tell(RegisterLost{lost.why + (lost.owner.empty() ? "" : fmt::format("; '{}' has it", lost.owner))});
}

task<void> ContextRegister::run(runtime::Cancellation* cancel) {
  const runtime::CancelCallback on_cancel(
      cancel,
      [](void* self) {
        static_cast<ContextRegister*>(self)->stop_what_is_under_way();
        static_cast<ContextRegister*>(self)->wished_.set();
      },
      this);
  while (!cancel->cancelled()) {
    if (wishes_.empty()) {
      wished_.reset();
      co_await wished_.wait();
      continue;
    }
    const Instant asked = wishes_.front().first;
    Wish wish = std::move(wishes_.front().second);
    wishes_.pop_front();
    runtime::Cancellation under_way;
    under_way_ = &under_way;
    co_await std::visit([&](auto& one) { return carry_out(std::move(one), asked, &under_way); }, wish);
    under_way_ = nullptr;
  }
  co_await carry_out(ReleaseRegister{}, runtime_.read_clock(), nullptr);
}

task<void> ContextRegister::carry_out(ReleaseRegister, Instant, runtime::Cancellation*) {
  // Peers without this message notice at the end of the lease.
  static_cast<void>(co_await handle_->give_back(runtime_.read_clock() + kMaxGiveBack, nullptr));
}

task<void> ContextRegister::carry_out(TakeRegister wish, Instant asked, runtime::Cancellation* cancel) {
  const Instant deadline = asked + wish.within;
  // Held already: taken anew, so that the last write is read under a fence above it.
  if (handle_->held(runtime_.boot_now())) co_await carry_out(ReleaseRegister{}, runtime_.read_clock(), nullptr);
  auto taken = co_await handle_->take(deadline, cancel);
  // No coroutine waits for it any more. The code that cancelled it releases it next, or at the latest at the end.
  if (cancel->cancelled()) co_return;
  if (taken) {
    driver_.tell(RegisterTaken{wish.ticket, std::move(taken->value).value_or("")});
  } else {
    driver_.tell(RegisterFailed{wish.ticket, taken.error().message});
  }
}

task<void> ContextRegister::carry_out(WriteRegister wish, Instant asked, runtime::Cancellation* cancel) {
  const Instant deadline = asked + wish.within;
  const jobs::Written written = co_await handle_->write(std::move(wish.value), deadline, cancel);
  if (cancel->cancelled()) co_return;
  if (written) {
    driver_.tell(RegisterWritten{wish.ticket});
  } else if (written.error().error.code == Errc::kRefused) {
    driver_.tell(RegisterLost{written.error().error.message});
  } else {
    driver_.tell(RegisterFailed{wish.ticket, written.error().error.message});
  }
}

using namespace context_lead;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject
using runtime::task;

namespace {

constexpr const char* kPayload = "payload";
constexpr const char* kResult = "result";
// The number of kept results; a leader remembers the ends of no more than 200 with a payload.
constexpr std::size_t kMaxTold = 100;
constexpr Duration kDropAgain = Duration::seconds(10);

blobs::BlobKey key_of(RequestId id, const char* kind) {
  return {fmt::format("{}context/{}", std::string(1, jobs::kNotOfJobs), to_string(id)), kind};
}

}  // namespace

// --- jobs ------------------------------------------------------------------------------------------------------------

task<JobEnded> ContextJobs::run(RunJob wish, bool stops) {
  const RequestId id = wish.request.id;
  const AttemptFence fence = wish.fence;
  Job& job = jobs_[{id, fence}];
  job.since = runtime_.now();
  if (stops) job.stop.cancel();
  ContextJob order{std::move(wish.request), fence};
  ContextJobEnd end = co_await manager_->run(std::move(order), &job.stop, &job.kill);
  // An earlier attempt that does not count may have left a result: an empty one takes its place.
  const bool is_kept = !end.result.empty() || fence.attempt > 1;
  if (end.end == JobEnded::End::kDone && is_kept && !job.kill.cancelled()) {
    const Instant deadline = runtime_.read_clock() + settings_.coordination_timeout;
    blobs::BlobKey key = key_of(id, kResult);
    const Status kept = co_await blobs_.put(std::move(key), next_version(), std::move(end.result), deadline, &job.kill);
    if (!kept) {
      end.end = JobEnded::End::kFailed;
      end.reason = "its result was not stored: " + kept.error().message;
    }
  }
  if (end.end != JobEnded::End::kCancelled) {
    ++(end.end == JobEnded::End::kDone ? work_.done : work_.failed);
    work_.time += runtime_.now() - job.since;
  }
  if (job.kill.cancelled()) end.end = JobEnded::End::kCancelled;
  co_return JobEnded{id, fence, end.end, std::move(end.reason)};
}

void ContextJobs::ended(const JobEnded& end) {
  jobs_.erase({end.id, end.fence});
  jobs_ended_.changed();
}

void ContextJobs::cancel(const CancelJob& wish) {
  const auto job = jobs_.find({wish.id, wish.fence});
  if (job != jobs_.end()) (wish.kill ? job->second.kill : job->second.stop).cancel();
}

task<void> ContextJobs::wait_for_none(Instant deadline) {
  co_await jobs_ended_.wait(
      runtime_, [this] { return none(); }, deadline);
}

std::vector<ContextView::Job> ContextJobs::view() const {
  std::vector<ContextView::Job> out;
  for (const auto& [key, job] : jobs_) out.push_back({key.first, key.second.attempt, runtime_.now() - job.since});
  return out;
}

// --- payloads and results --------------------------------------------------------------------------------------------

task<PayloadKept> ContextJobs::keep(KeepPayload wish, runtime::Cancellation* cancel) {
  const Instant deadline = runtime_.read_clock() + wish.within;
  blobs::BlobKey key = key_of(wish.id, kPayload);
  const Status kept = co_await blobs_.put(std::move(key), next_version(), std::move(wish.payload), deadline, cancel);
  co_return PayloadKept{wish.id, kept.has_value(), kept ? std::string() : kept.error().message};
}

task<PayloadFetched> ContextJobs::fetch(FetchPayload wish, runtime::Cancellation* cancel) {
  const Instant deadline = runtime_.read_clock() + wish.within;
  blobs::BlobKey key = key_of(wish.id, kPayload);
  auto found = co_await blobs_.get(std::move(key), jobs::JobFence(), deadline, cancel);
  PayloadFetched fetched{wish.id, wish.fence, PayloadFetched::Found::kHere, {}, {}};
  if (found && *found) {
    fetched.payload = std::move((*found)->bytes);
  } else if (found || found.error().code == Errc::kNotFound) {
    fetched.found = PayloadFetched::Found::kGone;
  } else {
    fetched.found = PayloadFetched::Found::kFailed;
    fetched.why = found.error().message;
  }
  co_return fetched;
}

task<Result<std::string>> ContextJobs::result(RequestId id, runtime::Cancellation* cancel) {
  const Instant deadline = runtime_.read_clock() + settings_.coordination_timeout;
  blobs::BlobKey key = key_of(id, kResult);
  BW_CO_TRY(auto found, co_await blobs_.get(std::move(key), jobs::JobFence(), deadline, cancel));
  co_return found ? std::move(found->bytes) : std::string();
}

void ContextJobs::on_told(RequestId id) {
  told_.try_emplace(id, Told{runtime_.now() + settings_.keep_results});
  told_changed_.changed();
}

// A result that was reported long ago, or before too many others, is deleted.
ContextJobs::Over ContextJobs::next_over() const {
  Over next{Instant::never(), {}};
  std::size_t kept = 0;
  for (const auto& [id, told] : told_) {
    if (told.dropping) continue;
    ++kept;
    if (told.until < next.due) next = {told.until, id};
  }
  if (kept > kMaxTold) next.due = Instant();
  return next;
}

task<std::optional<RequestId>> ContextJobs::wait_until_over(runtime::Cancellation* cancel) {
  const Instant due = next_over().due;
  co_await told_changed_.wait(
      runtime_, [this, due] { return next_over().due < due; }, due, cancel);
  const Over next = next_over();
  if (next.due > runtime_.read_clock()) co_return std::nullopt;
  told_[next.id].dropping = true;
  co_return next.id;
}

task<bool> ContextJobs::drop(RequestId id, runtime::Cancellation* cancel) {
  const Instant deadline = runtime_.read_clock() + settings_.coordination_timeout;
  std::string job = key_of(id, kPayload).job;
  const Status dropped = co_await blobs_.drop(std::move(job), deadline, cancel);
  if (dropped) {
    told_.erase(id);
  } else if (const auto one = told_.find(id); one != told_.end()) {
    one->second = {runtime_.now() + kDropAgain};
    told_changed_.changed();
  }
  co_return dropped.has_value();
}

}  // namespace bellwether::cluster
