#include "election/context/request.h"

#include "base/printable.h"

namespace bellwether::context_lead {
namespace {

constexpr int64_t kMillisecond = 1'000'000;  // ns
constexpr std::size_t kIdDigits = 32;
constexpr uint64_t kUuidVersion = 7;
constexpr uint64_t kUuidVariant = 2;

}  // namespace

std::string to_string(RequestId id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint64_t half : {id.high, id.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text.push_back(kDigits[half >> shift & 15]);
  }
  return text;
}

RequestId draw_request_id(WallTime now, uint64_t chance, uint64_t more_chance) {
  const auto time = static_cast<uint64_t>(now.unix_ns / kMillisecond);
  return {time << 16 | kUuidVersion << 12 | (chance & 0xfff), kUuidVariant << 62 | more_chance >> 2};
}

std::optional<WallTime> time_of(RequestId id) {
  if ((id.high >> 12 & 0xf) != kUuidVersion || id.low >> 62 != kUuidVariant) return std::nullopt;
  constexpr uint64_t kMost = INT64_MAX / kMillisecond;
  const uint64_t time = id.high >> 16;
  return time <= kMost ? std::optional(WallTime{static_cast<int64_t>(time) * kMillisecond}) : std::nullopt;
}

Result<RequestId> parse_request_id(std::string_view text) {
  const auto wrong = [&] {
    return fail(Errc::kInvalid, "'" + printable(std::string(text.substr(0, kIdDigits + 1))) +
                                    "' is no id of a request: 32 hexadecimal digits, not all 0");
  };
  if (text.size() != kIdDigits) return wrong();
  RequestId id;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return wrong();
    uint64_t& half = i < kIdDigits / 2 ? id.high : id.low;
    half = half << 4 | static_cast<uint64_t>(digit);
  }
  if (id == RequestId{}) return wrong();
  return id;
}

std::string to_string(AttemptFence fence) {
  return "attempt " + std::to_string(fence.attempt) + " of epoch " + std::to_string(fence.epoch.value());
}

}  // namespace bellwether::context_lead
