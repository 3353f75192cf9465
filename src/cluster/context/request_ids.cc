#include "cluster/context/request_ids.h"

#include <string>

#include "base/printable.h"

namespace bellwether::cluster {
namespace {

using context_lead::RequestId;

constexpr int64_t kMillisecond = 1'000'000;  // ns
constexpr std::size_t kDigits = 32;
constexpr uint64_t kVersion = 7;
constexpr uint64_t kVariant = 2;

}  // namespace

RequestId draw_request_id(WallTime now, uint64_t chance, uint64_t more_chance) {
  const auto time = static_cast<uint64_t>(now.unix_ns / kMillisecond);
  return {time << 16 | kVersion << 12 | (chance & 0xfff), kVariant << 62 | more_chance >> 2};
}

std::optional<WallTime> time_of(RequestId id) {
  if ((id.high >> 12 & 0xf) != kVersion || id.low >> 62 != kVariant) return std::nullopt;
  constexpr uint64_t kMost = INT64_MAX / kMillisecond;
  const uint64_t time = id.high >> 16;
  return time <= kMost ? std::optional(WallTime{static_cast<int64_t>(time) * kMillisecond}) : std::nullopt;
}

Result<RequestId> parse_request_id(std::string_view text) {
  const auto wrong = [&] {
    return fail(Errc::kInvalid, "'" + printable(std::string(text.substr(0, kDigits + 1))) +
                                    "' is no id of a request: 32 hexadecimal digits, not all 0");
  };
  if (text.size() != kDigits) return wrong();
  RequestId id;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return wrong();
    uint64_t& half = i < kDigits / 2 ? id.high : id.low;
    half = half << 4 | static_cast<uint64_t>(digit);
  }
  if (id == RequestId{}) return wrong();
  return id;
}

}  // namespace bellwether::cluster
