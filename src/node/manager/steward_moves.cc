// What is said to workers about shares that are handed over from one to others.

#include <utility>

#include "node/manager/ask.h"
#include "node/manager/steward.h"

namespace bellwether::node {

using dispatch::JobEffects;
using dispatch::Refusal;
using dispatch::ShareId;
using runtime::task;

namespace {

constexpr Duration kTellMoveLimit = Duration::seconds(2);
constexpr Duration kMoveAgain = Duration::millis(100);

}  // namespace

// Until it has answered, or is not to take over any more.
task<void> Steward::take_over(Steward* self, dispatch::job_effect::TakeOver taking) {
  while (self->owned_ && !self->closing_) {
    const dispatch::ShareSheet* const share = self->job_->find(taking.share);
    if (share == nullptr || !self->job_->is_spare(*share)) co_return;
    const std::string worker = share->worker;
    dispatch::TakeOverLetter letter;
    letter.job = self->id_;
    letter.fence = self->handle_->fence();
    letter.share = taking.share;
    letter.clock = self->now() - taking.clock;
    letter.from = share->from;
    const auto answer = co_await self->tell(worker, letter, kTellMoveLimit);
    if (self->closing_ || !self->owned_) co_return;
    if (answer) {
      JobEffects out;
      if (std::holds_alternative<dispatch::Noted>(*answer)) {
        self->job_->taken_over(self->before(), taking.share, out);
      } else {
        self->job_->not_begun(self->before(), taking.share, words_of(answer), out);
      }
      self->after(out);
      co_return;
    }
    co_await self->parts_.runtime.sleep(kMoveAgain, self->scope_.cancellation());
  }
}

// Until it has answered, or is dead: what it says decides who runs its parts.
task<void> Steward::hand_over(Steward* self, ShareId id) {
  const dispatch::ShareSheet* share = self->job_->find(id);
  const uint64_t until = share == nullptr ? 0 : share->until;
  while (self->owned_ && !self->closing_) {
    share = self->job_->find(id);
    if (share == nullptr || !dispatch::is_live(*share) || share->handed_over || share->until != until) co_return;
    const std::string worker = share->worker;
    const dispatch::HandOverLetter letter{self->id_, self->handle_->fence(), id, until};
    const auto answer = co_await self->tell(worker, letter, kTellMoveLimit);
    if (self->closing_ || !self->owned_) co_return;
    if (answer) {
      JobEffects out;
      if (std::holds_alternative<dispatch::Noted>(*answer)) {
        self->job_->handed_over(self->before(), id, until, out);
      } else {
        self->job_->kept_on(self->before(), id, words_of(answer), out);
      }
      self->after(out);
      co_return;
    }
    co_await self->parts_.runtime.sleep(kMoveAgain, self->scope_.cancellation());
  }
}

}  // namespace bellwether::node
