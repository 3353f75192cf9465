// A second's statistics as bytes, without loss: a decoded and merged window equals the measured one, bit for bit. Zeros
// cost nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/metrics/window.h"

namespace bellwether::ingest {

inline constexpr std::size_t kMaxWindowBytes = std::size_t{16} << 20;
// A greater count is a lie or an accident; below it, sums over all workers and seconds of a run do not overflow.
inline constexpr uint64_t kMaxCount = uint64_t{1} << 40;

using metrics::Shape;

std::string encode_window(const metrics::Window& window);
// kProtocol, with the problem: no such bytes, another shape, or figures that contradict each other.
Result<metrics::Window> decode_window(std::string_view bytes, const Shape& shape);
// The same in place of the content of a window of this shape, whose memory it reuses. After an error, the content is
// any.
Status decode_window_into(metrics::Window& out, std::string_view bytes);
// The same check without the result, at half the cost.
Status check_window(std::string_view bytes, const Shape& shape);

// The same for the sum of a whole run, which may be larger in every respect.
inline constexpr std::size_t kMaxSumBytes = std::size_t{64} << 20;
inline constexpr uint64_t kMaxSumCount = uint64_t{1} << 48;
Result<metrics::Window> decode_sum(std::string_view bytes, const Shape& shape);

}  // namespace bellwether::ingest
