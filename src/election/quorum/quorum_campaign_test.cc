// Campaigns that are not won at once: whose fault it was, and for how long they go on.
#include <gtest/gtest.h>

#include "election/quorum/group_testing.h"

namespace bellwether::quorum {
namespace {

// Of three members the leader has gone for good. One of the others may stand, and needs the vote of the third.
class Campaign : public testing::Test {
 protected:
  Campaign() {
    QuorumConfig witness = group.config(kVoter);
    witness.witness = true;
    group.start(1);
    group.start(2);
    group.start(kVoter, witness);
    for (uint64_t id = 1; id <= 3; ++id) group.say(id, Synced{});
    group.run(Duration::seconds(3));
    const uint64_t first = group.leader();
    candidate = 3 - first;
    group.stop(first);
  }
  bool stands() { return group[candidate].role() == Role::kCandidate; }
  void wait_until_it_stands() {
    ASSERT_TRUE(group.run_until(Duration::minutes(2), [&] { return stands(); }));
  }
  void wait_until_it_has_given_up() {
    ASSERT_TRUE(group.run_until(Duration::minutes(2), [&] { return !stands(); }));
  }
  // The voter would vote, and is not heard of any more once it is asked to: the time was too short, as far as one
  // knows.
  void stand_in_silence(int times) {
    for (int i = 0; i < times; ++i) {
      wait_until_it_stands();
      group.isolate(kVoter);
      wait_until_it_has_given_up();
      group.mend();
    }
  }

  static constexpr uint64_t kVoter = 3;
  const Duration vote_timeout = QuorumTiming::lan().vote_timeout;
  Group group{3};
  uint64_t candidate = 0;
};

TEST_F(Campaign, is_won_once_the_disk_of_a_voter_that_has_refused_is_whole_again) {
  stand_in_silence(5);
  group.failing_disks = {kVoter};
  wait_until_it_stands();
  ASSERT_TRUE(group.run_until(Duration::seconds(1), [&] {
    const auto* answer = group.last_sent<VoteAnswer>(kVoter);
    return answer != nullptr && answer->refusal == Refusal::kDisk;
  }));
  group.failing_disks.clear();
  group.run(Duration::seconds(1));
  EXPECT_EQ(group.leader(), candidate);
}

TEST_F(Campaign, takes_longer_after_each_one_that_nobody_answered) {
  stand_in_silence(3);
  wait_until_it_stands();
  group.isolate(kVoter);
  group.run(vote_timeout * 7);
  EXPECT_TRUE(stands());
  group.run(vote_timeout * 2);
  EXPECT_FALSE(stands());
}

TEST_F(Campaign, takes_no_longer_because_its_own_disk_has_failed) {
  for (int i = 0; i < 4; ++i) {
    group.failing_disks = {candidate};
    wait_until_it_stands();
    wait_until_it_has_given_up();
    group.failing_disks.clear();
    group.isolate(kVoter);
    group.run(Duration::seconds(1));
    group.mend();
  }
  wait_until_it_stands();
  group.isolate(kVoter);
  group.run(vote_timeout + Duration::millis(50));
  EXPECT_FALSE(stands());
}

TEST_F(Campaign, of_one_that_may_not_stand_any_more_is_given_up) {
  wait_until_it_stands();
  group.say(candidate, Stand{false});
  EXPECT_FALSE(stands());
  group.run(Duration::seconds(10));
  EXPECT_EQ(group.leader(), 0u) << "nobody else may";
  group.say(candidate, Stand{true});
  group.run(Duration::seconds(5));
  EXPECT_EQ(group.leader(), candidate);
}

// Two candidates in one term: waiting for the silent members would keep both from eligibility again.
TEST_F(Campaign, that_another_one_has_split_is_given_up_however_long_it_might_take) {
  stand_in_silence(5);
  wait_until_it_stands();
  group.isolate(kVoter);
  ASSERT_TRUE(group.run_until(Duration::seconds(1), [&] { return group.last_sent<Vote>(candidate) != nullptr; }));
  group.run(Duration::millis(2));
  const uint64_t number = group.last_sent<Vote>(candidate)->number;
  group.say_message(candidate, kVoter, group[candidate].term(), VoteAnswer{number, Refusal::kVoted, {}});
  group.run(vote_timeout + Duration::millis(1));
  EXPECT_FALSE(stands());
}

}  // namespace
}  // namespace bellwether::quorum
