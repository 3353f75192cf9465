#include "wire/snowflake.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wire/wire_testing.h"

namespace bellwether::wire {
namespace {

constexpr int64_t kNow = 1'800'000'000'000;

RC_GTEST_PROP(Snowflake, ids_only_rise_whatever_the_clock_does, (const std::vector<int16_t>& steps)) {
  Snowflake ids(5, at_ms(kNow));
  SnowflakeId last = 0;
  int64_t now = kNow;
  for (const int16_t step : steps) {
    now += step;
    const SnowflakeId id = ids.next(at_ms(now));
    RC_ASSERT(id > last);
    RC_ASSERT(Snowflake::made_by(id) == 5U);
    last = id;
  }
}

TEST(Snowflake, an_id_tells_when_and_where_it_was_made) {
  Snowflake ids(4095, at_ms(0));
  const SnowflakeId id = ids.next(at_ms(kNow));
  EXPECT_EQ(Snowflake::made_at(id), at_ms(kNow));
  EXPECT_EQ(Snowflake::made_by(id), 4095U);
  EXPECT_EQ(id >> 63U, 0U);
}

TEST(Snowflake, a_millisecond_that_is_used_up_borrows_from_the_next) {
  Snowflake ids(1, at_ms(0));
  SnowflakeId last = 0;
  for (uint32_t i = 0; i < 3 * Snowflake::kPerMilli; ++i) {
    const SnowflakeId id = ids.next(at_ms(kNow));
    ASSERT_GT(id, last);
    last = id;
  }
  EXPECT_EQ(Snowflake::made_at(last), at_ms(kNow + 2));
  EXPECT_EQ(ids.ahead_of(at_ms(kNow)), Duration::millis(2));
  EXPECT_EQ(ids.ahead_of(at_ms(kNow + 10)), Duration::zero());
}

TEST(Snowflake, ids_of_different_nodes_differ) {
  Snowflake one(1, at_ms(0));
  Snowflake other(2, at_ms(0));
  EXPECT_NE(one.next(at_ms(kNow)), other.next(at_ms(kNow)));
}

TEST(Snowflake, a_restart_goes_on_behind_what_was_used) {
  Snowflake before(1, at_ms(0));
  const SnowflakeId last = before.next(at_ms(kNow + 5000));
  Snowflake after(1, at_ms(kNow + 5001));
  EXPECT_GT(after.next(at_ms(kNow)), last) << "although the clock was set back";
}

TEST(Snowflake, a_clock_outside_the_layout_does_no_harm) {
  Snowflake ids(1, at_ms(0));
  EXPECT_EQ(Snowflake::made_at(ids.next(at_ms(-5))), at_ms(1'704'067'200'000));
}

}  // namespace
}  // namespace bellwether::wire
