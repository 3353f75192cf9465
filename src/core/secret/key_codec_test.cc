#include "core/secret/key_codec.h"

#include <gmock/gmock.h>

#include "core/secret/secret_testing.h"

namespace bellwether::secret {
namespace {

using testing::HasSubstr;

// Where the fields stand.
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kIdAt = 5;
constexpr std::size_t kSaltAt = 13;
constexpr std::size_t kIndexAt = 29;
constexpr std::size_t kValueSizeAt = 30;
constexpr std::size_t kThresholdAt = 29;
constexpr std::size_t kSharesAt = 30;
constexpr std::size_t kSecretSizeAt = 31;
constexpr std::size_t kDigestAt = 33;

std::string refused_share(std::string_view bytes) {
  const auto share = decode_key_share(as_bytes(bytes));
  return share ? "" : share.error().message;
}
std::string refused_commitment(std::string_view bytes) {
  const auto commitment = decode_commitment(as_bytes(bytes));
  return commitment ? "" : commitment.error().message;
}

struct KeyCodec : testing::Test {
  Splitting three = split_text("key", {2, 3}, 1, SecretId(0x0102030405060708));
  std::string share{as_text(encode(three.shares[1]).bytes())};
  std::string commitment = encode(three.commitment);
  static std::string with(std::string bytes, std::size_t at, std::string_view value) {
    return bytes.replace(at, value.size(), value);
  }
};

TEST_F(KeyCodec, a_key_share_survives_in_the_bytes_that_the_header_tells) {
  const KeyShare& one = three.shares[1];
  EXPECT_EQ(share, "bwks\x01\x01\x02\x03\x04\x05\x06\x07\x08" + std::string(as_text(one.salt)) +
                       std::string("\x02\x00\x23", 3) + std::string(as_text(one.value.bytes())));
  const auto again = decode_key_share(as_bytes(share));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->secret, one.secret);
  EXPECT_EQ(again->salt, one.salt);
  EXPECT_EQ(again->index, 2);
  EXPECT_EQ(as_text(again->value.bytes()), as_text(one.value.bytes()));
  EXPECT_TRUE(three.commitment.check(*again));
}

TEST_F(KeyCodec, a_commitment_survives_in_the_bytes_that_the_header_tells) {
  std::string expected = "bwkc\x01\x01\x02\x03\x04\x05\x06\x07\x08" + std::string(as_text(three.shares[0].salt)) +
                         std::string("\x02\x03\x00\x03", 4) + std::string(as_text(three.commitment.digest_of_secret()));
  for (const Digest& digest : three.commitment.digests_of_shares()) expected += as_text(digest);
  EXPECT_EQ(commitment, expected);
  const auto again = decode_commitment(as_bytes(commitment));
  ASSERT_TRUE(again);
  EXPECT_EQ(encode(*again), commitment);
  EXPECT_EQ(text_of(combine(*again, three.shares)), "key");
}

TEST_F(KeyCodec, the_largest_ones_fit_their_limits) {
  const std::string large(kMaxSecretBytes, 's');
  const Splitting one = split_text(large, {1, kMaxKeyShares});
  const SecretBytes bytes = encode(one.shares[254]);
  EXPECT_EQ(bytes.size(), kMaxKeyShareBytes);
  EXPECT_TRUE(decode_key_share(bytes.bytes()));
  EXPECT_EQ(encode(one.commitment).size(), kMaxCommitmentBytes);
  EXPECT_TRUE(decode_commitment(as_bytes(encode(one.commitment))));
  const std::string too_large(kMaxCommitmentBytes, '\1');
  EXPECT_EQ(decode_key_share(as_bytes("bwks" + too_large)).error().code, Errc::kTooLarge);
  EXPECT_EQ(decode_commitment(as_bytes("bwkc" + too_large)).error().code, Errc::kTooLarge);
}

TEST_F(KeyCodec, a_future_version_is_refused_with_what_to_do) {
  EXPECT_EQ(refused_share(with(share, kVersionAt, "\x02")),
            "a key share of version 2, but this program knows version 1: update this program first");
  EXPECT_EQ(refused_commitment(with(commitment, kVersionAt, "\xff")),
            "a commitment of version 255, but this program knows version 1: update this program first");
  EXPECT_EQ(decode_key_share(as_bytes("bwks\x02")).error().code, Errc::kUnsupported) << "however short";
  EXPECT_EQ(decode_key_share(as_bytes("bwks\x02" + std::string(10000, 'x'))).error().code, Errc::kUnsupported);
  EXPECT_EQ(decode_commitment(as_bytes("bwkc\x02")).error().code, Errc::kUnsupported);
}

TEST_F(KeyCodec, a_version_that_there_never_was_is_refused) {
  EXPECT_THAT(refused_share(with(share, kVersionAt, std::string_view("\0", 1))), HasSubstr("version 0"));
  EXPECT_THAT(refused_commitment(with(commitment, kVersionAt, std::string_view("\0", 1))), HasSubstr("version 0"));
}

TEST_F(KeyCodec, other_bytes_are_refused_and_not_repeated) {
  EXPECT_EQ(refused_share("a text"), "these 6 bytes are not a key share, which begins with 'bwks'");
  EXPECT_EQ(refused_commitment("a text"), "these 6 bytes are not a commitment, which begins with 'bwkc'");
  EXPECT_EQ(refused_share(""), "these 0 bytes are not a key share, which begins with 'bwks'");
  EXPECT_EQ(refused_commitment("bwkc"), "these 4 bytes are not a commitment, which begins with 'bwkc'");
  EXPECT_EQ(refused_share(commitment), "these 161 bytes are a commitment, not a key share");
  EXPECT_EQ(refused_commitment(share), "these 67 bytes are a key share, not a commitment");
}

TEST_F(KeyCodec, what_is_cut_short_or_too_long_is_refused_wherever_that_is) {
  for (std::size_t size = 0; size < share.size(); ++size) EXPECT_NE(refused_share(share.substr(0, size)), "") << size;
  for (std::size_t size = 0; size < commitment.size(); ++size) {
    EXPECT_NE(refused_commitment(commitment.substr(0, size)), "") << size;
  }
  EXPECT_THAT(refused_share(share.substr(0, 66)),
              HasSubstr("of 66 bytes is truncated; expected 67 bytes: copy its file again"));
  EXPECT_THAT(refused_share(share + "x"), HasSubstr("of 68 bytes is too long; expected 67"));
  EXPECT_THAT(refused_commitment(commitment.substr(0, 160)), HasSubstr("of 160 bytes is truncated; expected 161"));
  EXPECT_THAT(refused_commitment(commitment + "x"), HasSubstr("of 162 bytes is too long; expected 161"));
}

TEST_F(KeyCodec, each_field_of_a_key_share_is_within_its_bounds_or_refused) {
  EXPECT_THAT(refused_share(with(share, kIndexAt, std::string_view("\0", 1))),
              HasSubstr("the index 0; expected 1 to 255"));
  EXPECT_THAT(refused_share(with(share, kValueSizeAt, std::string_view("\x00\x20", 2))),
              HasSubstr("has 32 bytes; expected 33 to 4128"));
  EXPECT_THAT(refused_share(with(share, kValueSizeAt, "\x10\x21")), HasSubstr("has 4129 bytes; expected 33 to 4128"));
  EXPECT_THAT(refused_share(with(share, kValueSizeAt, std::string_view("\x00\x22", 2))), HasSubstr("is too long"));
}

TEST_F(KeyCodec, each_field_of_a_commitment_is_within_its_bounds_or_refused) {
  EXPECT_THAT(refused_commitment(with(commitment, kThresholdAt, std::string_view("\0", 1))),
              HasSubstr("an impossible commitment: the threshold"));
  EXPECT_THAT(refused_commitment(with(commitment, kThresholdAt, "\x04")), HasSubstr("key shares, 3; it is 4"));
  EXPECT_THAT(refused_commitment(with(commitment, kSharesAt, "\x04")), HasSubstr("truncated"));
  EXPECT_THAT(refused_commitment(with(commitment.substr(0, 65), kSharesAt, std::string_view("\0", 1))),
              HasSubstr("key share, not 0"));
  EXPECT_THAT(refused_commitment(with(commitment, kSecretSizeAt, std::string_view("\0\0", 2))),
              HasSubstr("at least one byte"));
  EXPECT_THAT(refused_commitment(with(commitment, kSecretSizeAt, "\x10\x01")), HasSubstr("this one has 4097"));
}

TEST_F(KeyCodec, every_bit_of_a_key_share_counts) {
  for (std::size_t bit = 0; bit < 8 * share.size(); ++bit) {
    std::string flipped = share;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto decoded = decode_key_share(as_bytes(flipped));
    EXPECT_FALSE(decoded && three.commitment.check(*decoded)) << bit;
  }
}

TEST_F(KeyCodec, a_changed_id_salt_or_digest_makes_another_commitment_which_knows_no_key_share_of_this_one) {
  for (const std::size_t at : {kIdAt + 1, kSaltAt, kThresholdAt, kSecretSizeAt + 1, kDigestAt, kDigestAt + 32 + 1}) {
    const auto other = decode_commitment(as_bytes(with(commitment, at, "\x01")));
    ASSERT_TRUE(other) << at;
    EXPECT_FALSE(combine(*other, three.shares)) << at;
  }
}

}  // namespace
}  // namespace bellwether::secret
