#include "lead/context_driver/context_codec.h"

#include <gmock/gmock.h>

#include "core/message/message_testing.h"

namespace bellwether::cluster {
namespace {

using namespace context_lead;
using testing::HasSubstr;

TEST(ContextCodec, questions_travel_within_their_limits) { message::expect_sound<ContextQuestion>(); }
TEST(ContextCodec, answers_travel_within_their_limits) { message::expect_sound<ContextAnswer>(1'000); }
TEST(ContextCodec, messages_travel_within_their_limits) { message::expect_sound<ContextMessage>(); }

TEST(ContextCodec, an_id_is_16_bytes_and_not_all_zero) {
  constexpr RequestId kId{0x0123456789abcdef, 0xfedcba9876543210};
  const std::string bytes = message::encode<ContextQuestion>(AskOutcome{kId});
  EXPECT_EQ(bytes, std::string("\x12\x12\x0a\x10\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10"));
  EXPECT_EQ(std::get<AskOutcome>(*decode_context_question(bytes)).id, kId);
  const auto says = [](std::string_view raw) { return decode_context_question(raw).error().message; };
  EXPECT_THAT(says(message::encode<ContextQuestion>(AskOutcome{})),
              HasSubstr("outcome.id is not a valid id of a request"));
  EXPECT_THAT(says("\x12\x07\x0a\x05short"), HasSubstr("outcome.id is not a valid id of a request"));
  EXPECT_THAT(says(std::string_view("\x12\0", 2)), HasSubstr("outcome.id is not a valid id of a request"))
      << "none at all";
}

TEST(ContextCodec, a_payload_that_is_too_large_is_told_the_limit) {
  const auto large = decode_context_question(
      message::encode<ContextQuestion>(Request{{1, 1}, 0, {}, std::string(kMaxPayloadBytes + 5000, 'x')}));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Errc::kTooLarge);
  EXPECT_THAT(large.error().message, HasSubstr("at most 65536 bytes"));
}

TEST(ContextCodec, a_reason_that_is_too_long_is_cut_by_who_gives_it) {
  const ContextRefused refused{Errc::kExhausted, std::string(kMaxWhyBytes + 1, 'x'), "m2"};
  const auto read = message::decode<ContextAnswer>(message::encode<ContextAnswer>(refused));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<ContextRefused>(*read).why.size(), kMaxWhyBytes);
}

}  // namespace
}  // namespace bellwether::cluster
