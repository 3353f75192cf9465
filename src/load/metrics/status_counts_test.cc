#include <gmock/gmock.h>

#include "load/metrics/window.h"

namespace bellwether::metrics {
namespace {

using testing::ElementsAre;

using Entry = StatusCounts::Entry;

TEST(StatusCounts, are_in_rising_order_whatever_came_first) {
  StatusCounts counts;
  for (const uint16_t status : {503, 200, 404, 200, 599, 0}) counts.add(status, 2);
  EXPECT_THAT(counts.entries(), ElementsAre(Entry{0, 2}, Entry{200, 4}, Entry{404, 2}, Entry{503, 2}, Entry{599, 2}));
  EXPECT_EQ(counts.of(200), 4u);
  EXPECT_EQ(counts.of(201), 0u);
}

TEST(StatusCounts, the_usual_few_need_no_memory_also_after_clearing) {
  StatusCounts counts;
  const StatusCounts::Entry* const place = counts.entries().data();
  for (int round = 0; round < 2; ++round) {
    for (const uint16_t status : {200, 503, 404, 301}) counts.add(status, 1);
    EXPECT_EQ(counts.entries().data(), place);
    counts.clear();
  }
}

TEST(StatusCounts, of_two_are_the_same_in_either_order_and_nothing_is_no_entry) {
  StatusCounts a;
  StatusCounts b;
  a.add(200, 1);
  a.add(404, 5);
  b.add(301, 7);
  b.add(200, 2);
  b.add(500, 0);
  StatusCounts ab = a;
  ab.merge(b);
  b.merge(a);
  EXPECT_EQ(ab, b);
  EXPECT_THAT(ab.entries(), ElementsAre(Entry{200, 3}, Entry{301, 7}, Entry{404, 5}));
  ab.clear();
  EXPECT_EQ(ab, StatusCounts());
}

TEST(StatusCountsDeathTest, there_are_no_other_statuses) {
  StatusCounts counts;
  EXPECT_DEATH(counts.add(kMaxStatus, 1), "a status");
}

}  // namespace
}  // namespace bellwether::metrics
