#include "load/plan/provision.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace bellwether::plan {
namespace {

using testing::ElementsAre;

constexpr uint32_t kMany = 100'000;

CoreDemand test(uint16_t workflow, Priority priority, uint32_t vus = kMany) {
  return {.workflow = workflow, .priority = priority, .is_test = true, .vus = vus};
}
CoreDemand action(uint16_t workflow) { return {.workflow = workflow, .is_test = false, .vus = kMany}; }

TEST(CoreRange, is_a_share_of_the_whole_pool_rounded_up) {
  EXPECT_EQ(core_range(Priority::kLow, 24), (CoreRange{1, 6}));
  EXPECT_EQ(core_range(Priority::kNormal, 24), (CoreRange{6, 18}));
  EXPECT_EQ(core_range(Priority::kHigh, 24), (CoreRange{18, 24}));
  EXPECT_EQ(core_range(Priority::kExclusive, 24), (CoreRange{24, 24}));
  EXPECT_EQ(core_range(Priority::kAuto, 24), (CoreRange{1, 24}));
  EXPECT_EQ(core_range(Priority::kNormal, 8), (CoreRange{2, 6}));
  EXPECT_EQ(core_range(Priority::kNormal, 5), (CoreRange{2, 4}));
  for (const Priority one : {Priority::kLow, Priority::kNormal, Priority::kHigh, Priority::kExclusive}) {
    EXPECT_EQ(core_range(one, 1), (CoreRange{1, 1}));
  }
}

TEST(CoreBatches, what_tests_nothing_goes_first_on_one_core) {
  EXPECT_THAT(core_batches({test(0, Priority::kHigh), action(1), test(2, Priority::kLow)}, 24),
              ElementsAre(ElementsAre(CoreGrant{1, 1}), ElementsAre(CoreGrant{0, 18}, CoreGrant{2, 6})));
}

TEST(CoreBatches, one_that_says_nothing_gets_all) {
  EXPECT_THAT(core_batches({test(0, Priority::kAuto)}, 16), ElementsAre(ElementsAre(CoreGrant{0, 16})));
}

TEST(CoreBatches, equals_share_alike_and_the_first_gets_the_remainder) {
  EXPECT_THAT(core_batches({test(0, Priority::kAuto), test(1, Priority::kAuto), test(2, Priority::kAuto)}, 8),
              ElementsAre(ElementsAre(CoreGrant{0, 3}, CoreGrant{1, 3}, CoreGrant{2, 2})));
}

TEST(CoreBatches, the_higher_priority_has_more_within_its_range) {
  EXPECT_THAT(core_batches({test(0, Priority::kLow), test(1, Priority::kNormal)}, 24),
              ElementsAre(ElementsAre(CoreGrant{1, 18}, CoreGrant{0, 6})));
  EXPECT_THAT(core_batches({test(0, Priority::kNormal), test(1, Priority::kHigh)}, 24),
              ElementsAre(ElementsAre(CoreGrant{1, 18}, CoreGrant{0, 6})));
}

TEST(CoreBatches, what_does_not_fit_beside_the_others_comes_after_them) {
  EXPECT_THAT(core_batches({test(0, Priority::kHigh), test(1, Priority::kHigh), test(2, Priority::kExclusive)}, 4),
              ElementsAre(ElementsAre(CoreGrant{2, 4}), ElementsAre(CoreGrant{0, 4}), ElementsAre(CoreGrant{1, 4})));
  EXPECT_THAT(core_batches({action(0), action(1), action(2)}, 2),
              ElementsAre(ElementsAre(CoreGrant{0, 1}, CoreGrant{1, 1}), ElementsAre(CoreGrant{2, 1})));
}

TEST(CoreBatches, no_core_is_given_that_would_have_no_user) {
  EXPECT_THAT(core_batches({test(0, Priority::kHigh, 2), test(1, Priority::kAuto)}, 8),
              ElementsAre(ElementsAre(CoreGrant{0, 2}, CoreGrant{1, 6})));
  EXPECT_THAT(core_batches({test(0, Priority::kExclusive, 3), test(1, Priority::kAuto)}, 8),
              ElementsAre(ElementsAre(CoreGrant{0, 3}), ElementsAre(CoreGrant{1, 8})));
}

RC_GTEST_PROP(CoreBatches, place_everybody_once_within_the_pool, (uint8_t size, std::vector<uint8_t> kinds)) {
  const uint32_t pool = uint32_t{size} % 200 + 1;
  std::vector<CoreDemand> demands;
  for (std::size_t i = 0; i < std::min<std::size_t>(kinds.size(), 50); ++i) {
    const uint8_t kind = kinds[i];
    demands.push_back({.workflow = static_cast<uint16_t>(i),
                       .priority = static_cast<Priority>(kind % 5),
                       .is_test = kind % 7 != 0,
                       .vus = kind});
  }
  std::vector<int> placed(demands.size());
  bool tests_began = false;
  for (const auto& batch : core_batches(demands, pool)) {
    uint32_t sum = 0;
    for (const CoreGrant& grant : batch) {
      const CoreDemand& demand = demands[grant.workflow];
      ++placed[grant.workflow];
      sum += grant.cores;
      RC_ASSERT(grant.cores >= 1);
      RC_ASSERT(grant.cores <= std::max(1u, demand.is_test ? demand.vus : 1u));
      RC_ASSERT(grant.cores <= core_range(demand.priority, pool).most);
      tests_began |= demand.is_test;
      RC_ASSERT(demand.is_test == tests_began);
    }
    RC_ASSERT(sum <= pool);
  }
  for (const int times : placed) RC_ASSERT(times == 1);
}

}  // namespace
}  // namespace bellwether::plan
