#include "election/context/request.h"

#include "core/base/encoding.h"

namespace bellwether::context_lead {
namespace {

constexpr int64_t kMillisecond = 1'000'000;  // ns
constexpr std::size_t kIdDigits = 32;
constexpr uint64_t kUuidVersion = 7;
constexpr uint64_t kUuidVariant = 2;

}  // namespace

std::string to_string(RequestId id) { return hex(id.high) + hex(id.low); }

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
    const std::size_t digit = kHexDigits.find(text[i]);
    if (digit == std::string_view::npos) return wrong();
    uint64_t& half = i < kIdDigits / 2 ? id.high : id.low;
    half = half << 4 | digit;
  }
  if (id == RequestId{}) return wrong();
  return id;
}

std::string to_string(AttemptFence fence) {
  return "attempt " + std::to_string(fence.attempt) + " of epoch " + std::to_string(fence.epoch.value());
}

}  // namespace bellwether::context_lead
