#include "wire/snowflake.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wire/wire_testing.h"

namespace bellwether::wire {
namespace {

constexpr int64_t kSnowflakeNow = 1'800'000'000'000;

RC_GTEST_PROP(Snowflake, ids_only_rise_whatever_the_clock_does, (const std::vector<int16_t>& steps)) {
  Snowflake ids(5, wall_ms(kSnowflakeNow));
  SnowflakeId last = 0;
  int64_t now = kSnowflakeNow;
  for (const int16_t step : steps) {
    now += step;
    const SnowflakeId id = ids.next(wall_ms(now));
    RC_ASSERT(id > last);
    RC_ASSERT(Snowflake::made_by(id) == 5U);
    last = id;
  }
}

TEST(Snowflake, an_id_tells_when_and_where_it_was_made) {
  Snowflake ids(4095, wall_ms(0));
  const SnowflakeId id = ids.next(wall_ms(kSnowflakeNow));
  EXPECT_EQ(Snowflake::made_at(id), wall_ms(kSnowflakeNow));
  EXPECT_EQ(Snowflake::made_by(id), 4095U);
  EXPECT_EQ(id >> 63U, 0U);
}

TEST(Snowflake, a_millisecond_that_is_used_up_borrows_from_the_next) {
  Snowflake ids(1, wall_ms(0));
  SnowflakeId last = 0;
  for (uint32_t i = 0; i < 3 * Snowflake::kPerMilli; ++i) {
    const SnowflakeId id = ids.next(wall_ms(kSnowflakeNow));
    ASSERT_GT(id, last);
    last = id;
  }
  EXPECT_EQ(Snowflake::made_at(last), wall_ms(kSnowflakeNow + 2));
  EXPECT_EQ(ids.ahead_of(wall_ms(kSnowflakeNow)), Duration::millis(2));
  EXPECT_EQ(ids.ahead_of(wall_ms(kSnowflakeNow + 10)), Duration::zero());
}

TEST(Snowflake, ids_of_different_nodes_differ) {
  Snowflake one(1, wall_ms(0));
  Snowflake other(2, wall_ms(0));
  EXPECT_NE(one.next(wall_ms(kSnowflakeNow)), other.next(wall_ms(kSnowflakeNow)));
}

TEST(Snowflake, a_restart_goes_on_behind_what_was_used) {
  Snowflake before(1, wall_ms(0));
  const SnowflakeId last = before.next(wall_ms(kSnowflakeNow + 5000));
  Snowflake after(1, wall_ms(kSnowflakeNow + 5001));
  EXPECT_GT(after.next(wall_ms(kSnowflakeNow)), last) << "although the clock was set back";
}

TEST(Snowflake, a_clock_outside_the_layout_does_no_harm) {
  Snowflake ids(1, wall_ms(0));
  EXPECT_EQ(Snowflake::made_at(ids.next(wall_ms(-5))), wall_ms(1'704'067'200'000));
}

}  // namespace
}  // namespace bellwether::wire
