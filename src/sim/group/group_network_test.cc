#include "sim/group/group_network.h"

#include <gtest/gtest.h>

namespace bellwether::sim {
namespace {

struct NetworkRun {
  Timeline timeline{1};
  GroupNetwork network{timeline, 5, Duration::millis(1), Duration::millis(2)};
  int arrived = 0;

  void send(uint32_t from, uint32_t to) {
    network.send(from, to, [this] { ++arrived; });
  }
  void run(Duration span) {
    const Instant end = timeline.now() + span;
    while (timeline.next() <= end) {
      timeline.advance(timeline.next());
      timeline.run_one();
    }
    timeline.advance(end);
  }
};

TEST(GroupNetwork, brings_each_message_once_within_its_time) {
  NetworkRun run;
  run.send(0, 1);
  run.run(Duration::micros(999));
  EXPECT_EQ(run.arrived, 0);
  run.run(Duration::millis(2));
  EXPECT_EQ(run.arrived, 1);
}

TEST(GroupNetwork, a_way_that_is_cut_loses_what_is_on_it_and_the_other_way_does_not) {
  NetworkRun run;
  run.send(0, 1);
  run.network.cut(0, 1, Duration::millis(10));
  run.send(0, 1);
  run.send(1, 0);
  run.run(Duration::millis(5));
  EXPECT_EQ(run.arrived, 1);
  EXPECT_FALSE(run.network.whole());
  run.run(Duration::millis(5));
  EXPECT_TRUE(run.network.whole());
}

TEST(GroupNetwork, what_two_faults_shut_is_open_after_both) {
  NetworkRun run;
  run.network.cut(0, 1, Duration::millis(10));
  run.network.cut(0, 1, Duration::millis(20));
  run.run(Duration::millis(15));
  EXPECT_FALSE(run.network.is_open(0, 1));
  run.run(Duration::millis(5));
  EXPECT_TRUE(run.network.is_open(0, 1));
}

TEST(GroupNetwork, once_mended_faults_of_before_neither_come_nor_end) {
  for (int i = 0; i < 200; ++i) {
    NetworkRun run;
    for (int skip = 0; skip < i; ++skip) run.timeline.prng().next();
    const NetworkFault& fault = kNetworkFaults[static_cast<std::size_t>(i) % kNetworkFaults.size()];
    (run.network.*fault.strike)({5, Duration::millis(100), Duration::millis(3), Duration::millis(30)});
    run.run(Duration::millis(10));
    run.network.mend();
    run.network.cut(0, 1, Duration::seconds(5));
    run.run(Duration::seconds(1));
    EXPECT_FALSE(run.network.is_open(0, 1));
    run.run(Duration::seconds(4));
    EXPECT_TRUE(run.network.whole());
  }
}

TEST(GroupNetwork, every_fault_ends_by_itself) {
  for (int i = 0; i < 200; ++i) {
    NetworkRun run;
    for (int skip = 0; skip < i; ++skip) run.timeline.prng().next();
    const NetworkFault& fault = kNetworkFaults[static_cast<std::size_t>(i) % kNetworkFaults.size()];
    (run.network.*fault.strike)({5, Duration::millis(100), Duration::millis(3), Duration::millis(30)});
    run.run(Duration::seconds(1));
    EXPECT_TRUE(run.network.whole());
  }
}

}  // namespace
}  // namespace bellwether::sim
