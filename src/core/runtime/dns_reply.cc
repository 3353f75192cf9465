#include "core/runtime/dns_reply.h"

#include <algorithm>
#include <cstdint>

namespace bellwether::runtime {
namespace {

constexpr std::size_t kHeader = 12;
constexpr std::size_t kQuestionTail = 4;  // type, class
constexpr std::size_t kRecordTail = 10;   // type, class, time to live, length of the data
constexpr std::size_t kLabelMax = 63;
constexpr unsigned kPointer = 0xc0;

unsigned octet(Bytes bytes, std::size_t at) { return std::to_integer<unsigned>(bytes[at]); }
unsigned number(Bytes bytes, std::size_t at) { return octet(bytes, at) << 8 | octet(bytes, at + 1); }

// Takes a name off the front: labels up to the empty one, or up to a pointer to the rest, which is not followed.
bool skip_name(Bytes& bytes) {
  while (!bytes.empty()) {
    const unsigned length = octet(bytes, 0);
    const bool is_pointer = (length & kPointer) == kPointer;
    if (!is_pointer && length > kLabelMax) return false;
    const std::size_t size = is_pointer ? 2 : 1 + length;
    if (size > bytes.size()) return false;
    bytes = bytes.subspan(size);
    if (is_pointer || length == 0) return true;
  }
  return false;
}

}  // namespace

std::optional<Duration> least_ttl(Bytes reply) {
  if (reply.size() < kHeader) return std::nullopt;
  const unsigned questions = number(reply, 4);
  const unsigned answers = number(reply, 6);
  reply = reply.subspan(kHeader);
  std::optional<Duration> least;
  for (unsigned i = 0; i < questions + answers; ++i) {
    const bool is_answer = i >= questions;
    const std::size_t tail = is_answer ? kRecordTail : kQuestionTail;
    if (!skip_name(reply) || reply.size() < tail) return std::nullopt;
    std::size_t size = tail;
    if (is_answer) {
      const Duration ttl = Duration::seconds(int64_t{number(reply, 4)} << 16 | number(reply, 6));
      least = std::min(least.value_or(ttl), ttl);
      size += number(reply, 8);
    }
    if (reply.size() < size) return std::nullopt;
    reply = reply.subspan(size);
  }
  return least;
}

}  // namespace bellwether::runtime
