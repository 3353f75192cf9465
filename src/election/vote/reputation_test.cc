#include <gtest/gtest.h>

#include "election/vote/vote_events.h"

namespace bellwether::vote {
namespace {

const NodeId kNode{7};

ReputationBook book_of(int served, int lost, int wrong) {
  ReputationBook book;
  for (int i = 0; i < served; ++i) book.add(kNode, Deed::kServed);
  for (int i = 0; i < lost; ++i) book.add(kNode, Deed::kLostHeartbeats);
  for (int i = 0; i < wrong; ++i) book.add(kNode, Deed::kWrongClaim);
  return book;
}

TEST(Reputation, reputation_falls_with_what_was_owed_and_rises_with_what_was_served) {
  EXPECT_EQ(book_of(0, 0, 0).reputation(kNode), 1);
  EXPECT_EQ(book_of(0, 1, 0).reputation(kNode), 0.5);
  EXPECT_EQ(book_of(0, 0, 1).reputation(kNode), 0.25);
  EXPECT_EQ(book_of(2, 1, 0).reputation(kNode), 0.75);
  EXPECT_EQ(book_of(9, 1, 0).reputation(kNode), 1) << "coarse: one in ten does not show";
  EXPECT_EQ(book_of(0, 30, 0).reputation(kNode), 0);
  EXPECT_EQ(book_of(0, 1, 0).reputation(NodeId(8)), 1) << "of another one";
}

TEST(Reputation, is_forgotten_in_time) {
  ReputationBook full = book_of(63, 10, 5);
  EXPECT_EQ(full.text(), "7 63 10 5\n");
  full.add(kNode, Deed::kServed);
  EXPECT_EQ(full.text(), "7 32 5 2\n");
  ReputationBook book = book_of(0, 50, 0);
  for (int i = 0; i < 300; ++i) book.add(kNode, Deed::kServed);
  EXPECT_EQ(book.reputation(kNode), 1);
  EXPECT_LT(book.text().size(), 20u) << book.text();
}

TEST(Reputation, survives_a_restart_and_refuses_what_is_no_book) {
  const ReputationBook book = book_of(2, 1, 3);
  EXPECT_EQ(book.text(), "7 2 1 3\n");
  const auto again = ReputationBook::read(book.text());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text(), book.text());
  EXPECT_TRUE(ReputationBook::read(""));
  for (const char* wrong : {"7 2 1\n", "7 2 1 3", "0 1 1 1\n", "7 64 0 0\n", "7 -1 0 0\n", "a b c d\n", "\n"}) {
    EXPECT_FALSE(ReputationBook::read(wrong)) << wrong;
  }
  std::string many;
  for (int i = 1; i <= 128; ++i) many += std::to_string(i) + " 0 0 0\n";
  EXPECT_FALSE(ReputationBook::read(many));
}

}  // namespace
}  // namespace bellwether::vote
