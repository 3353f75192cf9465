#include "cluster/wire/envelope.h"

#include <gtest/gtest.h>

#include "cluster/wire/wire_testing.h"

namespace bellwether::wire {
namespace {

class EnvelopeTest : public testing::Test {
 protected:
  EnvelopeTest() {
    header_.key = ring_.in_use();
    header_.cluster = cluster_hash("flock", "test");
    header_.sender = node_hash("n1");
    Prng prng(1);
    header_.session = SessionId::draw(wall_ms(1'800'000'000'000), prng);
    header_.number = 3;
    header_.tag = 77;
  }
  std::vector<std::byte> sealed(std::string_view text, Bytes answers = {}) {
    std::vector<std::byte> envelope(kEnvelopeOverhead + text.size());
    std::memcpy(envelope.data() + kHeaderBytes, text.data(), text.size());
    Aead aead(Aead::Direction::kSeal, *envelope_key(ring_, header_));
    seal_envelope(aead, header_, envelope, answers);
    return envelope;
  }
  // With the header that the bytes have.
  bool opens(std::vector<std::byte>& envelope, Bytes answers = {}) {
    const HeaderRead read = read_header(envelope);
    if (read.refusal != Refusal::kNone) return false;
    const auto key = envelope_key(ring_, read.header);
    if (!key) return false;
    Aead aead(Aead::Direction::kOpen, *key);
    return open_envelope(aead, read.header, envelope, answers);
  }

  Keyring ring_ = keyring_of();
  EnvelopeHeader header_;
};

TEST_F(EnvelopeTest, its_header_has_the_layout_that_is_documented) {
  header_.key = 0x01020304;
  header_.cluster = 0x1112131415161718;
  header_.sender = 0x2122232425262728;
  header_.session.bytes.fill(std::byte{0x33});
  header_.number = 0x4142434445464748;
  header_.tag = 0x5152535455565758;
  EXPECT_EQ(to_hex(encode(header_)),
            "0101"
            "01020304"
            "1112131415161718"
            "2122232425262728"
            "33333333333333333333333333333333"
            "4142434445464748"
            "5152535455565758");
}

TEST_F(EnvelopeTest, its_key_is_derived_as_the_format_says) {
  const HeaderBytes front = encode(header_);
  auto info = bytes_of("bellwether envelope 1");
  info.push_back(front[1]);
  info.insert(info.end(), front.begin() + 6, front.begin() + 22);
  Key expected;
  hkdf_sha256(as_bytes("a secret for tests, 7Q"), Bytes(front).subspan(22, 16), info, expected.bytes());
  EXPECT_EQ(to_hex(envelope_key(ring_, header_)->bytes()), to_hex(expected.bytes()));
}

TEST_F(EnvelopeTest, opens_to_what_was_sealed) {
  auto envelope = sealed("what is said");
  const HeaderRead read = read_header(envelope);
  EXPECT_EQ(read.header.number, 3U);
  EXPECT_EQ(read.header.tag, 77U);
  ASSERT_TRUE(opens(envelope));
  EXPECT_EQ(as_text(envelope_text(envelope)), "what is said");
}

TEST_F(EnvelopeTest, changing_any_byte_of_it_is_noticed) {
  const auto good = sealed("what is said");
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto envelope = good;
    envelope[i] ^= std::byte{1};
    EXPECT_FALSE(opens(envelope)) << "byte " << i;
  }
}

TEST_F(EnvelopeTest, every_length_short_of_the_whole_is_noticed) {
  const auto good = sealed("what is said");
  for (std::size_t size = 0; size < good.size(); ++size) {
    std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(opens(cut)) << size << " bytes";
    if (size < kEnvelopeOverhead) EXPECT_EQ(read_header(cut).refusal, Refusal::kTruncated);
  }
}

TEST_F(EnvelopeTest, an_answer_opens_only_with_what_it_answers) {
  auto envelope = sealed("yes", as_bytes("question"));
  auto other = envelope;
  EXPECT_FALSE(opens(other, as_bytes("other question")));
  EXPECT_TRUE(opens(envelope, as_bytes("question")));
}

TEST_F(EnvelopeTest, the_same_text_never_looks_the_same) {
  const auto one = sealed("text");
  header_.number = 4;
  const auto other = sealed("text");
  EXPECT_NE(to_hex(Bytes(one).subspan(kHeaderBytes)), to_hex(Bytes(other).subspan(kHeaderBytes)));
}

TEST_F(EnvelopeTest, headers_that_are_not_ours_are_refused_without_crypto) {
  auto envelope = sealed("text");
  envelope[0] = std::byte{2};
  EXPECT_EQ(read_header(envelope).refusal, Refusal::kFormat);
  envelope[0] = std::byte{1};
  envelope[1] = std::byte{6};
  EXPECT_EQ(read_header(envelope).refusal, Refusal::kGarbage);
  envelope[1] = std::byte{0};
  EXPECT_EQ(read_header(envelope).refusal, Refusal::kGarbage);
}

}  // namespace
}  // namespace bellwether::wire
