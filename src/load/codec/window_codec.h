// A second's statistics as bytes, without loss: what is decoded and merged anywhere equals what was measured, bit for
// bit. Only what is not zero costs anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/metrics/window.h"

namespace bellwether::account {

inline constexpr std::size_t kMostWindowBytes = std::size_t{16} << 20;
// A count beyond this is a lie or an accident; below it, sums over all workers and seconds of a run do not overflow.
inline constexpr uint64_t kMostCount = uint64_t{1} << 40;

using metrics::Shape;

std::string encode_window(const metrics::Window& window);
// kProtocol, with what is wrong: not such bytes, another shape, or figures that contradict each other.
Result<metrics::Window> decode_window(std::string_view bytes, const Shape& shape);
// The same for one who only wants to know whether it can be decoded, for half of what that costs.
Status check_window(std::string_view bytes, const Shape& shape);

// The same for the sum of a whole run, which may be larger in every respect.
inline constexpr std::size_t kMostSumBytes = std::size_t{64} << 20;
inline constexpr uint64_t kMostSumCount = uint64_t{1} << 48;
Result<metrics::Window> decode_sum(std::string_view bytes, const Shape& shape);

}  // namespace bellwether::account
