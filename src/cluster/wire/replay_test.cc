#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>

#include "cluster/wire/envelope.h"
#include "cluster/wire/wire_testing.h"

namespace bellwether::wire {
namespace {

RC_GTEST_PROP(ReplayWindow, takes_each_number_once, (const std::vector<uint16_t>& raw)) {
  ReplayWindow window;
  std::set<uint64_t> taken;
  for (const uint64_t number : raw) {
    const bool behind = number == 0 || number + ReplayWindow::kWidth <= window.highest();
    const bool fresh = !behind && !taken.contains(number);
    RC_ASSERT((window.look(number) == Refusal::kNone) == fresh);
    RC_ASSERT((window.take(number) == Refusal::kNone) == fresh);
    if (fresh) taken.insert(number);
  }
}

TEST(ReplayWindow, what_is_reordered_within_the_window_is_taken) {
  ReplayWindow window;
  EXPECT_EQ(window.take(ReplayWindow::kWidth), Refusal::kNone);
  EXPECT_EQ(window.take(1), Refusal::kNone);
  EXPECT_EQ(window.take(1), Refusal::kReplayed);
  EXPECT_EQ(window.take(ReplayWindow::kWidth + 2), Refusal::kNone);
  EXPECT_EQ(window.take(2), Refusal::kReplayed) << "it is behind the window now";
  EXPECT_EQ(window.take(3), Refusal::kNone);
}

TEST(ReplayWindow, a_leap_forgets_nothing_that_could_be_taken_again) {
  ReplayWindow window;
  EXPECT_EQ(window.take(1), Refusal::kNone);
  EXPECT_EQ(window.take(uint64_t{1} << 60U), Refusal::kNone);
  EXPECT_EQ(window.take(1), Refusal::kReplayed);
  EXPECT_EQ(window.take((uint64_t{1} << 60U) - 1), Refusal::kNone);
}

class ReplayGuardTest : public testing::Test {
 protected:
  // A message of one start of a sender.
  static EnvelopeHeader message(uint64_t number, uint64_t start, uint64_t tag, uint64_t sender = 1) {
    EnvelopeHeader header;
    header.sender = sender;
    Prng prng(start);
    header.session = SessionId::draw(wall_ms(0), prng);
    header.number = number;
    header.tag = tag;
    return header;
  }
  Refusal take(const EnvelopeHeader& header) {
    const Refusal looked = guard_.look(header);
    const Refusal taken = guard_.take(header);
    EXPECT_EQ(looked, taken) << "looking first gives the same answer";
    return taken;
  }

  ReplayGuard guard_{3, Prng(1)};
};

TEST_F(ReplayGuardTest, a_first_message_needs_the_tag_and_the_others_do_not) {
  EXPECT_EQ(take(message(1, 7, 0)), Refusal::kUnproven);
  EXPECT_EQ(take(message(1, 7, guard_.tag() + 2)), Refusal::kUnproven);
  EXPECT_EQ(guard_.senders(), 0U);
  EXPECT_EQ(take(message(2, 7, guard_.tag())), Refusal::kNone);
  EXPECT_EQ(take(message(3, 7, 0)), Refusal::kNone);
  EXPECT_EQ(take(message(1, 7, 0)), Refusal::kNone) << "it is there now, so this was only late";
}

TEST_F(ReplayGuardTest, a_message_is_taken_once) {
  EXPECT_EQ(take(message(1, 7, guard_.tag())), Refusal::kNone);
  EXPECT_EQ(take(message(1, 7, guard_.tag())), Refusal::kReplayed);
  EXPECT_EQ(take(message(2, 7, guard_.tag())), Refusal::kNone);
  EXPECT_EQ(take(message(0, 7, guard_.tag())), Refusal::kReplayed) << "nobody sends the number 0";
}

TEST_F(ReplayGuardTest, senders_that_come_at_the_same_time_do_not_spoil_each_others_tag) {
  const uint64_t tag = guard_.tag();
  for (uint64_t sender = 1; sender <= 3; ++sender) EXPECT_EQ(take(message(1, 7, tag, sender)), Refusal::kNone);
}

TEST_F(ReplayGuardTest, a_receiver_that_restarted_has_another_tag) {
  const auto before = message(1, 7, guard_.tag());
  EXPECT_EQ(take(before), Refusal::kNone);
  guard_ = ReplayGuard(3, Prng(2));
  EXPECT_EQ(take(before), Refusal::kUnproven);
}

TEST_F(ReplayGuardTest, the_messages_of_a_senders_earlier_start_are_refused) {
  const auto first = message(7, 7, guard_.tag());
  const auto never_seen = message(8, 7, guard_.tag());
  EXPECT_EQ(take(first), Refusal::kNone);
  EXPECT_EQ(take(message(1, 8, guard_.tag())), Refusal::kNone) << "it has started again";
  EXPECT_EQ(take(first), Refusal::kUnproven);
  EXPECT_EQ(take(never_seen), Refusal::kUnproven);
}

TEST_F(ReplayGuardTest, a_connection_shows_the_same_as_an_answered_challenge) {
  const auto first = message(1, 7, 0);
  guard_.introduce(1, first.session);
  EXPECT_EQ(take(first), Refusal::kNone);
  EXPECT_EQ(take(first), Refusal::kReplayed);
  guard_.introduce(1, first.session);
  EXPECT_EQ(take(first), Refusal::kReplayed) << "introducing again does not open the window again";
}

TEST_F(ReplayGuardTest, an_introduction_of_a_new_start_shuts_the_old_one_out) {
  const auto old = message(1, 7, guard_.tag());
  EXPECT_EQ(take(old), Refusal::kNone);
  guard_.introduce(1, message(1, 8, 0).session);
  EXPECT_EQ(take(message(2, 7, old.tag)), Refusal::kUnproven);
}

TEST_F(ReplayGuardTest, a_sender_that_was_forgotten_for_lack_of_room_cannot_be_replayed) {
  const auto first = message(1, 7, guard_.tag(), 1);
  EXPECT_EQ(take(first), Refusal::kNone);
  for (uint64_t sender = 2; sender <= 4; ++sender) {
    EXPECT_EQ(take(message(1, 7, guard_.tag(), sender)), Refusal::kNone);
  }
  EXPECT_EQ(guard_.senders(), 3U);
  EXPECT_EQ(take(first), Refusal::kUnproven);
  EXPECT_EQ(take(message(2, 7, guard_.tag(), 1)), Refusal::kNone) << "it can show that it is there";
}

TEST_F(ReplayGuardTest, whoever_was_heard_last_is_remembered) {
  for (uint64_t sender = 1; sender <= 3; ++sender) take(message(1, 7, guard_.tag(), sender));
  EXPECT_EQ(take(message(2, 7, 0, 1)), Refusal::kNone);
  EXPECT_EQ(take(message(1, 7, guard_.tag(), 4)), Refusal::kNone);
  EXPECT_EQ(take(message(2, 7, 0, 1)), Refusal::kReplayed) << "1 is remembered,";
  EXPECT_EQ(take(message(2, 7, 0, 2)), Refusal::kUnproven) << "and 2 was forgotten";
}

}  // namespace
}  // namespace bellwether::wire
