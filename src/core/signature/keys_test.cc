#include "core/signature/keys.h"

#include <gmock/gmock.h>

#include "core/signature/signature_testing.h"

namespace bellwether::signature {
namespace {

using testing::HasSubstr;

// An unexpected error fails the test instead of ending it.
std::string why_not_signing(std::string_view pem) {
  const auto key = SigningKey::read(pem, "a.key");
  return key ? "it was read" : key.error().message;
}
std::string why_not_public(std::string_view pem) {
  const auto keys = read_public_keys(pem, "a.pub");
  return keys ? "they were read" : keys.error().message;
}

TEST(Keys, a_private_key_and_its_public_one_as_openssl_writes_them_are_one_pair) {
  const auto key = SigningKey::read(kTestKey, "a.key");
  const auto keys = read_public_keys(kTestPublicKey, "a.pub");
  ASSERT_TRUE(key && keys);
  ASSERT_EQ(keys->size(), 1u);
  EXPECT_EQ(keys->front(), key->public_key());
  EXPECT_TRUE(verify(keys->front(), "text", key->sign("text")));
  EXPECT_FALSE(verify(keys->front(), "texT", key->sign("text")));
  EXPECT_FALSE(verify(read_public_keys(kOtherPublicKey, "b.pub")->front(), "text", key->sign("text")));
}

TEST(Keys, a_signature_is_that_of_rfc_8032) {
  // Section 7.1, test 2, whose secret key stands here in PEM.
  const auto key = SigningKey::read(
      "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
      "-----END PRIVATE KEY-----\n",
      "rfc.key");
  ASSERT_TRUE(key);
  const auto signature = key->sign("\x72");
  EXPECT_EQ(signature[0], 0x92);
  EXPECT_EQ(signature[1], 0xa0);
  EXPECT_EQ(signature[62], 0x0c);
  EXPECT_EQ(signature[63], 0x00);
}

TEST(Keys, the_name_of_a_key_is_what_openssl_and_sha256sum_print) {
  EXPECT_EQ(name_of(read_public_keys(kTestPublicKey, "a.pub")->front()), "a1e9156054e04fac");
}

TEST(Keys, a_file_may_have_several) {
  const auto keys = read_public_keys(std::string(kTestPublicKey) + "of somebody\n" + std::string(kOtherPublicKey), "x");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->size(), 2u);
}

TEST(Keys, what_is_no_public_key_is_refused_with_the_reason) {
  EXPECT_THAT(why_not_public(""), HasSubstr("'a.pub' has no public key in PEM"));
  EXPECT_THAT(why_not_public("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
              HasSubstr("has no public key"));
  EXPECT_THAT(why_not_public(kEcPublicKey), HasSubstr("not Ed25519"));
  EXPECT_THAT(why_not_public(kTestKey), HasSubstr("has a private key"));
  EXPECT_THAT(why_not_public(std::string(kTestPublicKey) + std::string(kOtherKey)), HasSubstr("has a private key"));
  EXPECT_THAT(why_not_public(std::string(kMaxKeyFileBytes + 1, 'x')), HasSubstr("too large"));
  std::string many;
  for (std::size_t i = 0; i <= kMaxKeys; ++i) many += kTestPublicKey;
  EXPECT_THAT(why_not_public(many), HasSubstr("more than 256 keys"));
}

TEST(Keys, what_cannot_sign_is_refused_with_the_reason) {
  EXPECT_THAT(why_not_signing(""), HasSubstr("openssl genpkey -algorithm ed25519"));
  EXPECT_THAT(why_not_signing(kTestPublicKey), HasSubstr("no private key"));
  EXPECT_THAT(why_not_signing(kEcKey), HasSubstr("not Ed25519"));
  EXPECT_THAT(why_not_signing(kKeyWithPassword), HasSubstr("has a password"));
}

}  // namespace
}  // namespace bellwether::signature
