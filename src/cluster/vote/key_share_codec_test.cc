#include "cluster/vote/key_share_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/key_share.pb.h"

namespace bellwether::cluster {
namespace {

using election::Term;
using testing::HasSubstr;

template <class Change>
std::string complaint(const KeyShareMessage& message, Change change) {
  wire::KeyShareMessage raw;
  EXPECT_TRUE(raw.ParseFromString(encode(message)));
  change(raw);
  const auto decoded = decode_key_share_message(raw.SerializeAsString());
  return decoded ? "none" : decoded.error().message;
}

KeyShareRequest request() {
  KeyShareRequest out{Term(7), BoxPublicKey{std::byte{1}}, {}};
  out.progress = {KeyProgress::Stage::kFailed, 1, 2, {{"c", "it was changed"}}};
  return out;
}
KeyShareAnswer answer() { return {Term(7), BoxPublicKey{std::byte{2}}, std::string(100, 'x')}; }

TEST(KeyShareCodec, messages_survive) {
  const auto asked = decode_key_share_message(encode(request()));
  ASSERT_TRUE(asked);
  const auto& first = std::get<KeyShareRequest>(*asked);
  EXPECT_EQ(first.term, Term(7));
  EXPECT_EQ(first.key, request().key);
  EXPECT_EQ(first.progress, request().progress);
  KeyShareRequest tells = request();
  tells.key.reset();
  EXPECT_FALSE(std::get<KeyShareRequest>(*decode_key_share_message(encode(tells))).key);
  const auto answered = decode_key_share_message(encode(answer()));
  ASSERT_TRUE(answered);
  const auto& second = std::get<KeyShareAnswer>(*answered);
  EXPECT_EQ(second.term, Term(7));
  EXPECT_EQ(second.key, answer().key);
  EXPECT_EQ(second.sealed, answer().sealed);
}

TEST(KeyShareCodec, what_is_more_than_the_limits_is_not_said) {
  KeyShareRequest long_one = request();
  for (int i = 0; i < 30; ++i) long_one.progress.refused["n" + std::to_string(i)] = std::string(1000, 'x');
  const auto decoded = decode_key_share_message(encode(long_one));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(std::get<KeyShareRequest>(*decoded).progress.refused.size(), kMostRefusedTold);
}

TEST(KeyShareCodec, what_is_out_of_its_bounds_is_refused) {
  const auto request_with = [](auto change) {
    return complaint(request(), [&](wire::KeyShareMessage& raw) { change(*raw.mutable_request()); });
  };
  const auto answer_with = [](auto change) {
    return complaint(answer(), [&](wire::KeyShareMessage& raw) { change(*raw.mutable_answer()); });
  };
  EXPECT_EQ(request_with([](auto&) {}), "none");
  EXPECT_THAT(request_with([](auto& raw) { raw.set_term(~uint64_t{0}); }), HasSubstr("a term"));
  EXPECT_THAT(request_with([](auto& raw) { raw.set_public_key("short"); }), HasSubstr("public key"));
  EXPECT_THAT(request_with([](auto& raw) { raw.set_stage(3); }), HasSubstr("a stage"));
  EXPECT_THAT(request_with([](auto& raw) { raw.set_held(256); }), HasSubstr("too many key shares"));
  EXPECT_THAT(request_with([](auto& raw) { raw.mutable_refused(0)->set_from("a b"); }), HasSubstr("a refusal"));
  EXPECT_THAT(request_with([](auto& raw) { raw.mutable_refused(0)->set_why(std::string(257, 'x')); }),
              HasSubstr("a refusal"));
  EXPECT_THAT(request_with([](auto& raw) {
                for (int i = 0; i < 16; ++i) raw.add_refused()->set_from("a");
              }),
              HasSubstr("too many refusals"));
  EXPECT_THAT(answer_with([](auto& raw) { raw.set_term(~uint64_t{0}); }), HasSubstr("a term"));
  EXPECT_THAT(answer_with([](auto& raw) { raw.clear_public_key(); }), HasSubstr("public key"));
  EXPECT_THAT(answer_with([](auto& raw) { raw.set_sealed(std::string(16, 'x')); }), HasSubstr("no key share"));
  EXPECT_THAT(answer_with([](auto& raw) { raw.set_sealed(std::string(5000, 'x')); }), HasSubstr("no key share"));
  EXPECT_EQ(decode_key_share_message("").error().code, Errc::kUnsupported);
  EXPECT_EQ(decode_key_share_message("\xff").error().code, Errc::kProtocol);
  EXPECT_EQ(decode_key_share_message(std::string(20000, '\0')).error().code, Errc::kProtocol);
}

}  // namespace
}  // namespace bellwether::cluster
