#include "election/vote/vote_timing.h"

#include <gmock/gmock.h>

namespace bellwether::vote {
namespace {

using testing::HasSubstr;

template <class Change>
std::string vote_timing_refusal(Change change) {
  VoteTiming timing;
  change(timing);
  const Status status = timing.validate();
  return status ? "" : status.error().message;
}

TEST(VoteTiming, both_profiles_can_be) {
  EXPECT_TRUE(VoteTiming::standard().validate());
  EXPECT_TRUE(VoteTiming::lan().validate());
}

TEST(VoteTiming, windows_follow_from_the_other_times) {
  VoteTiming timing;
  timing.set_windows();
  EXPECT_EQ(timing.election_min_term, Duration::seconds(20));
  EXPECT_EQ(timing.leader_min_term, Duration::seconds(45));
  EXPECT_EQ(timing.heartbeat(), Duration::millis(7500));
  EXPECT_EQ(VoteTiming::lan().leader_min_term, Duration::seconds(3));
}

TEST(VoteTiming, what_cannot_be_is_refused_with_the_sum) {
  EXPECT_EQ(vote_timing_refusal([](VoteTiming&) {}), "");
  EXPECT_THAT(vote_timing_refusal([](VoteTiming& t) { t.discovery = Duration::zero(); }), HasSubstr("longer than 0"));
  EXPECT_THAT(vote_timing_refusal([](VoteTiming& t) { t.stop_grace = Duration::nanos(-1); }),
              HasSubstr("longer than 0"));
  EXPECT_THAT(vote_timing_refusal([](VoteTiming& t) { t.drift = 0.3; }), HasSubstr("it must be from 0 to 0.2"));
  EXPECT_THAT(vote_timing_refusal([](VoteTiming& t) { t.heartbeat_timeout = Duration::minutes(11); }),
              HasSubstr("10m"));
  EXPECT_THAT(vote_timing_refusal([](VoteTiming& t) { t.stop_grace = Duration::seconds(5); }),
              HasSubstr("(7.50s + 3s + 5s) do not fit into heartbeat_timeout on the slowest clock (14.8s)"));
  EXPECT_THAT(vote_timing_refusal([](VoteTiming& t) { t.gather = Duration::seconds(11); }),
              HasSubstr("it must be at least three times"));
}

// What users are promised: 15 s and the time until the outcome is certain; two seconds on one site.
TEST(VoteTiming, budgets) {
  EXPECT_EQ(budget_of(VoteTiming::standard(), {}).crash_worst.total, Duration::millis(15'150 + 2'000 + 24));
  EXPECT_LT(budget_of(VoteTiming::lan(), {}).crash_worst.total, Duration::seconds(2));
  EXPECT_EQ(budget_of(VoteTiming::lan(), {}).crash_worst.total, Duration::millis(1'010 + 200 + 24));
  EXPECT_EQ(budget_of(VoteTiming::lan(), {}).cut_off_stops.total, Duration::millis(990));
}

}  // namespace
}  // namespace bellwether::vote
