#include "cluster/vote/vetting.h"

#include <gmock/gmock.h>

#include "cluster/vote/vote_keys_testing.h"
#include "core/signature/attestation.h"

namespace bellwether::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const WallTime kNow{1'800'000'000'000'000'000};
const WallTime kEnd{kNow.unix_ns + 1000};
const vote::NodeId kNode{7};

std::string attestation(const std::string& node, const std::string& cluster = "flock/default", unsigned char key = 9) {
  return *signature::attest({cluster, node, {"admin_election", "project_manager"}, kEnd}, test_signing_key(key));
}
Vetting vetting(std::string own = attestation("a")) {
  return Vetting({test_signing_key(9).public_key(), "flock/default", std::move(own)}, "a");
}
vote::Claim claim(std::string with) {
  vote::Claim claim;
  claim.attestation = std::move(with);
  return claim;
}
std::string why(const std::string& with, WallTime now = kNow) {
  const vote::PeerVetted vetted = vetting().vet(kNode, "b", claim(with), true, now);
  EXPECT_TRUE(vetted.capabilities && vetted.capabilities->empty());
  return vetted.capabilities_why;
}

TEST(Vetting, what_the_operator_has_attested_counts) {
  const vote::PeerVetted vetted = vetting().vet(kNode, "b", claim(attestation("b")), true, kNow);
  EXPECT_EQ(vetted.node, kNode);
  EXPECT_THAT(*vetted.capabilities, ElementsAre("admin_election", "project_manager"));
  EXPECT_EQ(vetted.absent, "");
}

TEST(Vetting, what_is_replayed_expired_or_forged_does_not_count_and_the_reason_is_said) {
  EXPECT_THAT(why(""), HasSubstr("attested no capability of it"));
  EXPECT_THAT(why(attestation("c")), HasSubstr("for the node c"));
  EXPECT_THAT(why(attestation("b", "herd/default")), HasSubstr("for the cluster herd/default"));
  EXPECT_THAT(why(attestation("b", "flock/default", 8)), HasSubstr("not signed with the operator's key"));
  EXPECT_THAT(why(attestation("b"), WallTime{kEnd.unix_ns + 1}), HasSubstr("expired at"));
  EXPECT_THAT(why("something"), HasSubstr("this is not an attestation"));
}

TEST(Vetting, without_an_operators_key_everybody_may_say_what_it_can_do) {
  const Vetting open({}, "a");
  EXPECT_FALSE(open.vet(kNode, "b", claim("x"), true, kNow).capabilities);
  EXPECT_THAT(open.claimable({"x"}, kNow), ElementsAre("x"));
  EXPECT_EQ(open.own_trouble(kNow), "");
}

TEST(Vetting, a_node_claims_no_more_than_it_was_attested) {
  EXPECT_THAT(vetting().claimable({"project_manager", "context_curation"}, kNow), ElementsAre("project_manager"));
  EXPECT_EQ(vetting().own_trouble(kNow), "");
  const WallTime later{kEnd.unix_ns + 1};
  EXPECT_THAT(vetting().claimable({"project_manager"}, later), testing::IsEmpty());
  EXPECT_THAT(vetting().own_trouble(later), HasSubstr("expired at"));
  EXPECT_THAT(vetting("").own_trouble(kNow), HasSubstr("attested no capability of it"));
}

TEST(Vetting, whom_membership_does_not_hold_is_no_candidate) {
  const vote::PeerVetted vetted = vetting().vet(kNode, "b", claim(attestation("b")), false, kNow);
  EXPECT_THAT(vetted.absent, HasSubstr("membership does not report it as alive"));
}

}  // namespace
}  // namespace bellwether::cluster
