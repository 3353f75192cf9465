#include "node/manager/live_board.h"

#include <gtest/gtest.h>

namespace bellwether::node {
namespace {

using dispatch::LiveSum;
using dispatch::ShareId;

constexpr Instant kNow = Instant::from_ns(1'000'000'000'000);

Instant at(int millis) { return kNow + Duration::millis(millis); }

dispatch::LiveLetter::Share told(uint32_t share, uint64_t requests, int64_t vus = 1) {
  return {"job", ShareId(share), requests, requests / 10, requests / 2, requests / 5, vus};
}

TEST(LiveBoard, TheSumIsOfWhatEachShareToldLast) {
  LiveBoard board;
  EXPECT_TRUE(board.heard(at(0), 1, told(1, 100, 3)));
  EXPECT_TRUE(board.heard(at(0), 1, told(2, 1'000, 4)));
  EXPECT_TRUE(board.heard(at(0), 2, told(1, 150, 5)));
  EXPECT_EQ(board.sum(at(0)), (LiveSum{1'150, 115, 575, 230, 9, Duration::zero()}));
}

TEST(LiveBoard, WhatIsOlderThanWhatIsKnownChangesNothing) {
  LiveBoard board;
  ASSERT_TRUE(board.heard(at(0), 7, told(1, 100)));
  const uint64_t version = board.version();
  EXPECT_FALSE(board.heard(at(1), 6, told(1, 90)));
  EXPECT_FALSE(board.heard(at(1), 7, told(1, 200))) << "the same number again";
  EXPECT_EQ(board.sum(at(1)).requests, 100u);
  EXPECT_EQ(board.version(), version);
  EXPECT_TRUE(board.heard(at(1), 8, told(1, 110)));
  EXPECT_NE(board.version(), version);
}

TEST(LiveBoard, NumbersOfDifferentWorkersDoNotCompare) {
  LiveBoard board;
  ASSERT_TRUE(board.heard(at(0), 1'000, told(1, 5)));
  EXPECT_TRUE(board.heard(at(0), 1, told(2, 5))) << "a worker that was started again counts from the beginning";
  EXPECT_EQ(board.sum(at(0)).requests, 10u);
}

TEST(LiveBoard, TheFirstLetterOfAShareMayHaveNoNumber) {
  LiveBoard board;
  EXPECT_TRUE(board.heard(at(0), 0, told(1, 5)));
  EXPECT_FALSE(board.heard(at(0), 0, told(1, 6)));
}

TEST(LiveBoard, WhatHasEndedKeepsWhatItDidAndHasNoUsers) {
  LiveBoard board;
  ASSERT_TRUE(board.heard(at(0), 1, told(1, 100, 3)));
  ASSERT_TRUE(board.heard(at(0), 1, told(2, 100, 4)));
  board.ended(ShareId(1));
  board.ended(ShareId(1));
  board.ended(ShareId(9));
  EXPECT_EQ(board.sum(at(0)).requests, 200u);
  EXPECT_EQ(board.sum(at(0)).vus, 4);
  EXPECT_FALSE(board.heard(at(1), 2, told(1, 110, 3))) << "a letter that was late";
  EXPECT_EQ(board.sum(at(0)).vus, 4);
}

TEST(LiveBoard, TheAgeIsThatOfTheOldestNewsOfWhatRuns) {
  LiveBoard board;
  EXPECT_EQ(board.sum(at(500)), LiveSum());
  ASSERT_TRUE(board.heard(at(0), 1, told(1, 100)));
  ASSERT_TRUE(board.heard(at(200), 1, told(2, 100)));
  EXPECT_EQ(board.sum(at(300)).age, Duration::millis(300));
  ASSERT_TRUE(board.heard(at(310), 2, told(1, 120)));
  EXPECT_EQ(board.sum(at(350)).age, Duration::millis(150));
  board.ended(ShareId(2));
  EXPECT_EQ(board.sum(at(350)).age, Duration::millis(40));
}

}  // namespace
}  // namespace bellwether::node
