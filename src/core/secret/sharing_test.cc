#include "core/secret/sharing.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "core/secret/secret_testing.h"

namespace bellwether::secret {
namespace {

using testing::HasSubstr;

constexpr std::string_view kKey = "the key of an admin";

std::string refusal(std::size_t bytes, SplitRule rule) {
  const auto split_up = split(SecretId(1), SecretBytes(bytes), rule, seeded(1));
  return split_up ? "" : split_up.error().message;
}

TEST(Sharing, any_threshold_of_the_key_shares_gives_the_secret) {
  const Splitting five = split_text(kKey, {3, 5});
  for (std::size_t a = 1; a <= 5; ++a) {
    for (std::size_t b = 1; b <= 5; ++b) {
      for (std::size_t c = 1; c <= 5; ++c) {
        if (a == b || b == c || a == c) continue;
        EXPECT_EQ(text_of(combine(five.commitment, pick(five, {a, b, c}))), kKey) << a << b << c;
      }
    }
  }
  EXPECT_EQ(text_of(combine(five.commitment, five.shares)), kKey) << "more are no harm";
}

RC_GTEST_PROP(Sharing, any_secret_comes_back_from_any_choice_of_key_shares, ()) {
  const auto shares = *rc::gen::inRange<std::size_t>(1, kMaxKeyShares + 1);
  const auto threshold = *rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(shares, 20) + 1);
  const auto text = *rc::gen::nonEmpty(rc::gen::string<std::string>());
  Prng prng(*rc::gen::arbitrary<uint64_t>());
  Splitting all = split_text(text, {threshold, shares}, prng.next());
  for (std::size_t i = all.shares.size(); i > 1; --i) std::swap(all.shares[i - 1], all.shares[prng.below(i)]);
  RC_ASSERT(text_of(combine(all.commitment, std::span(all.shares).first(threshold))) == text);
}

RC_GTEST_PROP(Sharing, one_changed_bit_of_any_key_share_is_found, ()) {
  const Splitting five = split_text(kKey, {3, 5}, *rc::gen::arbitrary<uint64_t>());
  std::vector<KeyShare> three = pick(five, {5, 2, 4});
  const auto at = *rc::gen::inRange<std::size_t>(0, 3);
  const auto bit = *rc::gen::inRange<std::size_t>(0, 8 * three[at].value.size());
  three[at].value.bytes()[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
  const auto secret = combine(five.commitment, three);
  RC_ASSERT(!secret.has_value());
  RC_ASSERT(secret.error().message ==
            "key share " + std::to_string(three[at].index) + " does not match its commitment: it was changed");
}

TEST(Sharing, the_largest_secret_and_the_most_key_shares_are_split) {
  const std::string large(kMaxSecretBytes, 'k');
  const Splitting two = split_text(large, {2, 2});
  EXPECT_EQ(text_of(combine(two.commitment, two.shares)), large);
  const Splitting many = split_text("k", {kMaxKeyShares, kMaxKeyShares});
  EXPECT_EQ(many.shares.back().index, 255);
  EXPECT_EQ(text_of(combine(many.commitment, many.shares)), "k");
}

TEST(Sharing, what_cannot_be_split_is_refused_with_what_can) {
  EXPECT_THAT(refusal(0, {1, 1}), HasSubstr("at least one byte"));
  EXPECT_THAT(refusal(kMaxSecretBytes + 1, {1, 1}), HasSubstr("at most 4096 bytes; this one has 4097"));
  EXPECT_THAT(refusal(1, {0, 3}), HasSubstr("between 1 and its number of key shares, 3; it is 0"));
  EXPECT_THAT(refusal(1, {4, 3}), HasSubstr("between 1 and its number of key shares, 3; it is 4"));
  EXPECT_THAT(refusal(1, {0, 0}), HasSubstr("key share, not 0"));
  EXPECT_THAT(refusal(1, {2, 256}), HasSubstr("at most 255 key shares, not 256"));
  EXPECT_EQ(refusal(1, {255, 255}), "");
}

TEST(Sharing, too_few_or_the_same_one_twice_give_nothing) {
  const Splitting five = split_text(kKey, {3, 5});
  EXPECT_EQ(text_of(combine(five.commitment, pick(five, {1, 2}))), "error: 2 key shares; restoring the secret needs 3");
  EXPECT_EQ(text_of(combine(five.commitment, pick(five, {1, 2, 1}))), "error: key share 1 was given twice");
}

TEST(Sharing, without_randomness_nothing_is_split) {
  const SecretBytes secret = secret_of(kKey);
  const auto none = [](MutableBytes) { return Status(fail(Errc::kIo, "the system's source of randomness failed")); };
  EXPECT_EQ(split(SecretId(1), secret, {2, 3}, none).error().message, "the system's source of randomness failed");
  const auto lies = [](MutableBytes) { return Status(); };
  EXPECT_THAT(split(SecretId(1), secret, {2, 3}, lies).error().message, HasSubstr("returned only zeros"));
  const auto stops = [](MutableBytes into) { return seeded(1)(into.first(into.size() - 16)); };
  EXPECT_THAT(split(SecretId(1), secret, {2, 3}, stops).error().message, HasSubstr("returned only zeros"));
  const auto starts_late = [](MutableBytes into) { return seeded(1)(into.subspan(16)); };
  EXPECT_EQ(split(SecretId(1), secret, {2, 3}, starts_late).error().code, Errc::kIo);
}

// One byte, two key shares, threshold 2, and all randomness for that byte: each value of a key share comes with each of
// the 256 secrets exactly once, so the holder of one of the two knows nothing.
TEST(Sharing, a_single_key_share_is_consistent_with_every_secret) {
  std::array<std::array<int, 256>, 256> times{};  // [value of key share 2][secret]
  for (unsigned secret = 0; secret < 256; ++secret) {
    const auto byte = static_cast<std::byte>(secret);
    for (unsigned drawn = 0; drawn < 256; ++drawn) {
      const auto fill = [&](MutableBytes into) {
        std::fill(into.begin(), into.end(), static_cast<std::byte>(drawn));
        into.front() = into.back() = std::byte{1};  // of the salt, and of the blind: not all zeros
        return Status();
      };
      const auto two = split(SecretId(1), SecretBytes::copy_of(Bytes(&byte, 1)), {2, 2}, fill);
      ASSERT_TRUE(two.has_value());
      ++times[std::to_integer<unsigned>(two->shares[1].value.bytes()[0])][secret];
    }
  }
  for (const auto& secrets : times) {
    ASSERT_TRUE(std::all_of(secrets.begin(), secrets.end(), [](int n) { return n == 1; }));
  }
}

TEST(Sharing, with_threshold_1_each_key_share_is_the_secret) {
  const Splitting copies = split_text(kKey, {1, 3});
  for (const KeyShare& share : copies.shares) EXPECT_EQ(as_text(share.value.bytes().first(kKey.size())), kKey);
}

TEST(Sharing, each_splitting_has_its_own_salt_and_blind) {
  const Splitting one = split_text("k", {1, 1}, 1);
  const Splitting other = split_text("k", {1, 1}, 2);
  EXPECT_NE(one.commitment.head().salt, other.commitment.head().salt);
  EXPECT_NE(as_text(one.shares[0].value.bytes().last(kBlindBytes)),
            as_text(other.shares[0].value.bytes().last(kBlindBytes)));
}

TEST(Sharing, a_commitment_that_contradicts_itself_gives_no_secret) {
  const Splitting three = split_text(kKey, {2, 3});
  Digest wrong = three.commitment.digest_of_secret();
  wrong[0] ^= std::byte{1};
  const auto commitment =
      Commitment::make(three.commitment.head(), wrong, three.commitment.digests_of_shares()).value();
  EXPECT_THAT(text_of(combine(commitment, three.shares)), HasSubstr("the commitment is wrong"));
}

}  // namespace
}  // namespace bellwether::secret
