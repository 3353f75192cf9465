// The behaviours of a store that tells of changes, while its server is restarted or cut off.
#include "election/store/conformance_watch_testing.h"

namespace bellwether::store {

#define CONTROL(command) \
  if (!control(command)) GTEST_SKIP() << "this server cannot be told to " << (command)

class WatchTrouble : public Watching {
 protected:
  // Waits until the store answers again, as polling does, and then for changes.
  void goes_on(StoreKey& key, Waiter& waiter, StoreKey& other) {
    Result<election::Observation> seen = fail(Errc::kTimeout, "not asked yet");
    for (int i = 0; i < 100 && !seen; ++i) {
      seen = try_look(key, Duration::seconds(2));
      const auto too = try_look(other, Duration::seconds(2));
      if (!too) seen = tl::unexpected(too.error());
      if (!seen) wait(Duration::millis(100));
    }
    ASSERT_TRUE(seen) << seen.error().message;
    // The watch may need longer than a call to come back, and tells then what has happened meanwhile.
    expect_changes_are_told(waiter, other);
  }
};

TEST_F(WatchTrouble, of_a_connection_that_is_reset_is_over_when_it_is_made_again) {
  const auto mine = open(*ours_, name("watch-reset"));
  const auto other = open(*theirs_, name("watch-reset"));
  look(*mine);
  Waiter waiter(*this, *mine);
  SKIP_IF_POLLED(waiter);
  CONTROL("reset");
  goes_on(*mine, waiter, *other);
}

TEST_F(WatchTrouble, of_a_network_that_swallows_everything_is_over_when_it_is_open_again) {
  const auto mine = open(*ours_, name("watch-hole"));
  const auto other = open(*theirs_, name("watch-hole"));
  look(*mine);
  Waiter waiter(*this, *mine);
  SKIP_IF_POLLED(waiter);
  CONTROL("blackhole");
  EXPECT_FALSE(try_look(*mine, Duration::millis(300)));
  ASSERT_TRUE(control("open"));
  goes_on(*mine, waiter, *other);
}

TEST_F(WatchTrouble, of_a_server_that_starts_again_is_over_when_it_is_up) {
  const auto mine = open(*ours_, name("watch-restart"));
  const auto other = open(*theirs_, name("watch-restart"));
  look(*mine);
  Waiter waiter(*this, *mine);
  SKIP_IF_POLLED(waiter);
  CONTROL("restart");
  goes_on(*mine, waiter, *other);
}

TEST_F(WatchTrouble, of_a_server_that_is_down_wakes_nobody_all_the_time) {
  const auto mine = open(*ours_, name("watch-down"));
  look(*mine);
  Waiter waiter(*this, *mine);
  SKIP_IF_POLLED(waiter);
  CONTROL("stop");
  int told = 0;
  while (told < 10 && waiter.hears(Duration::seconds(1))) ++told;
  EXPECT_LT(told, 10);
  ASSERT_TRUE(control("start"));
}

}  // namespace bellwether::store
