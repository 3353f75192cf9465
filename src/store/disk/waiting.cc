#include "store/disk/waiting.h"

namespace bellwether::store {
namespace {

using runtime::Cancellation;
using runtime::Event;
using runtime::Runtime;
using runtime::task;

task<void> pass_on(Event& from, Event& to) {
  co_await from.wait();
  to.set();
}

task<void> ring(Runtime& runtime, Instant deadline, Cancellation* cancel, Event& to) {
  co_await runtime.sleep_until(deadline, cancel);
  to.set();
}

}  // namespace

task<Errc> wait_for(Runtime& runtime, Event& event, Instant deadline, Cancellation* cancel) {
  if (event.is_set()) co_return Errc::kOk;
  Event any;
  const auto passing = pass_on(event, any);
  const auto ringing = ring(runtime, deadline, cancel, any);
  co_await any.wait();
  if (event.is_set()) co_return Errc::kOk;
  co_return cancel != nullptr && cancel->cancelled() ? Errc::kCancelled : Errc::kTimeout;
}

}  // namespace bellwether::store
