// Connections over the loopback interface, and whole transfers over them, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/epoll/epoll_runtime.h"

namespace bellwether::runtime {

inline std::unique_ptr<EpollRuntime> test_runtime(EpollRuntime::Options options = {}) {
  options.seed = 1;
  auto made = EpollRuntime::create(options);
  check(made.has_value(), "the test has descriptors left");
  return std::move(*made);
}

struct Connected {
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
};

inline task<Connected> connect_loopback(Runtime& runtime) {
  auto listener = runtime.listen({IpAddress::loopback(), 0}, {});
  check(listener.has_value(), "the loopback interface has ports");
  auto accepting = (*listener)->accept(nullptr);
  auto client = co_await runtime.connect((*listener)->local(), {}, nullptr);
  auto server = co_await accepting;
  check(client.has_value() && server.has_value(), "the loopback interface connects");
  co_return Connected{std::move(*client), std::move(*server)};
}

// Writes all of it. kOk, or why not.
inline task<Errc> send_all(Stream& stream, std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const Io io = stream.try_write(as_bytes(rest));
    if (io.kind == Io::Kind::kError) co_return io.error;
    if (io.kind == Io::Kind::kDone) {
      rest.remove_prefix(io.count);
      continue;
    }
    const Errc waited = co_await stream.writable();
    if (waited != Errc::kOk) co_return waited;
  }
  co_return Errc::kOk;
}

struct Received {
  std::string bytes;
  bool end = false;        // the peer finished in an orderly way
  Errc error = Errc::kOk;  // what ended the reading else
};

// Reads until there are `most` bytes or no more to come, at most `piece` at a time. Waits before each read, as clients
// do: so it hangs when a stream holds bytes without saying so.
inline task<Received> receive(Stream& stream, std::size_t most, std::size_t piece = 16 * 1024) {
  Received got;
  std::vector<std::byte> buffer(piece);
  while (got.bytes.size() < most) {
    got.error = co_await stream.readable();
    if (got.error != Errc::kOk) break;
    const std::size_t wanted = std::min(piece, most - got.bytes.size());
    const Io io = stream.try_read(MutableBytes(buffer).first(wanted));
    if (io.kind == Io::Kind::kDone) {
      got.bytes += as_text(Bytes(buffer).first(io.count));
    } else if (io.kind == Io::Kind::kEnd) {
      got.end = true;
      break;
    } else if (io.kind == Io::Kind::kError) {
      got.error = io.error;
      break;
    }
  }
  co_return got;
}

// Bytes that show when something is lost, doubled or out of order.
inline std::string pattern(std::size_t size, uint64_t seed = 1) {
  Prng prng(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(prng.next());
  return bytes;
}

inline constexpr std::size_t kMegabyte = 1 << 20;

inline const Duration kPlenty = Duration::seconds(60);

}  // namespace bellwether::runtime
