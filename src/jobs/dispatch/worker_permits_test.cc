#include <gtest/gtest.h>

#include "jobs/dispatch/worker_stock.h"

namespace bellwether::dispatch {
namespace {

constexpr uint64_t kLife = 7;
constexpr Duration kPermit = Duration::seconds(1);
constexpr Duration kRemember = Duration::hours(1);

bool is_noted(const Response& response) { return std::holds_alternative<Noted>(response); }

struct WitnessBookTest : testing::Test {
  bool renews(uint64_t asker, uint32_t first = 1) {
    return is_noted(book.renew(now, {"j1", kLife, asker, AssignmentId(first), kPermit}));
  }
  Refusal::Kind refusal_of_denial(uint64_t silent) {
    const Response response = book.deny(now, {"j1", JobFence(1), kLife, {"w", silent}, AssignmentId(5)});
    const auto* refusal = std::get_if<Refusal>(&response);
    return refusal == nullptr ? Refusal::Kind::kInvalid : refusal->kind;
  }
  Instant now = Instant::from_ns(1'000'000'000);
  WitnessBook book{kLife, 2, kRemember};
};

TEST_F(WitnessBookTest, knows_no_more_lives_than_it_may) {
  EXPECT_TRUE(renews(1));
  EXPECT_TRUE(renews(2));
  EXPECT_FALSE(renews(3));
  EXPECT_EQ(refusal_of_denial(3), Refusal::Kind::kBusy);
  EXPECT_TRUE(renews(2)) << "it goes on with those that it knows";
}

TEST_F(WitnessBookTest, forgets_a_denial_only_when_nobody_spoke_of_it_for_long) {
  refusal_of_denial(1);
  refusal_of_denial(2);
  now += kRemember - Duration::nanos(1);
  EXPECT_FALSE(renews(1, 5));
  EXPECT_FALSE(renews(3));
  now += Duration::nanos(1);
  EXPECT_TRUE(renews(3)) << "in the place of 2";
  EXPECT_FALSE(renews(1, 5)) << "it spoke";
}

}  // namespace
}  // namespace bellwether::dispatch
