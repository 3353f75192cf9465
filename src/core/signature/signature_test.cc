#include "core/signature/signature.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "core/signature/signature_testing.h"

namespace bellwether::signature {
namespace {

using testing::HasSubstr;

const std::string kProgram = std::string("\x7f\x45LF\x02\x01\0 machine code", 20);

SigningKey key_of(std::string_view pem) { return std::move(*SigningKey::read(pem, "a.key")); }
std::vector<PublicKey> trusted() { return *read_public_keys(kTestPublicKey, "a.pub"); }

std::string signed_program(uint32_t interface = 3) { return sign(kProgram, {interface, "0.1.0"}, key_of(kTestKey)); }

Error error_of(const Result<Signed>& read) { return read ? Error{Errc::kOk, "it was taken"} : read.error(); }

TEST(Signature, what_was_signed_is_told_with_its_key_and_its_versions) {
  const std::string bytes = signed_program();
  ASSERT_TRUE(bytes.starts_with(kProgram));
  const auto read_back = read(bytes, "shop.bw");
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(read_back->program, kProgram);
  EXPECT_EQ(read_back->versions.interface, 3u);
  EXPECT_EQ(read_back->versions.product, "0.1.0");
  EXPECT_EQ(read_back->key, trusted().front());
  EXPECT_TRUE(admit(bytes, "shop.bw", trusted(), 3));
}

TEST(Signature, every_byte_of_the_file_counts) {
  const std::string bytes = signed_program();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned flip : {1u, 0x80u}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ flip);
      EXPECT_FALSE(read(changed, "shop.bw")) << "byte " << at;
    }
  }
}

TEST(Signature, what_is_added_or_cut_off_counts) {
  const std::string bytes = signed_program();
  EXPECT_FALSE(read(bytes + " ", "shop.bw"));
  EXPECT_FALSE(read(" " + bytes, "shop.bw"));
  EXPECT_FALSE(read(bytes.substr(1), "shop.bw"));
  EXPECT_FALSE(read(bytes.substr(0, bytes.size() - 1), "shop.bw"));
  EXPECT_FALSE(read(bytes.substr(bytes.size() - 100), "shop.bw"));
}

TEST(Signature, signing_again_replaces_the_signature) {
  const std::string again = sign(signed_program(), {3, "0.1.0"}, key_of(kOtherKey));
  EXPECT_EQ(again.size(), signed_program().size());
  const auto read_back = read(again, "shop.bw");
  ASSERT_TRUE(read_back);
  EXPECT_EQ(read_back->key, read_public_keys(kOtherPublicKey, "b.pub")->front());
}

TEST(Signature, what_is_not_admitted_is_told_with_the_remedy) {
  const Error none = error_of(admit(kProgram, "shop.bw", trusted(), 3));
  EXPECT_EQ(none.code, Errc::kNotFound);
  EXPECT_THAT(none.message, HasSubstr("'shop.bw' is a compiled program without a signature"));

  const Error nobody = error_of(admit(signed_program(), "shop.bw", {}, 3));
  EXPECT_EQ(nobody.code, Errc::kRefused);
  EXPECT_THAT(nobody.message, HasSubstr("this worker trusts no keys: start it with --trust-keys"));

  const Error foreign = error_of(admit(sign(kProgram, {3, "0.1.0"}, key_of(kOtherKey)), "shop.bw", trusted(), 3));
  EXPECT_EQ(foreign.code, Errc::kRefused);
  EXPECT_THAT(foreign.message,
              HasSubstr("signed with key " + name_of(read_public_keys(kOtherPublicKey, "b.pub")->front())));

  const Error old = error_of(admit(signed_program(2), "shop.bw", trusted(), 3));
  EXPECT_EQ(old.code, Errc::kUnsupported);
  EXPECT_THAT(old.message, HasSubstr("built by bellwether 0.1.0 for version 2 of the program interface"));

  std::string changed = signed_program();
  changed[5] = 'x';
  const Error broken = error_of(admit(changed, "shop.bw", trusted(), 3));
  EXPECT_EQ(broken.code, Errc::kInvalid);
  EXPECT_THAT(broken.message, HasSubstr("changed after it was signed"));
}

// Who trusts one key is not talked into another by what stands in the file.
TEST(Signature, a_trusted_key_in_place_of_the_one_that_signed_is_no_signature) {
  std::string forged = sign(kProgram, {3, "0.1.0"}, key_of(kOtherKey));
  const PublicKey mine = trusted().front();
  std::copy(mine.begin(), mine.end(), forged.end() - 16 - 64 - 32);
  EXPECT_EQ(error_of(admit(forged, "shop.bw", trusted(), 3)).code, Errc::kInvalid);
}

RC_GTEST_PROP(SignatureProperty, all_programs_and_versions_survive, (std::string program, uint32_t interface)) {
  const std::string product = *rc::gen::map(rc::gen::inRange<std::size_t>(0, kMaxVersionBytes + 1),
                                            [](std::size_t size) { return std::string(size, '1'); });
  const std::string bytes = sign(program, {interface, product}, key_of(kTestKey));
  const auto out = read(bytes, "x");
  RC_ASSERT(out.has_value());
  RC_ASSERT(out->program == program);
  RC_ASSERT(out->versions.interface == interface);
  RC_ASSERT(out->versions.product == product);
}

}  // namespace
}  // namespace bellwether::signature
