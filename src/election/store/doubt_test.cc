#include <gtest/gtest.h>

#include "election/store/lease_store.h"

namespace bellwether::store {

using election::Epoch;
using election::Observation;

TEST(Doubt, a_server_without_a_marker_proves_nothing_and_begins_above_its_clock) {
  Observation seen;
  judge_absence({"life", 5000, "", 0}, "server", seen);
  EXPECT_FALSE(seen.present);
  EXPECT_TRUE(seen.may_have_lost_data);
  EXPECT_EQ(seen.floor, Epoch(5000));
}

TEST(Doubt, a_marker_of_an_earlier_life_proves_nothing) {
  Observation seen;
  judge_absence({"new", 5000, "old", 1000}, "server", seen);
  EXPECT_FALSE(seen.present);
  EXPECT_TRUE(seen.may_have_lost_data);
  EXPECT_EQ(seen.floor, Epoch(5000));
}

TEST(Doubt, a_clock_that_went_back_does_not_lower_the_epochs) {
  Observation seen;
  judge_absence({"new", 5000, "old", 9000}, "server", seen);
  EXPECT_EQ(seen.floor, Epoch(9001));
}

TEST(Doubt, a_young_life_is_in_doubt_and_an_old_one_is_believed) {
  const auto doubt_ms = static_cast<uint64_t>(kDoubtFor.ms());
  Observation young;
  judge_absence({"life", 1000 + doubt_ms - 1, "life", 1000}, "server", young);
  EXPECT_TRUE(young.may_have_lost_data);
  Observation old;
  judge_absence({"life", 1000 + doubt_ms, "life", 1000}, "server", old);
  EXPECT_FALSE(old.may_have_lost_data);
  EXPECT_TRUE(old.present);
  EXPECT_FALSE(old.record.held());
  EXPECT_EQ(old.record.epoch, Epoch(1000));
}

TEST(Doubt, a_record_of_this_life_is_as_it_stands) {
  Observation seen;
  seen.record.lease = Duration::seconds(15);
  judge_record({"life", 5000, "life", 1000}, "life", "server", seen);
  EXPECT_FALSE(seen.may_have_lost_data);
  EXPECT_EQ(seen.record.lease, Duration::seconds(15));
  EXPECT_EQ(seen.floor, Epoch());
}

TEST(Doubt, after_a_record_of_an_earlier_life_a_longer_lease_and_a_greater_epoch_may_be_lost) {
  Observation seen;
  seen.record.lease = Duration::seconds(15);
  seen.record.epoch = Epoch(7000);
  judge_record({"new", 5000, "old", 1000}, "old", "server", seen);
  EXPECT_TRUE(seen.may_have_lost_data);
  EXPECT_EQ(seen.record.lease, Duration::zero());
  EXPECT_EQ(seen.floor, Epoch(7001));
}

}  // namespace bellwether::store
