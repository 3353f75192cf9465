#include "core/runtime/stream_io.h"

namespace bellwether::runtime {

constexpr Duration kNoDescriptorPause = Duration::millis(50);

task<std::unique_ptr<Stream>> accept_next(Runtime& runtime, Listener& listener, Cancellation* cancel) {
  while (cancel == nullptr || !cancel->cancelled()) {
    auto stream = co_await listener.accept(cancel);
    if (stream) co_return std::move(*stream);
    if (stream.error().code != Errc::kCancelled) co_await runtime.sleep(kNoDescriptorPause, cancel);
  }
  co_return nullptr;
}

task<Errc> write_all(Stream& stream, Bytes bytes) {
  while (!bytes.empty()) {
    const Io io = stream.try_write(bytes);
    if (io.kind == Io::Kind::kDone) {
      bytes = bytes.subspan(io.count);
      continue;
    }
    if (io.kind != Io::Kind::kWouldBlock) co_return io.kind == Io::Kind::kError ? io.error : Errc::kClosed;
    const Errc waited = co_await stream.writable();
    if (waited != Errc::kOk) co_return waited;
  }
  co_return Errc::kOk;
}

}  // namespace bellwether::runtime
