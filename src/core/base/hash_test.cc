#include "core/base/hash.h"

#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace bellwether {
namespace {

// RFC 1321 A.5, FIPS 180-4 examples.
TEST(Hash, digests_are_those_of_the_standards) {
  EXPECT_EQ(hex(hash_of(HashKind::kMd5, "")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex(hash_of(HashKind::kMd5, "abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hex(hash_of(HashKind::kSha1, "abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex(hash_of(HashKind::kSha256, "abc")), sha256_hex("abc"));
  EXPECT_EQ(hex(hash_of(HashKind::kSha512, "abc")),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
}

// RFC 2202 and RFC 4231, test case 2; an empty key.
TEST(Hash, hmacs_are_those_of_the_standards) {
  constexpr std::string_view kText = "what do ya want for nothing?";
  EXPECT_EQ(hex(hmac_of(HashKind::kMd5, "Jefe", kText)), "750c783e6ab0b503eaa86e310a5db738");
  EXPECT_EQ(hex(hmac_of(HashKind::kSha1, "Jefe", kText)), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  EXPECT_EQ(hex(hmac_of(HashKind::kSha256, "Jefe", kText)),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_of(HashKind::kSha512, "Jefe", kText)),
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
            "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737");
  EXPECT_EQ(hex(hmac_of(HashKind::kSha256, "", "")),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(Hash, transforms_are_digests_codings_and_their_opposites) {
  EXPECT_EQ(transformed(Transform::kMd5, "abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(transformed(Transform::kSha1, "abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(transformed(Transform::kSha256, "abc"), sha256_hex("abc"));
  EXPECT_EQ(transformed(Transform::kSha512, "abc"), hex(hash_of(HashKind::kSha512, "abc")));
  EXPECT_EQ(transformed(Transform::kBase64, "\xfb\xff!"), "+/8h");
  EXPECT_EQ(transformed(Transform::kBase64Url, "\xfb\xff"), "-_8");
  EXPECT_EQ(transformed(Transform::kBase64Decode, "-_8"), "\xfb\xff");
  EXPECT_EQ(transformed(Transform::kBase64Decode, "+/8="), "\xfb\xff");
  EXPECT_EQ(transformed(Transform::kHex, "\x01\xab"), "01ab");
  EXPECT_EQ(transformed(Transform::kHexDecode, "01Ab"), "\x01\xab");
  EXPECT_EQ(transformed(Transform::kHexDecode, "01a"), std::nullopt);
  EXPECT_EQ(transformed(Transform::kHexDecode, "0x"), std::nullopt);
  EXPECT_EQ(transformed(Transform::kUrl, "a b/ä"), "a%20b%2F%C3%A4");
}

}  // namespace
}  // namespace bellwether
