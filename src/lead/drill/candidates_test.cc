#include "lead/drill/candidates.h"

#include <gtest/gtest.h>

namespace bellwether::lead {
namespace {

TEST(ActLog, keeps_who_acted_from_when_to_when) {
  ActLog log;
  log.feed("a 1 100\na 1 20");
  log.feed("0\nb c 2 300\n");
  ASSERT_EQ(log.reigns().size(), 2U);
  EXPECT_EQ(log.reigns()[0].last, Instant::from_ns(200));
  EXPECT_EQ(log.reigns()[0].acts, 2U);
  EXPECT_EQ(log.last()->holder, "b c");
  EXPECT_EQ(log.acts(), 3U);
  EXPECT_EQ(log.overlaps(), 0U);
}

TEST(ActLog, an_act_behind_one_of_a_newer_epoch_is_an_overlap_whatever_its_clock_says) {
  ActLog log;
  log.feed("a 1 100\nb 2 300\na 1 150\n");
  EXPECT_EQ(log.overlaps(), 1U);
  EXPECT_EQ(log.last()->holder, "b");
}

TEST(ActLog, a_holder_first_seen_too_late_is_an_overlap) {
  ActLog log;
  log.feed("b 2 300\na 1 150\n");
  EXPECT_EQ(log.overlaps(), 1U);
  EXPECT_EQ(log.last()->holder, "b");
}

TEST(ActLog, one_epoch_of_two_holders_is_an_overlap) {
  ActLog log;
  log.feed("a 1 100\nb 1 200\n");
  EXPECT_EQ(log.overlaps(), 1U);
}

TEST(ActLog, passes_over_lines_that_are_no_acts) {
  ActLog log;
  log.feed("\nnonsense\na b\n a\nx 1 y\n");
  EXPECT_EQ(log.acts(), 0U);
}

}  // namespace
}  // namespace bellwether::lead
