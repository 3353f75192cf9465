#include "core/signature/attestation.h"

#include <gmock/gmock.h>

#include "core/base/units.h"
#include "core/signature/signature_testing.h"

namespace bellwether::signature {
namespace {

using testing::HasSubstr;

const SigningKey& key() {
  static const SigningKey kept = std::move(*SigningKey::read(kTestKey, "test"));
  return kept;
}
WallTime at(std::string_view text) { return *parse_wall(text); }
Attestation of_m1() {
  return {"flock/default", "m1", {"admin_election", "project_manager"}, at("2027-01-01T00:00:00Z")};
}

TEST(Attestation, says_what_was_signed) {
  const auto text = attest(of_m1(), key());
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, testing::StartsWith("bellwether attestation 1\ncluster flock/default\nnode m1\n"
                                         "capability admin_election\ncapability project_manager\n"
                                         "not after 2027-01-01T00:00:00.000Z\nsignature "));
  const auto opened = open_attestation(*text, key().public_key());
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->capabilities, of_m1().capabilities);
  EXPECT_EQ(opened->not_after, of_m1().not_after);
}

TEST(Attestation, counts_for_its_node_of_its_cluster_until_its_end) {
  const WallTime then = at("2026-12-31T00:00:00Z");
  EXPECT_FALSE(why_not(of_m1(), "flock/default", "m1", then));
  EXPECT_THAT(*why_not(of_m1(), "flock/default", "m2", then), HasSubstr("for the node m1"));
  EXPECT_THAT(*why_not(of_m1(), "herd/default", "m1", then), HasSubstr("for the cluster flock/default"));
  EXPECT_FALSE(why_not(of_m1(), "flock/default", "m1", of_m1().not_after));
  EXPECT_THAT(*why_not(of_m1(), "flock/default", "m1", at("2027-01-01T00:00:00.001Z")), HasSubstr("expired at 2027"));
}

TEST(Attestation, of_another_key_or_changed_anywhere_does_not_count) {
  const std::string text = *attest(of_m1(), key());
  const SigningKey other = std::move(*SigningKey::read(kOtherKey, "test"));
  EXPECT_EQ(open_attestation(text, other.public_key()).error().code, Errc::kRefused);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(open_attestation(changed, key().public_key())) << i;
  }
  EXPECT_FALSE(open_attestation(text + "\n", key().public_key()));
  EXPECT_FALSE(open_attestation(text.substr(0, text.size() - 1), key().public_key()));
  EXPECT_FALSE(open_attestation("", key().public_key()));
  EXPECT_EQ(open_attestation(std::string(5000, 'x'), key().public_key()).error().code, Errc::kTooLarge);
}

TEST(Attestation, of_what_cannot_be_is_not_signed) {
  const auto without = [](auto change) {
    Attestation what = of_m1();
    change(what);
    return attest(what, key()).has_value();
  };
  EXPECT_FALSE(without([](Attestation& what) { what.capabilities.clear(); }));
  EXPECT_FALSE(without([](Attestation& what) { what.capabilities.assign(33, "a"); }));
  EXPECT_FALSE(without([](Attestation& what) { what.capabilities = {"a\ncapability b"}; }));
  EXPECT_FALSE(without([](Attestation& what) { what.capabilities = {std::string(65, 'a')}; }));
  EXPECT_FALSE(without([](Attestation& what) { what.node = ""; }));
  EXPECT_FALSE(without([](Attestation& what) { what.cluster = "a b"; }));
}

}  // namespace
}  // namespace bellwether::signature
