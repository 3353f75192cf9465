// Bytes as the messages of an elected group, and as the record of a member: everything that decodes survives another
// round of encoding and decoding, and an elector takes it, from a member or a stranger, without harm.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "cluster/net/election_driver.h"
#include "core/base/check.h"
#include "election/quorum/quorum_elector.h"

namespace bellwether::cluster {
namespace {

using quorum::MemberId;

quorum::QuorumConfig first_of_three() {
  quorum::QuorumConfig config;
  config.self = MemberId(1);
  config.bootstrap = {MemberId(1), MemberId(2), MemberId(3)};
  return config;
}

void start(quorum::QuorumElector& elector) {
  quorum::Effects effects;
  elector.step(Instant::from_ns(1), quorum::Start{}, effects);
  elector.step(Instant::from_ns(2), quorum::Persisted{1, true, {}}, effects);
  elector.step(Instant::from_ns(3) + Duration::seconds(1), quorum::Tick{}, effects);
}

}  // namespace
}  // namespace bellwether::cluster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::cluster;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  if (const auto record = message::decode<quorum::Record>(rest)) {
    const auto again = message::decode<quorum::Record>(message::encode(*record));
    check(again.has_value() && *again == *record, "a record survives");
  }
  // Messages one after the other, each with its length before it, and a tick after each.
  quorum::QuorumElector elector(first_of_three(), 1);
  start(elector);
  Instant now = Instant::from_ns(4) + Duration::seconds(1);
  while (!rest.empty()) {
    const std::size_t length = std::min<std::size_t>(static_cast<uint8_t>(rest.front()), rest.size() - 1);
    const std::string_view bytes = rest.substr(1, length);
    rest.remove_prefix(1 + length);
    const auto message = message::decode<quorum::Message>(bytes);
    if (!message) continue;
    const std::string encoded = message::encode(*message);
    const auto again = message::decode<quorum::Message>(encoded);
    check(again.has_value() && message::encode(*again) == encoded, "a message survives");
    quorum::Effects effects;
    elector.step(now, quorum::Received{*message}, effects);
    now += Duration::millis(20);
    elector.step(now, quorum::Tick{}, effects);
    check(!elector.leads(now) || !elector.follows_only(), "nobody leads without its record");
  }
  return 0;
}
