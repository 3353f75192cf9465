#include "cluster/wire/busy.h"

#include <algorithm>

#include "cluster/wire/big_endian.h"
#include "core/base/encoding.h"

namespace bellwether::wire {

std::string encode_busy(Duration again_after, std::string_view why) {
  const Duration within = std::clamp(again_after, Duration::zero(), kAgainAfterMost);
  std::array<std::byte, 4> head;
  store_be(head.data(), static_cast<uint32_t>((within + Duration::nanos(999'999)).ms()));
  std::string body(as_text(head));
  body += why.substr(0, kBusyTextMost);
  return body;
}

Busy decode_busy(Bytes body) {
  if (body.size() < 4) return {};
  const Duration again_after = Duration::millis(load_be<uint32_t>(body.data()));
  const std::string_view why = as_text(body.subspan(4)).substr(0, kBusyTextMost);
  return {std::min(again_after, kAgainAfterMost), printable(why)};
}

}  // namespace bellwether::wire
