#include "sim/group/kernel_world.h"

#include <gtest/gtest.h>

namespace bellwether::sim {
namespace {

struct DiskRun {
  Timeline timeline{1};
  RecordDisk<int> disk;
  std::vector<std::pair<int, bool>> told;

  void write(int record) {
    disk.write(timeline, record, Duration::millis(1), [this](int done, bool ok) { told.emplace_back(done, ok); });
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

TEST(RecordDisk, confirms_in_order_what_it_keeps) {
  DiskRun run;
  run.write(1);
  run.write(2);
  run.run(Duration::micros(1500));
  EXPECT_EQ(run.told, (std::vector<std::pair<int, bool>>{{1, true}}));
  EXPECT_EQ(run.disk.newest(), 1);
  run.run(Duration::millis(1));
  EXPECT_EQ(run.disk.newest(), 2);
  EXPECT_EQ(run.told.size(), 2u);
}

TEST(RecordDisk, has_no_backlog_after_it_is_mended) {
  DiskRun run;
  run.disk.set_slow(Duration::seconds(1));
  for (int i = 0; i < 100; ++i) run.write(i);
  run.disk.mend();
  run.run(Duration::seconds(3));
  EXPECT_EQ(run.told.size(), 100u);
}

TEST(RecordDisk, keeps_what_was_confirmed_over_a_crash_and_tells_of_nothing_else) {
  bool arrived = false;
  bool was_lost = false;
  for (int i = 0; i < 64; ++i) {
    DiskRun run;
    for (int skip = 0; skip < i; ++skip) run.timeline.prng().next();
    run.write(1);
    run.run(Duration::millis(1));
    run.write(2);
    run.disk.crash(run.timeline.prng());
    run.run(Duration::seconds(1));
    EXPECT_EQ(run.told.size(), 1u);
    arrived |= run.disk.newest() == 2;
    was_lost |= run.disk.newest() == 1;
  }
  EXPECT_TRUE(arrived);
  EXPECT_TRUE(was_lost);
}

TEST(RecordDisk, fails_sleeps_loses_and_goes_back_when_told_to) {
  DiskRun run;
  run.disk.set_failing(1);
  run.write(1);
  run.run(Duration::millis(2));
  EXPECT_EQ(run.told, (std::vector<std::pair<int, bool>>{{1, false}}));
  run.disk.mend();
  run.disk.set_asleep(true);
  run.write(2);
  run.run(Duration::seconds(1));
  EXPECT_EQ(run.told.size(), 1u);
  run.disk.set_asleep(false);
  run.run(Duration::seconds(1));
  EXPECT_EQ(run.told.back(), (std::pair{2, true}));
  run.write(3);
  run.run(Duration::seconds(1));
  run.disk.roll_back(run.disk.kept().size() - 1);
  EXPECT_EQ(run.disk.newest(), 2);
  run.disk.lose();
  EXPECT_TRUE(run.disk.empty());
}

TEST(RecordDisk, a_slow_disk_takes_longer) {
  DiskRun run;
  run.disk.set_slow(Duration::seconds(10));
  for (int i = 0; i < 5; ++i) run.write(i);
  run.run(Duration::millis(100));
  EXPECT_LT(run.told.size(), 5u);
  run.run(Duration::minutes(1));
  EXPECT_EQ(run.told.size(), 5u);
}

}  // namespace
}  // namespace bellwether::sim
