#include <gmock/gmock.h>

#include "jobs/dispatch/worker_stock.h"

namespace bellwether::dispatch {
namespace {

using testing::ElementsAre;

TEST(WorkerCores, gives_the_lowest_free_cores_one_by_one) {
  WorkerCores cores(4);
  EXPECT_THAT(*cores.take(2, 2, false), ElementsAre(0, 1));
  EXPECT_THAT(*cores.take(1, 1, false), ElementsAre(2));
  EXPECT_EQ(cores.free(), 1u);
}

TEST(WorkerCores, parts_beyond_the_cores_share_them_evenly) {
  WorkerCores cores(2);
  EXPECT_THAT(*cores.take(2, 5, false), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_EQ(cores.parts_on(0), 3u);
  EXPECT_EQ(cores.parts_on(1), 2u);
}

TEST(WorkerCores, takes_no_more_cores_than_there_are_parts) {
  WorkerCores cores(4);
  ASSERT_TRUE(cores.take(3, 1, false));
  EXPECT_EQ(cores.free(), 3u);
}

TEST(WorkerCores, what_does_not_fit_takes_nothing) {
  WorkerCores cores(2);
  ASSERT_TRUE(cores.take(1, 1, false));
  EXPECT_FALSE(cores.take(2, 2, false));
  EXPECT_EQ(cores.free(), 1u);
}

TEST(WorkerCores, what_is_given_back_is_given_again) {
  WorkerCores cores(2);
  const auto first = *cores.take(1, 3, false);
  ASSERT_TRUE(cores.take(1, 1, false));
  cores.give_back(first);
  EXPECT_EQ(cores.free(), 1u);
  EXPECT_THAT(*cores.take(1, 1, false), ElementsAre(0));
}

TEST(WorkerCores, who_is_squeezed_in_gets_the_cores_with_the_fewest_parts) {
  WorkerCores cores(3);
  ASSERT_TRUE(cores.take(1, 2, false));  // two parts on core 0
  ASSERT_TRUE(cores.take(1, 1, false));  // one on core 1
  EXPECT_THAT(*cores.take(2, 2, true), ElementsAre(2, 1));
  EXPECT_THAT(*cores.take(1, 2, true), ElementsAre(2, 2));
  EXPECT_EQ(cores.free(), 0u);
}

TEST(WorkerCores, who_is_squeezed_in_gets_more_cores_than_it_asks_for_when_these_are_full) {
  WorkerCores cores(2);
  ASSERT_TRUE(cores.take(2, 2, false));
  EXPECT_THAT(*cores.take(1, 4, true), ElementsAre(0, 0, 0, 1));
}

TEST(WorkerCores, who_is_squeezed_in_may_ask_for_more_cores_than_there_are) {
  WorkerCores cores(2);
  EXPECT_THAT(*cores.take(5, 5, true), ElementsAre(0, 1, 0, 1, 0));
}

TEST(WorkerCores, nobody_is_squeezed_onto_a_core_with_four_parts) {
  WorkerCores cores(2);
  ASSERT_TRUE(cores.take(2, 7, false));
  EXPECT_FALSE(cores.take(2, 2, true));
  EXPECT_EQ(cores.parts_on(0), 4u);
  EXPECT_EQ(cores.parts_on(1), 3u);
  EXPECT_THAT(*cores.take(2, 1, true), ElementsAre(1));
  EXPECT_FALSE(cores.take(1, 1, true));
}

}  // namespace
}  // namespace bellwether::dispatch
