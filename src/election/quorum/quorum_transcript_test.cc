// Elections as stories: each of testdata/*.txt shows the events in a small group, step by step. Readers learn the
// protocol from them, and the test compares them so that it does not change unnoticed.
#include <gtest/gtest.h>

#include "core/base/transcript_testing.h"
#include "election/quorum/transcript_testing.h"

namespace bellwether::quorum {
namespace {

void expect_transcript(const std::string& name, const std::string& text) {
  transcript::expect_transcript("src/election/quorum/testdata/" + name, text);
}

TEST(QuorumTranscript, first_election) {
  Group group(3);
  Transcript transcript(group);
  transcript.aside("Three members that were never there before. Each of them is quiet until all have answered it.");
  group.start_all();
  ASSERT_TRUE(group.run_until(Duration::seconds(2), [&] { return group.leader() != 0; }));
  group.run(Duration::millis(20));
  transcript.aside(
      "The leader has asked everybody for what they know of the group's work, and the others have asked it.");
  for (uint64_t id = 1; id <= 3; ++id) group.say(id, Synced{});
  expect_transcript("first_election.txt", transcript.text());
}

using LedQuorumTranscript = LedGroup<3>;

TEST_F(LedQuorumTranscript, crash) {
  Transcript transcript(group);
  transcript.aside("m" + std::to_string(first) + ", which leads, crashes.");
  group.stop(first);
  ASSERT_TRUE(group.run_until(Duration::seconds(2), [&] { return group.leader() != 0; }));
  group.run(Duration::millis(20));
  transcript.aside("It comes back with what is on its disk, and follows.");
  group.start(first);
  group.run(Duration::millis(700));
  expect_transcript("crash.txt", transcript.text());
}

TEST_F(LedQuorumTranscript, hand_over) {
  group.work_stops_at_once = false;
  Transcript transcript(group);
  transcript.aside("The leader is asked to let another one lead.");
  group.say(first, StepDown{"asked to", kNobody, false, true});
  group.run(Duration::millis(30));
  transcript.aside("Its work has taken 30 ms to stop; the term went on meanwhile.");
  group.say(first, WorkStopped{});
  group.run(Duration::millis(50));
  EXPECT_NE(group.leader(), 0u);
  EXPECT_NE(group.leader(), first);
  expect_transcript("hand_over.txt", transcript.text());
}

TEST_F(LedQuorumTranscript, partition_that_heals) {
  Transcript transcript(group);
  transcript.aside("The leader is cut off. It stops by its own clock before the promises of the others are over.");
  group.isolate(first);
  ASSERT_TRUE(group.run_until(Duration::seconds(2), [&] { return group.leader() != 0 && group.leader() != first; }));
  group.run(Duration::millis(20));
  transcript.aside("The network is whole again.");
  group.mend();
  group.run(Duration::millis(300));
  expect_transcript("partition_that_heals.txt", transcript.text());
}

TEST_F(LedQuorumTranscript, lost_record) {
  const uint64_t other = first == 1 ? 2 : 1;
  const Record newest = group.disks_[other];
  Transcript transcript(group, true);
  transcript.aside("The disk of m" + std::to_string(other) + " goes back in time, which only the others can know.");
  group.stop(other);
  Record older = newest;
  older.version = 1;
  older.term = Term(0);
  older.vote = kNobody;
  older.members.stamp = {Term(0), 1};
  group.start(other, group.config(other), Start{Start::Found::kRecord, older});
  group.run(Duration::millis(150));
  EXPECT_TRUE(group[other].follows_only());
  transcript.aside("Started once more, it still knows that it was found out.");
  group.stop(other);
  group.start(other);
  group.run(Duration::millis(150));
  EXPECT_TRUE(group[other].follows_only());
  expect_transcript("lost_record.txt", transcript.text());
}

TEST_F(LedQuorumTranscript, change_of_members) {
  Transcript transcript(group);
  transcript.aside("A fourth member is started. It has been told of nobody.");
  QuorumConfig config = group.config(4);
  config.bootstrap.clear();
  group.start(4, config);
  group.run(Duration::millis(20));
  transcript.aside("The leader is told to add it. Majorities of three and of four are needed while that is under way.");
  group.say(first, ChangeMembers{{MemberChange::Kind::kAdd, MemberId(4)}});
  group.run(Duration::seconds(1));
  EXPECT_EQ(group[first].members().voters.size(), 4u);
  EXPECT_TRUE(group[first].members_settled());
  expect_transcript("change_of_members.txt", transcript.text());
}

}  // namespace
}  // namespace bellwether::quorum
