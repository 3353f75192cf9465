// Common operations of coroutines on streams.
#pragma once

#include "core/runtime/cancellation.h"
#include "core/runtime/runtime.h"
#include "core/runtime/stream.h"

namespace bellwether::runtime {

// Interrupts a stream at a deadline (kTimeout) or on cancellation (kCancelled), during its life; then the stream can be
// used again.
class Within {
 public:
  Within(Runtime& runtime, Stream& stream, Instant deadline, Cancellation* cancel)
      : stream_(stream),
        timer_([](void* s) { static_cast<Stream*>(s)->interrupt(Errc::kTimeout); }, &stream),
        on_cancel_(
            cancel, [](void* s) { static_cast<Stream*>(s)->interrupt(Errc::kCancelled); }, &stream) {
    runtime.timers().arm(timer_, deadline);
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within() { stream_.clear_interrupt(); }

 private:
  Stream& stream_;
  Timer timer_;
  CancelCallback on_cancel_;
};

// The next connection; nullptr when cancelled. While the process has no descriptors left, it waits in the kernel until
// other connections have ended, without any notice.
task<std::unique_ptr<Stream>> accept_next(Runtime& runtime, Listener& listener, Cancellation* cancel);

// Writes all of it; the bytes must stay valid until then. kOk, or why not.
task<Errc> write_all(Stream& stream, Bytes bytes);

}  // namespace bellwether::runtime
