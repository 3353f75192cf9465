#include "cluster/wire/crypto.h"

#include <gtest/gtest.h>

#include "cluster/wire/wire_testing.h"

namespace bellwether::wire {
namespace {

Key key_of(std::string_view hex) {
  Key key;
  const auto bytes = from_hex(hex);
  std::copy(bytes.begin(), bytes.end(), key.bytes().begin());
  return key;
}

TEST(Crypto, hkdf_gives_what_rfc_5869_says) {
  // Its test cases 1 (with salt and info) and 3 (without).
  const auto secret = from_hex("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b");
  std::array<std::byte, 42> out;
  hkdf_sha256(secret, from_hex("000102030405060708090a0b0c"), from_hex("f0f1f2f3f4f5f6f7f8f9"), out);
  EXPECT_EQ(to_hex(out), "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  hkdf_sha256(secret, {}, {}, out);
  EXPECT_EQ(to_hex(out), "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(Crypto, sealing_gives_what_the_gcm_specification_says) {
  // Test case 14 of the GCM specification: a key, a nonce and a block of zeros.
  Aead aead(Aead::Direction::kSeal, key_of(std::string(64, '0')));
  std::array<std::byte, 16> text{};
  std::array<std::byte, kTagBytes> tag;
  aead.seal(0, {}, text, tag);
  EXPECT_EQ(to_hex(text), "cea7403d4d606b6e074ec5d3baf39d18");
  EXPECT_EQ(to_hex(tag), "d0d1c8a799996bf0265b98b5d48ab919");
}

class Sealed : public testing::Test {
 protected:
  Sealed() { sealer_.seal(5, also_, text_, tag_); }
  bool opens(uint64_t number = 5) { return opener_.open(number, also_, text_, tag_); }

  Key key_ = key_of(std::string(64, '7'));
  Aead sealer_{Aead::Direction::kSeal, key_};
  Aead opener_{Aead::Direction::kOpen, key_};
  std::vector<std::byte> also_ = bytes_of("header");
  std::vector<std::byte> text_ = bytes_of("what is said");
  std::array<std::byte, kTagBytes> tag_{};
};

TEST_F(Sealed, opens_to_what_was_sealed) {
  EXPECT_NE(as_text(text_), "what is said");
  ASSERT_TRUE(opens());
  EXPECT_EQ(as_text(text_), "what is said");
}

TEST_F(Sealed, does_not_open_with_another_number) { EXPECT_FALSE(opens(6)); }

TEST_F(Sealed, does_not_open_with_another_key) {
  opener_.set_key(key_of(std::string(64, '8')));
  EXPECT_FALSE(opens());
  EXPECT_EQ(to_hex(text_), std::string(24, '0')) << "nothing of it is left to be used by mistake";
}

TEST_F(Sealed, does_not_open_when_any_bit_was_changed) {
  const auto text = text_;
  for (std::vector<std::byte>* part : {&also_, &text_}) {
    for (std::size_t bit = 0; bit < part->size() * 8; ++bit) {
      text_ = text;
      const auto before = *part;
      (*part)[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      EXPECT_FALSE(opens());
      *part = before;
    }
  }
  text_ = text;
  for (std::byte& byte : tag_) {
    text_ = text;
    byte ^= std::byte{1};
    EXPECT_FALSE(opens());
    byte ^= std::byte{1};
  }
  text_ = text;
  EXPECT_TRUE(opens());
}

TEST(Crypto, an_empty_text_has_a_tag_too) {
  const Key key = key_of(std::string(64, '1'));
  Aead sealer(Aead::Direction::kSeal, key);
  Aead opener(Aead::Direction::kOpen, key);
  std::array<std::byte, kTagBytes> tag;
  sealer.seal(1, as_bytes("h"), {}, tag);
  EXPECT_TRUE(opener.open(1, as_bytes("h"), {}, tag));
  EXPECT_FALSE(opener.open(1, as_bytes("i"), {}, tag));
}

}  // namespace
}  // namespace bellwether::wire
