// Values between workflows: kept by a quorum before anybody begins with them, and read by whoever takes the job over.

#include <algorithm>
#include <utility>

#include "dispatch/codec/context_codec.h"
#include "node/manager/steward.h"

namespace bellwether::node {

using runtime::task;

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

task<Result<dispatch::JobContext>> Steward::read_context(Instant deadline) {
  const auto& all = plan_->workflows;
  if (std::all_of(all.begin(), all.end(), [](const plan::Workflow& one) { return one.provides.empty(); })) {
    co_return dispatch::JobContext{};
  }
  BW_CO_TRY(auto copy,
            co_await parts_.copies.get({id_, kContextCopy}, handle_->fence(), deadline, scope_.cancellation()));
  if (!copy) co_return dispatch::JobContext{};
  co_return dispatch::decode_context(copy->bytes);
}

}  // namespace bellwether::node
