#include <gtest/gtest.h>

#include "core/base/time_testing.h"
#include "election/lease_record.h"

namespace bellwether::election {
namespace {

Observation watch_table_held_by(std::string holder, uint64_t epoch, uint64_t renewal) {
  Observation seen;
  seen.present = true;
  seen.record.holder = std::move(holder);
  seen.record.epoch = Epoch(epoch);
  seen.record.lease = Duration::seconds(10);
  seen.version = std::to_string(epoch) + "." + std::to_string(renewal);
  return seen;
}

TEST(WatchTable, tells_changes_of_holder_and_nothing_else) {
  WatchTable table;
  std::vector<WatchTable::Change> changes;
  table.see(at_seconds(0), "k", watch_table_held_by("a", 1, 0), changes);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].after, "a");
  changes.clear();
  table.see(at_seconds(1), "k", watch_table_held_by("a", 1, 1), changes);
  EXPECT_TRUE(changes.empty());
  table.see(at_seconds(2), "k", watch_table_held_by("b", 2, 0), changes);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].before, "a");
  EXPECT_EQ(changes[0].epoch, Epoch(2));
}

TEST(WatchTable, a_lease_runs_from_the_last_change_that_was_seen) {
  WatchTable table;
  std::vector<WatchTable::Change> changes;
  table.see(at_seconds(0), "k", watch_table_held_by("a", 1, 0), changes);
  table.see(at_seconds(4), "k", watch_table_held_by("a", 1, 1), changes);
  table.see(at_seconds(9), "k", watch_table_held_by("a", 1, 1), changes);
  EXPECT_EQ(table.find("k")->since, at_seconds(0));
  EXPECT_EQ(table.find("k")->left(at_seconds(9)), Duration::seconds(5));
}

TEST(WatchTable, a_key_that_is_not_listed_any_more_is_gone) {
  WatchTable table;
  std::vector<WatchTable::Change> changes;
  table.begin_round();
  table.see(at_seconds(0), "k", watch_table_held_by("a", 1, 0), changes);
  table.see(at_seconds(0), "l", watch_table_held_by("a", 1, 0), changes);
  table.end_round(changes);
  changes.clear();
  table.begin_round();
  table.see(at_seconds(1), "l", watch_table_held_by("a", 1, 0), changes);
  table.end_round(changes);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].key, "k");
  EXPECT_TRUE(changes[0].gone);
  EXPECT_EQ(table.size(), 1u);
}

}  // namespace
}  // namespace bellwether::election
