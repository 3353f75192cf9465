#include <gmock/gmock.h>

#include "cluster/vote/vetting.h"

namespace bellwether::cluster {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Instant at(int64_t ms) { return Instant::from_ns(1'000'000'000) + Duration::millis(ms); }

TEST(HearingWatch, who_is_silent_for_too_long_is_named_once_with_since_when) {
  HearingWatch watch({"b", "c"}, Duration::millis(1000), at(0));
  watch.heard("b", at(500));
  watch.heard("c", at(900));
  EXPECT_THAT(watch.look(at(1500)), IsEmpty());
  const auto changes = watch.look(at(1501));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].fewer);
  EXPECT_THAT(changes[0].text, HasSubstr("has not heard 'b' for 1.00s: including itself, it hears 2 of 3 voters"));
  EXPECT_THAT(changes[0].text, testing::Not(HasSubstr("minority")));
  EXPECT_THAT(watch.look(at(1502)), IsEmpty());
  EXPECT_THAT(watch.unheard(at(1501)), testing::ElementsAre(testing::Pair("b", Duration::millis(1001))));
  EXPECT_FALSE(watch.in_minority(at(1501)));
}

TEST(HearingWatch, a_minority_is_said_and_who_comes_back_too) {
  HearingWatch watch({"b", "c"}, Duration::millis(1000), at(0));
  const auto changes = watch.look(at(1001));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_THAT(changes[0].text,
              HasSubstr("'b' for 1.00s, 'c' for 1.00s: including itself, it hears 1 of 3 voters, a minority"));
  EXPECT_TRUE(watch.in_minority(at(1001)));
  watch.heard("c", at(1100));
  watch.heard("somebody else", at(1100));
  const auto back = watch.look(at(1101));
  ASSERT_EQ(back.size(), 1u);
  EXPECT_FALSE(back[0].fewer);
  EXPECT_EQ(back[0].text, "hears 'c' again");
  EXPECT_FALSE(watch.in_minority(at(1101)));
}

TEST(HearingWatch, half_of_the_voters_are_a_minority) {
  HearingWatch watch({"b", "c", "d"}, Duration::millis(1000), at(0));
  watch.heard("b", at(900));
  EXPECT_TRUE(watch.in_minority(at(1500)));
  watch.heard("c", at(900));
  EXPECT_FALSE(watch.in_minority(at(1500)));
}

TEST(HearingWatch, an_admin_that_stays_silent_is_judged_once) {
  HearingWatch watch({"b", "c"}, Duration::millis(1000), at(0));
  watch.heard("c", at(1000));
  watch.admin_lost("b", at(500));
  EXPECT_THAT(watch.judge(at(1500)), IsEmpty());
  EXPECT_THAT(watch.judge(at(1501)), testing::ElementsAre("b"));
  EXPECT_THAT(watch.judge(at(1600)), IsEmpty());
}

TEST(HearingWatch, a_minority_judges_nobody) {
  HearingWatch watch({"b", "c"}, Duration::millis(1000), at(0));
  watch.admin_lost("b", at(500));
  EXPECT_THAT(watch.judge(at(1501)), IsEmpty()) << "it hears nobody: it is cut off itself";
  watch.heard("c", at(1600));
  EXPECT_THAT(watch.judge(at(1600)), IsEmpty()) << "that loss is forgotten";
}

}  // namespace
}  // namespace bellwether::cluster
