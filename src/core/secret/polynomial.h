// Polynomials over GF(2^8), as many side by side as a secret has bytes. In constant time but for sizes, numbers of
// points and x, all of which are public.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/bytes.h"

namespace bellwether::secret {

// out[i] = value at x of polynomial i. `coefficients` are rows of out.size() bytes, those of x^0 first.
// REQUIRES at least one row, and whole rows.
void evaluate(Bytes coefficients, uint8_t x, MutableBytes out);

struct Point {
  uint8_t x = 0;
  Bytes y;  // of each polynomial
};
// The values at 0 of the polynomials of degree < points.size() that pass through all points (Lagrange).
// REQUIRES points whose x differ and are not 0, and whose y have out.size() bytes.
void interpolate_at_zero(std::span<const Point> points, MutableBytes out);

}  // namespace bellwether::secret
