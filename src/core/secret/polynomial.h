// Polynomials over GF(2^8), side by side, one for each byte of a secret. In constant time except for sizes, numbers of
// points and x, all of which are public.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/bytes.h"

namespace bellwether::secret {

// The field GF(2^8) of polynomials modulo x^8 + x^4 + x^3 + x + 1 (0x11b, FIPS 197, section 4). A byte is an element;
// sum and difference are both exclusive or. The execution does not depend on the values: they select no branch and no
// table.
constexpr uint8_t multiply(uint8_t a, uint8_t b) {
  unsigned product = 0;
  unsigned shifted = a;
  for (unsigned bit = 0; bit < 8; ++bit) {
    product ^= shifted & (0U - ((unsigned{b} >> bit) & 1U));
    shifted = (shifted << 1U) ^ (0x11bU & (0U - (shifted >> 7U)));
  }
  return static_cast<uint8_t>(product);
}

// The element that gives 1 with `a`; of 0 it is 0. By Fermat: a^254.
constexpr uint8_t inverse(uint8_t a) {
  uint8_t square = a;
  uint8_t product = 1;
  for (int i = 0; i < 7; ++i) {
    square = multiply(square, square);
    product = multiply(product, square);
  }
  return product;
}

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
