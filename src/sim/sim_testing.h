// What the simulator's tests have in common: small processes, and whole messages over streams.
#pragma once

#include <string>

#include "core/base/bytes.h"
#include "core/runtime/runtime.h"
#include "sim/world.h"

namespace bellwether::sim {

// Writes all of it, or says why not.
inline runtime::task<Errc> write_all(runtime::Stream& stream, std::string text) {
  Bytes rest = as_bytes(text);
  while (!rest.empty()) {
    const runtime::Io io = stream.try_write(rest);
    if (io.kind == runtime::Io::Kind::kDone) {
      rest = rest.subspan(io.count);
    } else if (io.kind == runtime::Io::Kind::kWouldBlock) {
      const Errc waited = co_await stream.writable();
      if (waited != Errc::kOk) co_return waited;
    } else {
      co_return io.error;
    }
  }
  co_return Errc::kOk;
}

struct Received {
  std::string text;
  Errc error = Errc::kOk;  // kOk: the peer finished
};

// Reads until the peer finishes, something breaks, or `most` bytes are there.
inline runtime::task<Received> read_all(runtime::Stream& stream, std::size_t most = SIZE_MAX) {
  Received received;
  std::byte buffer[4096];
  while (received.text.size() < most) {
    const std::size_t want = std::min(sizeof buffer, most - received.text.size());
    const runtime::Io io = stream.try_read(MutableBytes(buffer).first(want));
    if (io.kind == runtime::Io::Kind::kDone) {
      received.text += as_text(Bytes(buffer).first(io.count));
    } else if (io.kind == runtime::Io::Kind::kWouldBlock) {
      const Errc waited = co_await stream.readable();
      if (waited != Errc::kOk) received.error = waited;
    } else {
      received.error = io.kind == runtime::Io::Kind::kEnd ? Errc::kOk : io.error;
      co_return received;
    }
    if (received.error != Errc::kOk) co_return received;
  }
  co_return received;
}

// Text whose bytes encode their place, so that a byte out of order shows.
inline std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

inline constexpr runtime::OpenOptions kMake{.create = true, .write = true};

}  // namespace bellwether::sim
