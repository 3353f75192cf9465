#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "cluster/wire/session.h"

namespace bellwether::wire {
namespace {

Busy through(Duration again_after, std::string_view why) {
  const std::string body = encode_busy(again_after, why);
  return decode_busy(as_bytes(body));
}

TEST(Busy, says_when_and_why) {
  const Busy busy = through(Duration::millis(1'500), "50 in 10 s");
  EXPECT_EQ(busy.again_after, Duration::millis(1'500));
  EXPECT_EQ(busy.why, "50 in 10 s");
}

TEST(Busy, nobody_comes_back_too_early_or_never) {
  EXPECT_EQ(through(Duration::micros(1), "").again_after, Duration::millis(1));
  EXPECT_EQ(through(Duration::zero(), "").again_after, Duration::zero());
  EXPECT_EQ(through(-Duration::seconds(1), "").again_after, Duration::zero());
  EXPECT_EQ(through(Duration::max(), "").again_after, kMaxAgainAfter);
}

TEST(Busy, an_answer_without_a_body_says_nothing) {
  EXPECT_EQ(decode_busy({}).again_after, Duration::zero());
  EXPECT_EQ(decode_busy(as_bytes("abc")).why, "");
}

TEST(Busy, what_a_terminal_would_obey_is_made_harmless) {
  EXPECT_THAT(through(Duration::zero(), "\x1b[2J").why, testing::Not(testing::HasSubstr("\x1b")));
}

RC_GTEST_PROP(Busy, any_bytes_are_within_the_limits, (const std::string& body)) {
  const Busy busy = decode_busy(as_bytes(body));
  RC_ASSERT(busy.again_after >= Duration::zero());
  RC_ASSERT(busy.again_after <= kMaxAgainAfter);
}

}  // namespace
}  // namespace bellwether::wire
