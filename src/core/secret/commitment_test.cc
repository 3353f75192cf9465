#include "core/secret/commitment.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "core/secret/secret_testing.h"

namespace bellwether::secret {
namespace {

Error refusal(const Commitment& commitment, const KeyShare& share) {
  const Status good = commitment.check(share);
  return good ? Error{Errc::kOk, ""} : good.error();
}

struct CommitmentTest : testing::Test {
  Splitting three = split_text("key", {2, 3});
  KeyShare share = copy_of(three.shares[1]);
};

TEST_F(CommitmentTest, each_key_share_of_its_splitting_is_good) {
  for (const KeyShare& one : three.shares) EXPECT_TRUE(three.commitment.check(one));
}

TEST_F(CommitmentTest, one_of_another_secret_is_refused_by_name) {
  share.secret = SecretId(8);
  EXPECT_EQ(refusal(three.commitment, share).message, "key share 2 belongs to secret 8, not to secret 7");
  EXPECT_EQ(refusal(three.commitment, share).code, Errc::kRefused);
}

TEST_F(CommitmentTest, one_of_another_splitting_is_refused_by_name) {
  const Splitting again = split_text("key", {2, 3}, 2);
  EXPECT_EQ(refusal(three.commitment, again.shares[2]).message,
            "key share 3 belongs to another split of secret 7: give its node the key share of this split");
  EXPECT_EQ(refusal(three.commitment, again.shares[2]).code, Errc::kRefused);
}

TEST_F(CommitmentTest, one_that_only_says_that_it_is_of_this_splitting_is_refused_by_name) {
  KeyShare again = std::move(split_text("key", {2, 3}, 2).shares[2]);
  again.salt = three.commitment.head().salt;
  EXPECT_EQ(refusal(three.commitment, again).message, "key share 3 does not match its commitment: it was changed");
  EXPECT_EQ(refusal(three.commitment, again).code, Errc::kInvalid);
}

TEST_F(CommitmentTest, one_with_the_index_of_another_one_is_told_apart_from_one_that_was_changed) {
  share.index = 3;
  EXPECT_EQ(refusal(three.commitment, share).message, "key share 3 has a wrong index: it is key share 2");
}

TEST_F(CommitmentTest, an_index_that_there_is_not_is_refused) {
  share.index = 0;
  EXPECT_EQ(refusal(three.commitment, share).message, "key share 0 does not exist; the key shares are 1 to 3");
  share.index = 4;
  EXPECT_EQ(refusal(three.commitment, share).message, "key share 4 does not exist; the key shares are 1 to 3");
}

TEST_F(CommitmentTest, a_value_of_another_size_is_refused) {
  share.value = SecretBytes(34);
  EXPECT_EQ(refusal(three.commitment, share).message, "key share 2 has 34 bytes; expected 35");
  share.value = SecretBytes();
  EXPECT_EQ(refusal(three.commitment, share).code, Errc::kInvalid);
}

// Computed anew from what the header says, with the library's function for whole texts.
TEST_F(CommitmentTest, digests_are_of_context_head_index_and_value) {
  const auto sha256 = [](const std::string& text) {
    Digest out;
    EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(out.data()), nullptr, EVP_sha256(), nullptr);
    return out;
  };
  std::string head("\0\0\0\0\0\0\0\7", 8);
  head += as_text(three.commitment.head().salt);
  head += std::string("\2\3\0\3", 4);
  EXPECT_EQ(three.commitment.digests_of_shares()[1],
            sha256("bellwether key share 1\n" + head + '\2' + std::string(as_text(share.value.bytes()))));
  const Splitting whole = split_text("key", {1, 1});
  head.replace(8, 18, std::string(as_text(whole.commitment.head().salt)) + "\1\1");
  EXPECT_EQ(whole.commitment.digest_of_secret(),
            sha256("bellwether key secret 1\n" + head + std::string(as_text(whole.shares[0].value.bytes()))));
}

TEST_F(CommitmentTest, each_digest_depends_on_all_of_the_head) {
  const SplitHead head = three.commitment.head();
  std::vector<SplitHead> others(5, head);
  others[0].secret = SecretId(8);
  others[1].salt[15] ^= std::byte{1};
  others[2].rule.threshold = 3;
  others[3].rule.shares = 4;
  others[4].secret_bytes = 4;
  for (const SplitHead& other : others) {
    EXPECT_NE(digest_of_share(other, 2, share.value.bytes()), three.commitment.digests_of_shares()[1]);
    EXPECT_NE(digest_of_secret(other, share.value.bytes()), digest_of_secret(head, share.value.bytes()));
  }
}

// A person who knows the secret still does not know its digest, so trying secrets out is impossible.
TEST_F(CommitmentTest, the_digest_of_the_secret_is_not_that_of_the_secret_alone) {
  EXPECT_FALSE(three.commitment.is_secret(as_bytes("key")));
  EXPECT_FALSE(three.commitment.is_secret(as_bytes("key" + std::string(kBlindBytes, '\0'))));
}

TEST_F(CommitmentTest, what_cannot_be_is_not_made) {
  const Digest of_secret = three.commitment.digest_of_secret();
  const auto made = Commitment::make(three.commitment.head(), of_secret, std::vector<Digest>(2));
  EXPECT_EQ(made.error().message, "a commitment must have a digest for each of its 3 key shares; this one has 2");
  SplitHead head = three.commitment.head();
  head.rule.threshold = 4;
  EXPECT_EQ(Commitment::make(head, of_secret, std::vector<Digest>(3)).error().code, Errc::kInvalid);
  head = three.commitment.head();
  head.secret_bytes = kMaxSecretBytes + 1;
  EXPECT_EQ(Commitment::make(head, of_secret, std::vector<Digest>(3)).error().code, Errc::kTooLarge);
}

}  // namespace
}  // namespace bellwether::secret
