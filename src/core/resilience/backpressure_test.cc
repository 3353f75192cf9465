#include "core/resilience/backpressure.h"

#include <gmock/gmock.h>

#include "core/base/time_testing.h"

namespace bellwether::resilience {
namespace {

TEST(Backpressure, the_level_goes_by_the_fill_of_a_buffer) {
  EXPECT_EQ(backpressure_of(0, 100), Backpressure::kNone);
  EXPECT_EQ(backpressure_of(69, 100), Backpressure::kNone);
  EXPECT_EQ(backpressure_of(70, 100), Backpressure::kThrottle);
  EXPECT_EQ(backpressure_of(85, 100), Backpressure::kBatch);
  EXPECT_EQ(backpressure_of(94, 100), Backpressure::kBatch);
  EXPECT_EQ(backpressure_of(95, 100), Backpressure::kReject);
  EXPECT_EQ(backpressure_of(500, 100), Backpressure::kReject);
}

TEST(Pacer, each_level_holds_back_more_but_never_what_is_needed) {
  using Kind = Pacer::Kind;
  struct Row {
    Backpressure level;
    bool single, batch;
    int64_t interval_ms;
  };
  for (const Row& row : {Row{Backpressure::kNone, true, true, 50}, Row{Backpressure::kThrottle, true, true, 150},
                         Row{Backpressure::kBatch, false, true, 550}, Row{Backpressure::kReject, false, false, 550}}) {
    Pacer pacer;
    pacer.heard(at_ms(0), row.level);
    EXPECT_EQ(pacer.may_send(at_ms(1), Kind::kSingle), row.single) << to_string(row.level);
    EXPECT_EQ(pacer.may_send(at_ms(1), Kind::kBatch), row.batch) << to_string(row.level);
    EXPECT_TRUE(pacer.may_send(at_ms(1), Kind::kNeeded)) << to_string(row.level);
    EXPECT_EQ(pacer.interval(at_ms(1), Duration::millis(50)), Duration::millis(row.interval_ms));
  }
}

TEST(Pacer, who_hears_nothing_more_tries_again) {
  Pacer pacer;
  pacer.heard(at_ms(0), Backpressure::kReject);
  EXPECT_FALSE(pacer.may_send(at_ms(4'999), Pacer::Kind::kSingle));
  EXPECT_TRUE(pacer.may_send(at_ms(5'000), Pacer::Kind::kSingle));
  pacer.heard(at_ms(5'001), Backpressure::kReject);
  EXPECT_FALSE(pacer.may_send(at_ms(5'002), Pacer::Kind::kSingle));
  pacer.heard(at_ms(5'003), Backpressure::kNone);
  EXPECT_TRUE(pacer.may_send(at_ms(5'004), Pacer::Kind::kSingle));
}

}  // namespace
}  // namespace bellwether::resilience
