// Bytes as every described message (core/message/describe.h): decoded ones survive being encoded and decoded again. A
// short input also seeds a random value of each message, whose bytes are changed in one place. So a new description
// that is added below has its seeds, too.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/net/election_driver.h"
#include "cluster/node/admin_messages.h"
#include "cluster/node/node_format.h"
#include "cluster/register/codec.h"
#include "cluster/vote/vote_codec.h"
#include "cluster/wire/handshake.h"
#include "core/base/check.h"
#include "core/message/description.h"
#include "core/message/random_testing.h"
#include "jobs/assignment/assignment_order.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/ingest/run_ingest.h"
#include "lead/context_driver/context_codec.h"

namespace {

using namespace bellwether;
using message::Message;
using message::message_of;

constexpr std::size_t kMaxSeed = 16;

constexpr const Message& (*kMessages[])() = {
    &message_of<dispatch::JobMessage>,
    &message_of<dispatch::Response>,
    &message_of<node::ToChild>,
    &message_of<node::FromChild>,
    &message_of<quorum::Message>,
    &message_of<quorum::Record>,
    &message_of<vote::Message>,
    &message_of<vote::Record>,
    &message_of<cluster::KeyShareMessage>,
    &message_of<cluster::ContextQuestion>,
    &message_of<cluster::ContextAnswer>,
    &message_of<cluster::ContextMessage>,
    &message_of<node::AdminRequest>,
    &message_of<node::AdminAnswer>,
    &message_of<node::PeerMeta>,
    &message_of<node::PeerState>,
    &message_of<ingest::IngestSnapshot>,
    &message_of<registers::Message>,
    &message_of<registers::Request>,
    &message_of<registers::Response>,
    &message_of<registers::RegisterRecord>,
    &message_of<registers::ReplicaSet>,
    &message_of<blobs::Asked>,
    &message_of<blobs::Answer>,
    &message_of<blobs::BlobRecord>,
    &message_of<wire::Announced>,
    &message_of<wire::RefusedText>,
};

void survives(const Message& of, std::string_view bytes) {
  void* const value = of.make();
  if (message::decode(of, bytes, value)) {
    const std::string once = message::encode(of, value);
    void* const again = of.make();
    check(message::decode(of, once, again).has_value() && message::encode(of, again) == once, "a message survives");
    of.destroy(again);
  }
  of.destroy(value);
}

std::string drawn(const Message& of, Prng& prng) {
  void* const value = of.make();
  message::draw(of, prng, value);
  std::string bytes = message::encode(of, value);
  of.destroy(value);
  if (!bytes.empty() && prng.chance(0.9)) bytes[prng.below(bytes.size())] = static_cast<char>(prng.below(256));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  uint64_t seed = size;
  for (const char c : bytes.substr(0, kMaxSeed)) seed = seed * 257 + static_cast<unsigned char>(c);
  Prng prng(seed);
  for (const auto of : kMessages) {
    survives(of(), bytes);
    if (size <= kMaxSeed) survives(of(), drawn(of(), prng));
  }
  return 0;
}
