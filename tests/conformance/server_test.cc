// The behaviours of a store whose server is paused, cut off, restarted, or used by other programs. What is done to the
// server is asked for over the control; what cannot be done to it is skipped.
#include "election/store/conformance_testing.h"

namespace bellwether::store {

using election::Observation;
using election::WriteOutcome;

#define CONTROL(command) \
  if (!control(command)) GTEST_SKIP() << "this server cannot be told to " << (command)

class ServerTrouble : public StoreConformance {
 protected:
  // Looks until the store answers again.
  Observation look_again(StoreKey& key) {
    Result<Observation> seen = fail(Errc::kTimeout, "not asked yet");
    for (const Instant limit = soon(); !seen && runtime_->read_clock() < limit;) {
      seen = try_look(key, Duration::seconds(2));
      if (!seen) wait(Duration::millis(100));
    }
    EXPECT_TRUE(seen) << seen.error().message;
    return seen ? *seen : Observation();
  }
  void wait(Duration span) {
    const auto pause = [](runtime::Runtime& runtime, Duration time) -> runtime::task<int> {
      co_await runtime.sleep(time);
      co_return 0;
    };
    runtime_->run(pause(*runtime_, span));
  }
};

class Silence : public ServerTrouble {
 protected:
  // Each call ends at its deadline while the server is silent, whether it was connected before or not.
  void expect_timeouts(StoreKey& known, StoreKey& fresh, const WriteOutcome& taken) {
    const Duration limit = Duration::millis(300);
    for (int i = 0; i < 2; ++i) {
      const Instant before = runtime_->read_clock();
      const auto seen = try_look(known, limit);
      const auto renewed = try_act(known, Kind::kRenew, taken.after.version, renewal_of(taken.after.record), limit);
      const auto other = try_look(fresh, limit);
      ASSERT_FALSE(seen || renewed || other);
      EXPECT_EQ(seen.error().code, Errc::kTimeout) << seen.error().message;
      EXPECT_EQ(renewed.error().code, Errc::kTimeout) << renewed.error().message;
      EXPECT_EQ(other.error().code, Errc::kTimeout) << other.error().message;
      EXPECT_GE(runtime_->read_clock() - before, limit * 3);
    }
  }
  void survives(const std::string& begin, const std::string& end) {
    const auto known = open(*ours_, name(begin));
    const auto fresh = open(*theirs_, name(begin));
    const WriteOutcome taken = take(*known, "alice");
    CONTROL(begin);
    expect_timeouts(*known, *fresh, taken);
    ASSERT_TRUE(control(end));
    const Observation seen = look_again(*known);
    EXPECT_EQ(seen.record.token, taken.after.record.token);
    EXPECT_TRUE(act(*known, Kind::kRenew, seen.version, renewal_of(seen.record)).applied);
    EXPECT_EQ(look_again(*fresh).record.token, taken.after.record.token);
  }
};

TEST_F(Silence, of_a_paused_server_ends_at_the_deadline_and_the_store_is_usable_afterwards) {
  survives("pause", "resume");
}
TEST_F(Silence, of_a_network_that_swallows_everything_ends_at_the_deadline) { survives("blackhole", "open"); }

TEST_F(ServerTrouble, a_server_that_is_down_is_an_error_and_never_an_empty_store) {
  const auto known = open(*ours_, name("down"));
  const auto fresh = open(*theirs_, name("down"));
  const WriteOutcome taken = take(*known, "alice");
  CONTROL("stop");
  for (StoreKey* key : {known.get(), fresh.get()}) {
    const auto seen = try_look(*key, Duration::seconds(2));
    ASSERT_FALSE(seen);
    EXPECT_NE(seen.error().message, "");
    EXPECT_FALSE(try_act(*key, Kind::kRenew, taken.after.version, renewal_of(taken.after.record)));
  }
  ASSERT_TRUE(control("start"));
  EXPECT_EQ(look_again(*fresh).record.token, taken.after.record.token);
  EXPECT_EQ(look_again(*known).record.token, taken.after.record.token);
}

TEST_F(ServerTrouble, a_restart_with_its_data_keeps_record_and_epoch) {
  const auto held = open(*ours_, name("restarted"));
  const auto free = open(*ours_, name("restarted-free"));
  const WriteOutcome taken = take(*held, "alice");
  const WriteOutcome other = take(*free, "bob");
  ASSERT_TRUE(act(*free, Kind::kRelease, other.after.version, release_of(other.after.record)).applied);
  CONTROL("restart");
  const Observation seen = look_again(*held);
  EXPECT_EQ(seen.record.holder, "alice");
  EXPECT_EQ(seen.record.token, taken.after.record.token);
  EXPECT_EQ(seen.record.epoch, taken.after.record.epoch);
  EXPECT_TRUE(act(*held, Kind::kRenew, seen.version, renewal_of(seen.record)).applied);
  EXPECT_FALSE(look(*held).may_have_lost_data);
  EXPECT_FALSE(look_again(*free).record.held());
  const WriteOutcome next = take(*free, "carol");
  ASSERT_TRUE(next.applied);
  EXPECT_GT(next.after.record.epoch, other.after.record.epoch);
}

TEST_F(ServerTrouble, a_restart_without_its_data_is_noticed_and_repeats_no_epoch) {
  const auto a = open(*ours_, name("emptied"));
  const auto b = open(*theirs_, name("emptied"));
  WriteOutcome taken = take(*a, "alice");
  for (int i = 0; i < 3; ++i) {
    taken = act(*a, Kind::kRelease, taken.after.version, release_of(taken.after.record));
    taken = take(*a, "alice");
    ASSERT_TRUE(taken.applied);
  }
  CONTROL("lose");
  const Observation seen = look_again(*b);
  EXPECT_FALSE(seen.record.held());
  EXPECT_TRUE(seen.may_have_lost_data || seen.floor <= taken.after.record.epoch);
  EXPECT_FALSE(seen.version == taken.after.version);
  const auto late = try_act(*a, Kind::kRenew, taken.after.version, renewal_of(taken.after.record));
  EXPECT_FALSE(late && late->applied) << "a renewal must not bring back what the store has lost";
  if (ours_->traits().chooses_epoch) return;  // who has seen the epoch of before is the one to notice
  EXPECT_GT(seen.floor, taken.after.record.epoch);
  const WriteOutcome next = take(*b, "bob");
  ASSERT_TRUE(next.applied);
  EXPECT_GT(next.after.record.epoch, taken.after.record.epoch);
}

TEST_F(ServerTrouble, a_state_from_an_older_copy_shows_that_it_has_gone_back_and_takes_no_renewal_of_later_terms) {
  const auto a = open(*ours_, name("copied"));
  const auto b = open(*theirs_, name("copied"));
  const WriteOutcome first = take(*a, "alice");
  ASSERT_TRUE(first.applied);
  CONTROL("backup");
  ASSERT_TRUE(act(*a, Kind::kRelease, first.after.version, release_of(first.after.record)).applied);
  const WriteOutcome second = take(*b, "bob");
  ASSERT_TRUE(second.applied);
  ASSERT_TRUE(control("restore"));
  const auto late = try_act(*b, Kind::kRenew, second.after.version, renewal_of(second.after.record));
  EXPECT_FALSE(late && late->applied);
  // Whoever knows of the second term tells by its epoch that the store has gone back.
  const Observation seen = look_again(*b);
  EXPECT_TRUE(seen.may_have_lost_data || seen.record.epoch < second.after.record.epoch);
  EXPECT_NE(seen.version, second.after.version);
}

TEST_F(ServerTrouble, a_release_that_never_arrived_does_not_keep_the_next_in_the_queue_waiting) {
  if (!queue()) return;  // there the next one waits for the end of the lease
  const auto a = open(*ours_, name("undelivered"));
  const auto b = open(*theirs_, name("undelivered"));
  const WriteOutcome taken = take(*a, "alice");
  ASSERT_FALSE(take(*b, "bob").applied);
  CONTROL("blackhole");
  ASSERT_FALSE(try_act(*a, Kind::kRelease, taken.after.version, release_of(taken.after.record), Duration::millis(300)));
  ASSERT_TRUE(control("open"));
  EXPECT_FALSE(look_again(*a).place.joined);
  EXPECT_EQ(look_again(*b).record.holder, "bob");
}

TEST_F(ServerTrouble, a_connection_that_is_reset_is_opened_again_by_the_next_call) {
  const auto key = open(*ours_, name("reset"));
  const WriteOutcome taken = take(*key, "alice");
  CONTROL("reset");
  EXPECT_EQ(look_again(*key).record.token, taken.after.record.token);
  EXPECT_TRUE(act(*key, Kind::kRenew, look(*key).version, renewal_of(taken.after.record)).applied);
}

TEST_F(ServerTrouble, what_a_foreign_program_holds_is_shown_and_cannot_be_taken_until_it_is_given_back) {
  const std::string plain = name("foreign");
  const auto key = open(*ours_, plain);
  const WriteOutcome first = take(*key, "alice");
  ASSERT_TRUE(act(*key, Kind::kRelease, first.after.version, release_of(first.after.record)).applied);
  CONTROL("foreign-hold " + plain);
  const Observation seen = look(*key);
  EXPECT_TRUE(seen.present);
  EXPECT_TRUE(seen.foreign);
  EXPECT_TRUE(seen.record.held());
  const WriteOutcome refused = act(*key, Kind::kTake, seen.version, claim("bob", seen));
  EXPECT_FALSE(refused.applied);
  EXPECT_TRUE(refused.after.foreign);
  ASSERT_TRUE(control("foreign-release " + plain));
  WriteOutcome taken = take(*key, "bob");
  if (!taken.applied) taken = take(*key, "bob");  // a claim that waited in a queue is first now
  EXPECT_TRUE(taken.applied || taken.after.record.holder == "bob");
  EXPECT_GT(taken.after.record.epoch, first.after.record.epoch);
}

TEST_F(ServerTrouble, a_foreign_program_cannot_take_what_we_hold) {
  const std::string plain = name("kept");
  const auto key = open(*ours_, plain);
  const WriteOutcome taken = take(*key, "alice");
  CONTROL("foreign-refused " + plain);
  EXPECT_EQ(look(*key).record.token, taken.after.record.token);
  EXPECT_TRUE(act(*key, Kind::kRenew, look(*key).version, renewal_of(taken.after.record)).applied);
  const WriteOutcome released =
      act(*key, Kind::kRelease, look(*key).version, release_of(renewal_of(taken.after.record)));
  ASSERT_TRUE(released.applied);
  EXPECT_TRUE(control("foreign-take " + plain)) << "a clean release lets everybody in at once";
  EXPECT_TRUE(control("foreign-release " + plain));
}

}  // namespace bellwether::store
