// Held against long-form arithmetic on polynomials, for all elements.
#include <gtest/gtest.h>

#include "core/secret/sharing.h"

namespace bellwether::secret {
namespace {

// The product of two polynomials with coefficients 0 and 1, then the rest of a long division by 0x11b.
unsigned long_form(unsigned a, unsigned b) {
  unsigned product = 0;
  for (unsigned i = 0; i < 8; ++i) {
    for (unsigned j = 0; j < 8; ++j) {
      if ((a >> i & 1U) != 0 && (b >> j & 1U) != 0) product ^= 1U << (i + j);
    }
  }
  for (unsigned degree = 14; degree >= 8; --degree) {
    if ((product >> degree & 1U) != 0) product ^= 0x11bU << (degree - 8);
  }
  return product;
}

TEST(Field, each_of_the_65536_products_is_that_of_long_form_arithmetic) {
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      ASSERT_EQ(multiply(static_cast<uint8_t>(a), static_cast<uint8_t>(b)), long_form(a, b)) << a << " x " << b;
    }
  }
}

TEST(Field, the_inverse_is_the_only_element_that_gives_1_in_long_form_arithmetic) {
  EXPECT_EQ(inverse(0), 0);
  for (unsigned a = 1; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      ASSERT_EQ(long_form(a, b) == 1, inverse(static_cast<uint8_t>(a)) == b) << a << ", " << b;
    }
  }
}

// FIPS 197: section 4.2, and the S-box's {53}, whose inverse is {ca}.
TEST(Field, products_and_inverses_are_those_of_the_standard) {
  static_assert(multiply(0x57, 0x83) == 0xc1);
  static_assert(multiply(0x57, 0x13) == 0xfe);
  static_assert(inverse(0x53) == 0xca);
  EXPECT_EQ(long_form(0x57, 0x83), 0xc1u) << "the measure itself";
}

}  // namespace
}  // namespace bellwether::secret
