#include "core/secret/polynomial.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::secret {
namespace {

std::byte times(std::byte a, uint8_t b) { return std::byte{multiply(std::to_integer<uint8_t>(a), b)}; }

}  // namespace

void evaluate(Bytes coefficients, uint8_t x, MutableBytes out) {
  const std::size_t width = out.size();
  check(width > 0 && !coefficients.empty() && coefficients.size() % width == 0, "coefficients are whole rows");
  std::size_t row = coefficients.size() - width;
  std::copy_n(coefficients.begin() + static_cast<std::ptrdiff_t>(row), width, out.begin());
  while (row > 0) {
    row -= width;
    for (std::size_t i = 0; i < width; ++i) out[i] = times(out[i], x) ^ coefficients[row + i];
  }
}

void interpolate_at_zero(std::span<const Point> points, MutableBytes out) {
  std::fill(out.begin(), out.end(), std::byte{0});
  for (const Point& point : points) {
    check(point.x != 0 && point.y.size() == out.size(), "points are of these polynomials, and not at 0");
    uint8_t weight = 1;
    for (const Point& other : points) {
      if (&other == &point) continue;
      check(other.x != point.x, "points differ in x");
      weight = multiply(weight, multiply(other.x, inverse(other.x ^ point.x)));
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i] ^= times(point.y[i], weight);
  }
}

}  // namespace bellwether::secret
