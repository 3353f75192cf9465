// Bytes as questions, answers and messages of context leadership: decoded ones survive being encoded and decoded again,
// and a leader takes them, from a member or from any other sender, without harm.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cluster/wire/crypto.h"
#include "core/base/check.h"
#include "election/context/duty_leader.h"
#include "lead/context_driver/context_codec.h"

namespace {

using namespace bellwether;
using namespace bellwether::cluster;
using context_lead::NodeId;

context_lead::DutyLeader follower() {
  context_lead::DutyConfig config;
  config.self = NodeId(1);
  config.members = {NodeId(1), NodeId(2)};
  config.digest = &wire::sha256;
  context_lead::DutyLeader leader(std::move(config), 1);
  context_lead::Effects out;
  leader.step({Instant::from_ns(1), {1}}, context_lead::LeaderSeen{NodeId(2), election::Epoch(1)}, out);
  return leader;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      if (const auto question = decode_context_question(bytes)) {
        const std::string encoded = message::encode(*question);
        const auto again = decode_context_question(encoded);
        check(again && message::encode(*again) == encoded, "a question survives");
      }
      break;
    case 1:
      if (const auto answer = message::decode<ContextAnswer>(bytes)) {
        const auto again = message::decode<ContextAnswer>(message::encode(*answer));
        check(again && *again == *answer, "an answer survives");
      }
      break;
    default:
      if (const auto message = message::decode<ContextMessage>(bytes)) {
        const std::string encoded = message::encode(*message);
        const auto again = message::decode<ContextMessage>(encoded);
        check(again && message::encode(*again) == encoded, "a message survives");
        if (const auto* offer = std::get_if<context_lead::StateOffer>(&*message)) {
          context_lead::DutyLeader leader = follower();
          context_lead::Effects out;
          leader.step({Instant::from_ns(2), {2}}, context_lead::Heard{NodeId(2), *offer}, out);
        }
      }
  }
  return 0;
}
