#include "cluster/wire/message.h"

#include "cluster/wire/big_endian.h"

namespace bellwether::wire {
namespace {

constexpr unsigned kPriorityBits = 3;
constexpr unsigned kMoreBit = 4;
constexpr unsigned kCompressedBit = 8;

}  // namespace

void encode_message_header(const MessageHeader& header, std::byte* to) {
  const unsigned flags = static_cast<unsigned>(header.priority) | (header.more ? kMoreBit : 0U) |
                         (header.compressed ? kCompressedBit : 0U);
  to[0] = static_cast<std::byte>(header.kind);
  to[1] = static_cast<std::byte>(flags);
  store_be(to + 2, header.type);
  store_be(to + 4, header.id);
  store_be(to + 12, header.timeout_ms);
}

bool decode_message_header(const std::byte* from, MessageHeader& header) {
  const auto kind = std::to_integer<unsigned>(from[0]);
  const auto flags = std::to_integer<unsigned>(from[1]);
  if (kind < 1 || kind > 8 || flags > (kPriorityBits | kMoreBit | kCompressedBit)) return false;
  header.kind = static_cast<MessageHeader::Kind>(kind);
  header.priority = static_cast<Priority>(flags & kPriorityBits);
  header.more = (flags & kMoreBit) != 0;
  header.compressed = (flags & kCompressedBit) != 0;
  header.type = load_be<uint16_t>(from + 2);
  header.id = load_be<uint64_t>(from + 4);
  header.timeout_ms = load_be<uint32_t>(from + 12);
  return true;
}

}  // namespace bellwether::wire
