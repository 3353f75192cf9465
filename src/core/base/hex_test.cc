#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace bellwether {
namespace {

TEST(Hex, a_byte_has_two_digits) {
  EXPECT_EQ(hex(std::string_view("\x00\x7f\xff z", 5)), "007fff207a");
  EXPECT_EQ(hex(std::string_view()), "");
}

TEST(Hex, a_number_has_as_many_digits_as_asked_for) {
  EXPECT_EQ(hex(0xabc), "0000000000000abc");
  EXPECT_EQ(hex(UINT64_MAX), "ffffffffffffffff");
  EXPECT_EQ(hex(0x12345678, 8), "12345678");
  EXPECT_EQ(hex(0x12345, 4), "2345");
}

TEST(Hex, digits_are_read_in_either_case) {
  for (int i = 0; i < 16; ++i) EXPECT_EQ(hex_digit(kHexDigits[static_cast<std::size_t>(i)]), i);
  EXPECT_EQ(hex_digit('A'), 10);
  EXPECT_EQ(hex_digit('F'), 15);
  for (const char c : {'g', 'G', '/', ':', '@', '`', ' ', '\0', '\xff'}) EXPECT_EQ(hex_digit(c), -1) << c;
}

// The examples of FIPS 180-4.
TEST(Hex, hashes_are_those_of_the_standard) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace bellwether
