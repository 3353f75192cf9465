// Bytes as the messages of a scored vote, and as the record of a node: everything that decodes survives another round
// of encoding and decoding, and an elector takes it, from a member or a stranger, without harm.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cluster/vote/vote_codec.h"
#include "core/base/check.h"
#include "election/vote/vote_elector.h"

namespace bellwether::cluster {
namespace {

using vote::NodeId;

vote::VoteConfig first_of_three() {
  vote::VoteConfig config;
  config.self = NodeId(1);
  config.members = {NodeId(1), NodeId(2), NodeId(3)};
  config.timing = vote::VoteTiming::lan();
  return config;
}

void start(vote::VoteElector& elector) {
  vote::Effects effects;
  elector.step(Instant::from_ns(1), vote::Measured{{{"admin_election"}, {}, {}, {}}}, effects);
  elector.step(Instant::from_ns(1), vote::Start{}, effects);
  elector.step(Instant::from_ns(2), vote::Persisted{1, true, {}}, effects);
}

}  // namespace
}  // namespace bellwether::cluster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::cluster;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  if (const auto record = message::decode<vote::Record>(rest)) {
    const auto again = message::decode<vote::Record>(message::encode(*record));
    check(again.has_value() && *again == *record, "a record survives");
  }
  // Messages one after the other, each with its length before it, and a tick after each.
  vote::VoteElector elector(first_of_three(), 1);
  start(elector);
  Instant now = Instant::from_ns(4) + Duration::seconds(1);
  while (!rest.empty()) {
    const std::size_t length = std::min<std::size_t>(static_cast<uint8_t>(rest.front()), rest.size() - 1);
    const std::string_view bytes = rest.substr(1, length);
    rest.remove_prefix(1 + length);
    const auto message = message::decode<vote::Message>(bytes);
    if (!message) continue;
    const std::string encoded = message::encode(*message);
    const auto again = message::decode<vote::Message>(encoded);
    check(again.has_value() && message::encode(*again) == encoded, "a message survives");
    vote::Effects effects;
    elector.step(now, vote::Received{*message}, effects);
    now += Duration::millis(20);
    elector.step(now, vote::Tick{}, effects);
    check(!elector.leads(now) || !elector.follows_only(), "nobody leads without its record");
  }
  return 0;
}
