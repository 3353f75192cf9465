#include <gtest/gtest.h>

#include "jobs/manager/watchers.h"

namespace bellwether::node {
namespace {

using dispatch::AssignmentId;
using dispatch::LiveSum;

constexpr Instant kNow = Instant::from_ns(1'000'000'000'000);

Instant at(int millis) { return kNow + Duration::millis(millis); }

dispatch::LiveMessage::Assignment told(uint32_t assignment, uint64_t requests, int64_t vus = 1) {
  return {"job", AssignmentId(assignment), requests, requests / 10, requests / 2, requests / 5, vus};
}

TEST(LiveBoard, TheSumIsOfWhatEachAssignmentToldLast) {
  LiveBoard board;
  EXPECT_TRUE(board.heard(at(0), at(0), 1, told(1, 100, 3)));
  EXPECT_TRUE(board.heard(at(0), at(0), 1, told(2, 1'000, 4)));
  EXPECT_TRUE(board.heard(at(0), at(0), 2, told(1, 150, 5)));
  EXPECT_EQ(board.sum(at(0)), (LiveSum{1'150, 115, 575, 230, 9, {}}));
}

TEST(LiveBoard, WhatIsOlderThanWhatIsKnownChangesNothing) {
  LiveBoard board;
  ASSERT_TRUE(board.heard(at(0), at(0), 7, told(1, 100)));
  const uint64_t version = board.version();
  EXPECT_FALSE(board.heard(at(1), at(1), 6, told(1, 90)));
  EXPECT_FALSE(board.heard(at(1), at(1), 7, told(1, 200))) << "the same number again";
  EXPECT_EQ(board.sum(at(1)).requests, 100u);
  EXPECT_EQ(board.version(), version);
  EXPECT_TRUE(board.heard(at(1), at(1), 8, told(1, 110)));
  EXPECT_NE(board.version(), version);
}

TEST(LiveBoard, NumbersOfDifferentWorkersDoNotCompare) {
  LiveBoard board;
  ASSERT_TRUE(board.heard(at(0), at(0), 1'000, told(1, 5)));
  EXPECT_TRUE(board.heard(at(0), at(0), 1, told(2, 5))) << "a worker that was started again counts from the beginning";
  EXPECT_EQ(board.sum(at(0)).requests, 10u);
}

TEST(LiveBoard, TheFirstMessageOfAnAssignmentMayHaveNoNumber) {
  LiveBoard board;
  EXPECT_TRUE(board.heard(at(0), at(0), 0, told(1, 5)));
  EXPECT_FALSE(board.heard(at(0), at(0), 0, told(1, 6)));
}

TEST(LiveBoard, WhatHasEndedKeepsWhatItDidAndHasNoUsers) {
  LiveBoard board;
  ASSERT_TRUE(board.heard(at(0), at(0), 1, told(1, 100, 3)));
  ASSERT_TRUE(board.heard(at(0), at(0), 1, told(2, 100, 4)));
  board.ended(at(0), AssignmentId(1));
  board.ended(at(0), AssignmentId(1));
  board.ended(at(0), AssignmentId(9));
  EXPECT_EQ(board.sum(at(0)).requests, 200u);
  EXPECT_EQ(board.sum(at(0)).vus, 4);
  EXPECT_FALSE(board.heard(at(1), at(1), 2, told(1, 110, 3))) << "a message that was late";
  EXPECT_EQ(board.sum(at(0)).vus, 4);
}

TEST(LiveBoard, TheAgeIsThatOfTheOldestNewsOfWhatRuns) {
  LiveBoard board;
  EXPECT_EQ(board.sum(at(500)), LiveSum());
  ASSERT_TRUE(board.heard(at(0), at(0), 1, told(1, 100)));
  ASSERT_TRUE(board.heard(at(200), at(200), 1, told(2, 100)));
  EXPECT_EQ(board.sum(at(300)).age, std::chrono::milliseconds(300));
  ASSERT_TRUE(board.heard(at(310), at(310), 2, told(1, 120)));
  EXPECT_EQ(board.sum(at(350)).age, std::chrono::milliseconds(150));
  board.ended(at(0), AssignmentId(2));
  EXPECT_EQ(board.sum(at(350)).age, std::chrono::milliseconds(40));
}

std::vector<std::pair<uint64_t, uint64_t>> requests(const dispatch::LiveNews& news) {
  std::vector<std::pair<uint64_t, uint64_t>> out;
  for (const dispatch::LiveWindow& one : news.windows) out.emplace_back(one.number, one.done.requests);
  return out;
}
using Windows = std::vector<std::pair<uint64_t, uint64_t>>;

TEST(LiveBoard, WindowsAreCountedFromTheBeginOfTheRunAndSumUpAllAssignments) {
  LiveBoard board;
  EXPECT_EQ(board.change(), 0u);
  EXPECT_EQ(board.next_close(), Instant::never());
  board.set_zero(at(-300));
  board.begins(at(0), AssignmentId(1));
  board.begins(at(0), AssignmentId(2));
  board.set_zero(at(5'000));
  ASSERT_TRUE(board.heard(at(60), at(50), 1, told(1, 100, 3)));
  ASSERT_TRUE(board.heard(at(70), at(60), 1, told(2, 10, 4)));
  ASSERT_TRUE(board.heard(at(160), at(150), 2, told(1, 130, 3)));
  EXPECT_EQ(board.next_close(), at(250));
  board.advance(at(250));
  const dispatch::LiveNews news = board.news(at(250), 0);
  EXPECT_EQ(requests(news), (Windows{{3, 110}, {4, 30}}));
  EXPECT_EQ(news.windows[0].told, 2u);
  EXPECT_EQ(news.windows[0].done, (LiveSum{110, 11, 55, 22, 7, {}}));
  EXPECT_EQ(news.total, board.sum(at(250)));
  EXPECT_EQ(news.change, board.change());
  EXPECT_TRUE(board.news(at(250), news.change).windows.empty());
}

TEST(LiveBoard, WhatIsLateAmendsAWindowAndNoSum) {
  LiveBoard board;
  board.begins(at(0), AssignmentId(1));
  ASSERT_TRUE(board.heard(at(60), at(50), 1, told(1, 100)));
  ASSERT_TRUE(board.heard(at(360), at(350), 3, told(1, 300)));
  board.advance(at(500));
  const dispatch::LiveNews before = board.news(at(500), 0);
  EXPECT_EQ(requests(before), (Windows{{0, 100}, {1, 0}, {2, 0}, {3, 200}}));
  EXPECT_FALSE(board.heard(at(510), at(150), 2, told(1, 150)));
  const dispatch::LiveNews after = board.news(at(510), before.change);
  EXPECT_EQ(requests(after), (Windows{{1, 50}, {3, 150}}));
  EXPECT_EQ(after.windows[0].revision, 1u);
  EXPECT_EQ(after.total.requests, 300u);
}

TEST(LiveBoard, WhatAShareDidUnderAnotherOwnerIsInNoWindow) {
  LiveBoard board;
  ASSERT_TRUE(board.heard(at(10), at(10), 70, told(1, 1'000)));
  ASSERT_TRUE(board.heard(at(120), at(120), 71, told(1, 1'020)));
  board.ended(at(130), AssignmentId(1));
  board.finish(at(140));
  EXPECT_EQ(requests(board.news(at(140), 0)), (Windows{{0, 0}, {1, 20}}));
  EXPECT_EQ(board.news(at(140), 0).windows[1].done.vus, 0);
}

TEST(LiveBoard, AfterTheEndOfTheJobNothingChangesAnyMore) {
  LiveBoard board;
  board.begins(at(0), AssignmentId(1));
  ASSERT_TRUE(board.heard(at(10), at(10), 1, told(1, 100)));
  board.finish(at(20));
  const dispatch::LiveNews last = board.news(at(20), 0);
  EXPECT_EQ(requests(last), (Windows{{0, 100}}));
  EXPECT_FALSE(board.heard(at(30), at(30), 2, told(1, 110)));
  board.begins(at(30), AssignmentId(2));
  board.ended(at(40), AssignmentId(1));
  board.advance(at(5'000));
  board.finish(at(6'000));
  EXPECT_EQ(board.change(), last.change);
  EXPECT_EQ(requests(board.news(at(20), 0)), requests(last));
}

TEST(LiveBoard, AnAssignmentOfWhichNothingWasToldIsOfNoAge) {
  LiveBoard board;
  board.begins(at(0), AssignmentId(1));
  EXPECT_EQ(board.sum(at(500)), LiveSum());
  board.ended(at(510), AssignmentId(1));
  board.advance(at(700));
  EXPECT_EQ(board.news(at(700), 0).windows.size(), 6u);
}

}  // namespace
}  // namespace bellwether::node
