#include "tests/sim/fast/framing.h"

#include <cstring>

namespace bellwether::sim {
namespace {

using runtime::Io;
using runtime::Runtime;
using runtime::Stream;
using runtime::task;
using runtime::Timer;

constexpr std::size_t kLengthBytes = 4;
constexpr uint32_t kLongest = 1024;

void interrupt(void* stream) { static_cast<Stream*>(stream)->interrupt(Errc::kTimeout); }

task<bool> read_exactly(Stream& stream, MutableBytes into) {
  while (!into.empty()) {
    const Io io = stream.try_read(into);
    if (io.kind == Io::Kind::kDone) {
      into = into.subspan(io.count);
    } else if (io.kind == Io::Kind::kWouldBlock) {
      const Errc waited = co_await stream.readable();
      if (waited != Errc::kOk) co_return false;
    } else {
      co_return false;
    }
  }
  co_return true;
}

}  // namespace

task<std::optional<std::string>> read_message(Runtime& runtime, Stream& stream, Duration patience) {
  Timer deadline(&interrupt, &stream);
  runtime.timers().arm(deadline, runtime.now() + patience);
  std::byte length_bytes[kLengthBytes];
  const bool has_length = co_await read_exactly(stream, length_bytes);
  if (!has_length) co_return std::nullopt;
  uint32_t length = 0;
  std::memcpy(&length, length_bytes, sizeof length);
  if (length > kLongest) co_return std::nullopt;
  std::string message(length, '\0');
  const bool has_message = co_await read_exactly(stream, std::as_writable_bytes(std::span(message)));
  if (!has_message) co_return std::nullopt;
  co_return message;
}

task<bool> write_message(Runtime& runtime, Stream& stream, std::string message, Duration patience) {
  Timer deadline(&interrupt, &stream);
  runtime.timers().arm(deadline, runtime.now() + patience);
  const auto length = static_cast<uint32_t>(message.size());
  message.insert(0, std::string_view(reinterpret_cast<const char*>(&length), sizeof length));
  Bytes rest = as_bytes(message);
  while (!rest.empty()) {
    const Io io = stream.try_write(rest);
    if (io.kind == Io::Kind::kDone) {
      rest = rest.subspan(io.count);
    } else if (io.kind == Io::Kind::kWouldBlock) {
      const Errc waited = co_await stream.writable();
      if (waited != Errc::kOk) co_return false;
    } else {
      co_return false;
    }
  }
  co_return true;
}

void put_number(std::string& text, uint64_t number) {
  text.append(std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
}

uint64_t number_at(std::string_view text, std::size_t offset) {
  uint64_t number = 0;
  std::memcpy(&number, text.substr(offset, sizeof number).data(), sizeof number);
  return number;
}

}  // namespace bellwether::sim
