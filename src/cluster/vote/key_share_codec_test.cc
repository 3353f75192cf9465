#include "cluster/vote/vote_codec.h"
#include "core/message/message_testing.h"

namespace bellwether::cluster {
namespace {

TEST(KeyShareCodec, messages_travel_within_their_limits) { message::expect_sound<KeyShareMessage>(1'000); }

TEST(KeyShareCodec, the_bytes_are_those_of_every_version) {
  KeyShareRequest asks{election::Term(7), BoxPublicKey{std::byte{1}}, {}};
  asks.progress = {KeyProgress::Stage::kFailed, 1, 2, {{"c", std::string(300, 'x')}}};
  const std::string rest(31, '\0');
  EXPECT_EQ(message::encode(KeyShareMessage(asks)), "\x0a\xb3\x02\x08\x07\x12\x20\x01" + rest +
                                                        "\x18\x01\x20\x02\x28\x02\x32\x86\x02\x0a\x01"
                                                        "c\x12\x80\x02" +
                                                        std::string(256, 'x'));
}

TEST(KeyShareCodec, an_answer_without_a_key_is_none) {
  const KeyShareMessage without = KeyShareAnswer{election::Term(7), {}, std::string(100, 'x')};
  EXPECT_EQ(message::decode<KeyShareMessage>(message::encode(without)).error().code, Errc::kProtocol);
}

}  // namespace
}  // namespace bellwether::cluster
