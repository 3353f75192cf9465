#include "cluster/context/context_register.h"

#include <utility>

namespace bellwether::cluster {

using namespace context_lead;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject
using runtime::task;

namespace {

constexpr Duration kGiveBackMost = Duration::seconds(1);

}  // namespace

Result<std::unique_ptr<ContextRegister>> ContextRegister::open(runtime::Runtime& runtime, jobs::JobStore& store,
                                                               const std::string& key, Listener& listener) {
  std::unique_ptr<ContextRegister> out(new ContextRegister(runtime, listener));
  auto handle = store.open(key, *out);
  if (!handle) return tl::unexpected(handle.error());
  out->handle_ = std::move(*handle);
  return out;
}

void ContextRegister::add(Wish wish) {
  wishes_.push_back(std::move(wish));
  wished_.set();
}

void ContextRegister::take(const TakeRegister& wish) { add(Take{wish.ticket, runtime_.read_clock() + wish.within}); }

void ContextRegister::write(const WriteRegister& wish) {
  add(Write{wish.ticket, wish.value, runtime_.read_clock() + wish.within});
}

void ContextRegister::release() {
  wishes_.clear();
  if (under_way_ != nullptr) under_way_->cancel();
  add(GiveBack{});
}

void ContextRegister::on_lost(const jobs::LostJob& lost) {
  listener_.on_register(RegisterLost{lost.why + (lost.owner.empty() ? "" : "; '" + lost.owner + "' has it")});
}

task<void> ContextRegister::run(runtime::Cancellation* cancel) {
  const runtime::CancelCallback on_cancel(
      cancel,
      [](void* self) {
        auto* one = static_cast<ContextRegister*>(self);
        if (one->under_way_ != nullptr) one->under_way_->cancel();
        one->wished_.set();
      },
      this);
  while (!cancel->cancelled()) {
    if (wishes_.empty()) {
      wished_.reset();
      co_await wished_.wait();
      continue;
    }
    Wish wish = std::move(wishes_.front());
    wishes_.pop_front();
    runtime::Cancellation under_way;
    under_way_ = &under_way;
    if (const auto* take = std::get_if<Take>(&wish)) {
      co_await do_take(*take, &under_way);
    } else if (auto* write = std::get_if<Write>(&wish)) {
      co_await do_write(std::move(*write), &under_way);
    } else {
      co_await give_back();
    }
    under_way_ = nullptr;
  }
  co_await give_back();
}

task<void> ContextRegister::give_back() {
  // What others are not told they find out at the end of the lease.
  static_cast<void>(co_await handle_->give_back(runtime_.read_clock() + kGiveBackMost, nullptr));
}

task<void> ContextRegister::do_take(Take wish, runtime::Cancellation* cancel) {
  // Held already: taken anew, so that what was written last is read under a fence above it.
  if (handle_->held(runtime_.boot_now())) co_await give_back();
  auto taken = co_await handle_->take(wish.deadline, cancel);
  if (cancel->cancelled()) {
    // Nobody waits for it any more; whoever cancelled it gives it back next, or has it given back in the end.
    co_return;
  }
  if (taken) {
    listener_.on_register(RegisterTaken{wish.ticket, std::move(taken->value).value_or("")});
  } else {
    listener_.on_register(RegisterFailed{wish.ticket, taken.error().message});
  }
}

task<void> ContextRegister::do_write(Write wish, runtime::Cancellation* cancel) {
  const jobs::Written written = co_await handle_->write(std::move(wish.value), wish.deadline, cancel);
  if (cancel->cancelled()) co_return;
  if (written) {
    listener_.on_register(RegisterWritten{wish.ticket});
  } else if (written.error().error.code == Errc::kRefused) {
    listener_.on_register(RegisterLost{written.error().error.message});
  } else {
    listener_.on_register(RegisterFailed{wish.ticket, written.error().error.message});
  }
}

}  // namespace bellwether::cluster
