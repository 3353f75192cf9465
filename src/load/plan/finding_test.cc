#include "load/plan/finding.h"

#include <gmock/gmock.h>
#include <limits>

namespace bellwether::plan {
namespace {

using testing::ElementsAre;

Finding finding(Saturation saturation, int64_t begin_s, int64_t end_s, double worst, std::string worker = {}) {
  return {saturation, Duration::seconds(begin_s), Duration::seconds(end_s), worst, true, std::move(worker)};
}

TEST(Finding, a_saturation_lasts_as_long_as_on_the_worker_where_it_lasted_longest) {
  const std::vector<Finding> all = {
      finding(Saturation::kStolen, 0, 4, 0.9, "a"), finding(Saturation::kStolen, 2, 5, 0.2, "b"),
      finding(Saturation::kStolen, 7, 9, 0.3, "b"), finding(Saturation::kMemory, 0, 90, 1, "a")};
  EXPECT_EQ(lasted(all, Saturation::kStolen), Duration::seconds(5));
  EXPECT_EQ(lasted(all, Saturation::kCpu), Duration::zero());
  const Finding sum = sum_of(all, Saturation::kStolen);
  EXPECT_EQ(sum.worker, "b");
  EXPECT_EQ(sum.worst, 0.3);
  EXPECT_EQ(sum.begin, Duration::seconds(2));
  EXPECT_EQ(sum.end, Duration::seconds(9));
}

TEST(Finding, it_is_told_whose_it_is) {
  EXPECT_EQ(text_of(finding(Saturation::kMemory, 0, 1, 0.93)), "93 % of the memory was in use");
  EXPECT_EQ(text_of(finding(Saturation::kMemory, 0, 1, 0.93, "w1")), "worker 'w1': 93 % of the memory was in use");
}

TEST(Finding, each_cause_has_one_text) {
  EXPECT_THAT(summed_up({}), ElementsAre());
  const std::vector<Finding> all = {finding(Saturation::kMemory, 3, 5, 0.91), finding(Saturation::kCpu, 1, 2, 0.97),
                                    finding(Saturation::kMemory, 8, 9, 0.95)};
  EXPECT_THAT(summed_up(all), ElementsAre("its CPU was used to 97 % (at worst; between 1s and 2s, 1s in all)",
                                          "95 % of the memory was in use (at worst; between 3s and 9s, 3s in all)"));
}

TEST(Finding, of_very_many_the_last_of_their_kind_goes_on) {
  std::vector<Finding> all;
  for (std::size_t i = 0; i < kMaxFindings; ++i) {
    add(all, finding(Saturation::kStolen, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1, 0.2,
                     i % 2 == 0 ? "a" : "b"));
  }
  ASSERT_EQ(all.size(), kMaxFindings);
  add(all, finding(Saturation::kStolen, 90, 95, 0.4, "a"));
  add(all, finding(Saturation::kStolen, 90, 95, 0.4, "c"));
  add(all, finding(Saturation::kMemory, 90, 95, 0.4, "a"));
  ASSERT_EQ(all.size(), kMaxFindings);
  EXPECT_EQ(all[kMaxFindings - 2], finding(Saturation::kStolen, kMaxFindings - 2, 95, 0.4, "a"));
  EXPECT_EQ(all[kMaxFindings - 1], finding(Saturation::kStolen, kMaxFindings - 1, kMaxFindings, 0.2, "b"));
}

TEST(Finding, what_comes_from_elsewhere_is_looked_at) {
  EXPECT_TRUE(is_possible(finding(Saturation::kMemory, 1, 1, 0)));
  EXPECT_FALSE(is_possible(finding(static_cast<Saturation>(kSaturations), 1, 2, 0.5)));
  EXPECT_FALSE(is_possible(finding(Saturation::kCpu, 2, 1, 0.5)));
  EXPECT_FALSE(is_possible(finding(Saturation::kCpu, -1, 1, 0.5)));
  EXPECT_FALSE(is_possible(finding(Saturation::kCpu, 1, 2, -0.5)));
  EXPECT_FALSE(is_possible(finding(Saturation::kCpu, 1, 2, std::numeric_limits<double>::quiet_NaN())));
  EXPECT_FALSE(is_possible(finding(Saturation::kCpu, 1, 2, std::numeric_limits<double>::infinity())));
  EXPECT_FALSE(is_possible(finding(Saturation::kCpu, 1, 40'000'000, 0.5)));
}

}  // namespace
}  // namespace bellwether::plan
