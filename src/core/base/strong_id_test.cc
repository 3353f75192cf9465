#include "core/base/strong_id.h"

#include <gtest/gtest.h>
#include <type_traits>
#include <unordered_set>

namespace bellwether {
namespace {

using JobId = StrongId<struct JobTag>;
using StepId = StrongId<struct StepTag>;

static_assert(!std::is_convertible_v<JobId, StepId>);
static_assert(!std::is_constructible_v<JobId, StepId>);
static_assert(!std::is_convertible_v<uint32_t, JobId>);
static_assert(!std::is_convertible_v<JobId, uint32_t>);
static_assert(sizeof(JobId) == sizeof(uint32_t));

TEST(StrongId, has_a_value_and_an_order) {
  EXPECT_EQ(JobId().value(), 0U);
  EXPECT_EQ(JobId(7).value(), 7U);
  EXPECT_EQ(JobId(7), JobId(7));
  EXPECT_LT(JobId(6), JobId(7));
}

TEST(StrongId, can_be_a_key) {
  const std::unordered_set<JobId> ids{JobId(1), JobId(2), JobId(1)};
  EXPECT_EQ(ids.size(), 2U);
  EXPECT_TRUE(ids.contains(JobId(2)));
}

}  // namespace
}  // namespace bellwether
