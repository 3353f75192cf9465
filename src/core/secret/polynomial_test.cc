#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "core/secret/sharing.h"

namespace bellwether::secret {
namespace {

std::byte byte(unsigned value) { return static_cast<std::byte>(value); }

TEST(Polynomial, a_value_is_the_sum_of_coefficients_times_powers_for_each_polynomial) {
  // 0x42 + 1 x + 0x80 x^2 and 0 + 0xff x + 0 x^2, side by side.
  const std::array rows = {byte(0x42), byte(0), byte(1), byte(0xff), byte(0x80), byte(0)};
  for (unsigned x = 1; x < 256; ++x) {
    const auto at = static_cast<uint8_t>(x);
    std::array<std::byte, 2> out{};
    evaluate(rows, at, out);
    EXPECT_EQ(out[0], byte(0x42u ^ at ^ multiply(0x80, multiply(at, at))));
    EXPECT_EQ(out[1], byte(multiply(0xff, at)));
  }
}

TEST(Polynomial, the_value_at_0_is_found_from_any_points_that_suffice) {
  const std::array rows = {byte(200), byte(3), byte(77), byte(250)};  // one polynomial of degree 3
  std::vector<std::array<std::byte, 1>> values(256);
  for (unsigned x = 1; x < 256; ++x) evaluate(rows, static_cast<uint8_t>(x), values[x]);
  for (unsigned x = 4; x < 256; ++x) {
    const std::array<Point, 4> points = {Point{1, values[1]}, Point{static_cast<uint8_t>(x), values[x]},
                                         Point{2, values[2]}, Point{3, values[3]}};
    std::array<std::byte, 1> out = {byte(9)};
    interpolate_at_zero(points, out);
    EXPECT_EQ(out[0], byte(200)) << x;
  }
}

// The promise of the scheme, by trying everything: for two points of a polynomial of degree 2, each of the 256 values
// at 0 belongs to exactly one value at a third point.
TEST(Polynomial, one_point_too_few_leaves_every_value_at_0_equally_possible) {
  const std::array rows = {byte(0x53), byte(0x11), byte(0x9c)};
  std::array<std::byte, 1> first{};
  std::array<std::byte, 1> second{};
  evaluate(rows, 5, first);
  evaluate(rows, 99, second);
  std::array<int, 256> seen{};
  for (unsigned guess = 0; guess < 256; ++guess) {
    const std::array third = {byte(guess)};
    const std::array<Point, 3> points = {Point{5, first}, Point{99, second}, Point{200, third}};
    std::array<std::byte, 1> out{};
    interpolate_at_zero(points, out);
    ++seen[std::to_integer<unsigned>(out[0])];
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

}  // namespace
}  // namespace bellwether::secret
