#include <gmock/gmock.h>
#include <limits>

#include "election/vote/score.h"

namespace bellwether::vote {
namespace {

using testing::HasSubstr;

const Instant kNow = Instant::from_ns(1'000'000'000'000'000);
constexpr double kDrift = 0.01;

Claim good() {
  Claim claim{{"admin_election", "project_manager"}, Duration::hours(3), Duration::hours(50), {0.2, 0.3, 0.4, 0.9}};
  claim.score = score_of(claim, {});
  return claim;
}

template <class Change>
std::string doubt(Change change, const KnownOfNode& known = {}) {
  Claim claim = good();
  change(claim);
  claim.score = score_of(claim, {});
  return doubt_about(claim, known, {}, kDrift, kNow).value_or(Doubt{}).why;
}

TEST(ClaimCheck, what_may_be_true_is_believed) {
  EXPECT_EQ(doubt([](Claim&) {}), "");
  KnownOfNode known;
  known.earlier_life_heard = kNow - Duration::hours(3);
  known.network_quality = 0.8;
  known.experience = Duration::hours(49);
  known.experience_at = kNow - Duration::hours(1);
  known.capabilities = {"admin_election", "context_curation", "project_manager"};
  EXPECT_EQ(doubt([](Claim&) {}, known), "");
}

// The clock of a node may be the fastest that there may be, and that of the voter the slowest.
TEST(ClaimCheck, clocks_that_run_apart_are_no_lie) {
  KnownOfNode known;
  known.experience = Duration::hours(49);
  known.experience_at = kNow - Duration::hours(100);
  const auto grown = [](double factor) {
    return [factor](Claim& c) { c.experience = Duration::hours(49) + Duration::from_seconds_f(360'000 * factor); };
  };
  EXPECT_EQ(doubt(grown(1.01 / 0.99), known), "");
  EXPECT_THAT(doubt(grown(1.01 / 0.99 + 0.001), known), HasSubstr("it claims a total uptime of"));
}

TEST(ClaimCheck, a_score_is_reckoned_again) {
  Claim claim = good();
  claim.score += 0.01;
  EXPECT_THAT(doubt_about(claim, {}, {}, kDrift, kNow).value_or(Doubt{}).why, HasSubstr("but its figures give"));
  // The check rejects an honest node with other weights in the same way.
  claim.score = score_of(claim, {.uptime = 0.2, .capability = 0.3});
  EXPECT_THAT(doubt_about(claim, {}, {}, kDrift, kNow).value_or(Doubt{}).why,
              HasSubstr("weights of the score must be the same"));
}

TEST(ClaimCheck, shares_lie_between_nothing_and_all) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double wrong : {-0.1, 1.1, nan}) {
    EXPECT_THAT(doubt([&](Claim& c) { c.resources.cpu_used = wrong; }), HasSubstr("outside 0 to 1"));
    EXPECT_THAT(doubt([&](Claim& c) { c.resources.memory_used = wrong; }), HasSubstr("outside 0 to 1"));
    EXPECT_THAT(doubt([&](Claim& c) { c.resources.disk_used = wrong; }), HasSubstr("outside 0 to 1"));
    EXPECT_THAT(doubt([&](Claim& c) { c.resources.network_quality = wrong; }), HasSubstr("outside 0 to 1"));
    EXPECT_THAT(doubt([&](Claim& c) { c.fitness = wrong; }), HasSubstr("outside 0 to 1"));
    Claim claim = good();
    claim.score = wrong;
    EXPECT_THAT(doubt_about(claim, {}, {}, kDrift, kNow).value_or(Doubt{}).why, HasSubstr("outside 0 to 1"));
  }
}

TEST(ClaimCheck, times_can_be) {
  EXPECT_THAT(doubt([](Claim& c) { c.uptime = Duration::nanos(-1); }), HasSubstr("an impossible time"));
  EXPECT_THAT(doubt([](Claim& c) { c.experience = Duration::nanos(-1); }), HasSubstr("an impossible time"));
  EXPECT_THAT(doubt([](Claim& c) { c.experience = Duration::max(); }), HasSubstr("an impossible time"));
  EXPECT_THAT(doubt([](Claim& c) { c.uptime = Duration::hours(51); }), HasSubstr("but a total uptime of only"));
}

TEST(ClaimCheck, nobody_is_up_for_longer_than_since_its_last_life_was_heard_of) {
  KnownOfNode known;
  known.earlier_life_heard = kNow - Duration::hours(2);
  EXPECT_THAT(doubt([](Claim&) {}, known), HasSubstr("but its earlier start was heard"));
}

TEST(ClaimCheck, experience_grows_no_faster_than_time) {
  KnownOfNode known;
  known.experience = Duration::hours(10);
  known.experience_at = kNow - Duration::hours(1);
  EXPECT_THAT(doubt([](Claim&) {}, known), HasSubstr("since its last claim at most"));
}

TEST(ClaimCheck, a_network_is_not_much_better_than_it_was_measured) {
  KnownOfNode known;
  known.network_quality = 0.6;
  EXPECT_THAT(doubt([](Claim&) {}, known), HasSubstr("this node measures 60 %"));
  known.network_quality = 0.7;
  EXPECT_EQ(doubt([](Claim&) {}, known), "");
}

// The partition between two of three has just healed: the link between them counts for half of the claim.
TEST(ClaimCheck, a_claim_is_the_mean_of_all_links_and_a_measurement_proves_no_lie) {
  KnownOfNode known;
  known.network_quality = 0.2;
  known.links = 2;
  const auto claims = [](double quality) { return [quality](Claim& c) { c.resources.network_quality = quality; }; };
  EXPECT_EQ(doubt(claims(0.72), known), "");
  EXPECT_THAT(doubt(claims(0.73), known), HasSubstr("this node measures 20 %, so at most 60 % is possible"));
  known.links = 9;
  EXPECT_THAT(doubt(claims(1), known), HasSubstr("this node measures 20 %, so at most 91 % is possible"));
  known.links = 2;
  Claim claim = good();
  claim.resources.network_quality = 0.86;
  claim.score = score_of(claim, {});
  EXPECT_FALSE(doubt_about(claim, known, {}, kDrift, kNow)->proven);
  claim.uptime = claim.experience + Duration::minutes(1);
  EXPECT_TRUE(doubt_about(claim, known, {}, kDrift, kNow)->proven);
}

TEST(ClaimCheck, an_attestation_is_no_longer_than_it_may_be) {
  EXPECT_EQ(doubt([](Claim& c) { c.attestation.assign(kMaxAttestationBytes, 'a'); }), "");
  EXPECT_EQ(doubt([](Claim& c) { c.attestation.assign(kMaxAttestationBytes + 1, 'a'); }),
            "an attestation that is too large");
}

TEST(ClaimCheck, capabilities_are_those_that_it_was_given) {
  KnownOfNode known;
  known.capabilities = {"admin_election"};
  EXPECT_THAT(doubt([](Claim&) {}, known),
              HasSubstr("the capability 'project_manager', which its settings do not give it"));
  EXPECT_THAT(doubt([](Claim& c) { c.capabilities.assign(kMaxCapabilities + 1, "a"); }), HasSubstr("too many"));
  EXPECT_EQ(doubt([](Claim& c) { c.capabilities.emplace_back(kMaxCapabilityBytes, 'a'); }), "");
  EXPECT_EQ(doubt([](Claim& c) { c.capabilities.emplace_back(kMaxCapabilityBytes + 1, 'a'); }),
            "a capability with a name of 65 bytes; expected 1 to 64");
  EXPECT_THAT(doubt([](Claim& c) { c.capabilities.emplace_back(); }), HasSubstr("a name of 0 bytes"));
}

}  // namespace
}  // namespace bellwether::vote
