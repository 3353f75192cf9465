#include "core/base/prng.h"

#include <cmath>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace bellwether {
namespace {

TEST(Prng, gives_the_sequence_of_the_published_generator) {
  // xoshiro256++ seeded by splitmix64 of 0, and of 42.
  const std::array<uint64_t, 4> kZero{5987356902031041503u, 7051070477665621255u, 6633766593972829180u,
                                      211316841551650330u};
  Prng zero(0);
  for (const uint64_t expected : kZero) EXPECT_EQ(zero.next(), expected);
  const std::array<uint64_t, 4> kAnswer{15021278609987233951u, 5881210131331364753u, 18149643915985481100u,
                                        12933668939759105464u};
  Prng answer(42);
  for (const uint64_t expected : kAnswer) EXPECT_EQ(answer.next(), expected);
}

TEST(Prng, one_seed_gives_one_sequence_and_another_seed_another) {
  Prng a(1);
  Prng b(1);
  Prng c(2);
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t value = a.next();
    EXPECT_EQ(value, b.next());
    same += value == c.next() ? 1 : 0;
  }
  EXPECT_EQ(same, 0);
}

RC_GTEST_PROP(Prng, bounds_hold, (uint64_t seed, uint64_t bound, int64_t low, int64_t high)) {
  Prng prng(seed);
  if (bound == 0) bound = 1;
  if (low > high) std::swap(low, high);
  for (int i = 0; i < 20; ++i) {
    RC_ASSERT(prng.below(bound) < bound);
    const int64_t between = prng.between(low, high);
    RC_ASSERT(low <= between && between <= high);
    const double unit = prng.unit();
    RC_ASSERT(0 <= unit && unit < 1);
  }
}

TEST(Prng, the_ends_of_a_range_are_reached) {
  Prng prng(3);
  EXPECT_EQ(prng.below(1), 0U);
  EXPECT_EQ(prng.between(5, 5), 5);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 100; ++i) {
    const int64_t value = prng.between(-1, 1);
    low |= value == -1;
    high |= value == 1;
  }
  EXPECT_TRUE(low && high);
  bool negative = false;
  for (int i = 0; i < 100; ++i) negative |= prng.between(INT64_MIN, INT64_MAX) < 0;
  EXPECT_TRUE(negative);
  const Duration span = prng.between(Duration::millis(1), Duration::millis(2));
  EXPECT_GE(span, Duration::millis(1));
  EXPECT_LE(span, Duration::millis(2));
}

// Pearson's statistic of 100 equally likely cells; with 99 degrees of freedom it passes 180 once in a million.
template <class Draw>
double chi_squared(Draw draw) {
  constexpr int kDraws = 100'000;
  std::array<int, 100> cells{};
  for (int i = 0; i < kDraws; ++i) ++cells.at(draw());
  double sum = 0;
  for (const int count : cells) sum += std::pow(count - kDraws / 100.0, 2) / (kDraws / 100.0);
  return sum;
}

TEST(Prng, draws_are_spread_evenly) {
  Prng prng(4);
  EXPECT_LT(chi_squared([&] { return prng.below(100); }), 180);
  EXPECT_LT(chi_squared([&] { return static_cast<std::size_t>(prng.between(-50, 49) + 50); }), 180);
  EXPECT_LT(chi_squared([&] { return static_cast<std::size_t>(prng.unit() * 100); }), 180);
  EXPECT_LT(chi_squared([&] { return prng.next() % 100; }), 180);  // the low bits
}

TEST(Prng, chance_comes_as_often_as_it_should) {
  Prng prng(5);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += prng.chance(0.3) ? 1 : 0;
  EXPECT_NEAR(hits, 30'000, 900);  // six standard deviations
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(prng.chance(0));
    EXPECT_TRUE(prng.chance(1));
  }
}

TEST(Prng, a_fork_goes_its_own_way) {
  Prng parent(6);
  Prng child = parent.fork();
  Prng untouched(6);
  untouched.next();
  for (int i = 0; i < 10; ++i) child.next();
  EXPECT_EQ(parent.next(), untouched.next());
  EXPECT_NE(parent.next(), child.next());
}

TEST(PrngDeathTest, an_empty_range_is_a_mistake) {
  Prng prng(7);
  EXPECT_DEATH(prng.below(0), "internal error");
  EXPECT_DEATH(prng.between(1, 0), "internal error");
}

}  // namespace
}  // namespace bellwether
