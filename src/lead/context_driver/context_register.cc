#include "lead/context_driver/context_register.h"

#include <utility>

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

void ContextRegister::stop_what_is_under_way() {
  if (under_way_ != nullptr) under_way_->cancel();
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

}  // namespace bellwether::cluster
