// The layout of what members send each other: datagrams of one probe or answer with news behind it, and the messages of
// the reliable stream.
//
//   datagram  version:1 kind:1 from:8 sequence:varint, then by kind
//     ping      to:8 life:4 digest:4 known_state:varint      (known_state: the state version of `to` that we have)
//     ack       life:4 state_version:varint [state_length:varint state]
//     ping-req  target:8
//     nack      target:8
//     news      -
//   then updates to the end: kind:1 length:varint body
//     suspect, dead, leave   node:8 incarnation:varint accuser:4 …
//     join, alive            name_length:1 name incarnation:varint life:4 family:1 address:4|16 port:2 role:1
//                            meta_length:1 meta
//   stream    version:1 kind:1 from:8, then by kind
//     join, records, all     updates to the end
//     buckets                count:2 hash:4 …
//     differing              count:2 bucket:2 …, then updates
//
// Integers are little-endian; varints are base 128, least significant group first. A decoder skips updates of unknown
// kind and bytes behind the known fields of a body: a later minor version may add both. The layout is not protobuf: a
// ping is 28 bytes (protobuf: 38, each fixed field carries a tag, and a nested update two bytes more), four of them a
// second is most of what an idle node sends, and decoding allocates nothing before a packet is believed.
//
// Everything is bounded: a datagram by kMaxDatagram, a name by 64 bytes, meta by 255, state by 512, a stream message by
// kMaxStream. The codec does not check the sender: packets arrive authenticated.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/membership/directory.h"
#include "core/base/bytes.h"

namespace bellwether::membership {

// One piece of news about one member, as gossip, push-pull and packets carry it, and the order in which news matters.

// In order of urgency: what the group must hear first comes first.
enum class UpdateKind : uint8_t { kJoin, kLeave, kAlive, kSuspect, kDead };
inline constexpr std::size_t kUpdateKinds = 5;
const char* to_string(UpdateKind kind);

// The members whose own probes a member did not answer: a small set.
class Accusers {
 public:
  static constexpr std::size_t kMaxMarks = 8;
  // True when it was not in the set and there was room.
  bool add(AccuserMark mark) {
    if (size_ == kMaxMarks || contains(mark)) return false;
    marks_[size_++] = mark;
    return true;
  }
  bool contains(AccuserMark mark) const { return std::find(begin(), end(), mark) != end(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const AccuserMark* begin() const { return marks_.data(); }
  const AccuserMark* end() const { return marks_.data() + size_; }

 private:
  std::array<AccuserMark, kMaxMarks> marks_{};
  uint8_t size_ = 0;
};

struct Update {
  UpdateKind kind = UpdateKind::kAlive;
  NodeId node;
  uint32_t incarnation = 0;
  // Of kJoin and kAlive:
  std::string name;
  uint32_t life = 0;  // grows with each start of the process that bears the name
  Profile profile;
  // Of kSuspect and kDead:
  Accusers accusers;
};

// An incarnation beyond this is refused: each refutation adds one, so it takes a century of one a second to get there.
inline constexpr uint32_t kMaxIncarnation = 0xfffffff0;

inline constexpr uint8_t kPacketVersion = 1;
inline constexpr std::size_t kMaxDatagram = 1330;  // the text of a sealed datagram of 1,400 bytes
inline constexpr std::size_t kMaxName = 64;
inline constexpr std::size_t kMaxMeta = 255;
inline constexpr std::size_t kMaxState = 512;
inline constexpr std::size_t kMaxStream = 900'000;
inline constexpr std::size_t kBuckets = 256;

enum class PacketKind : uint8_t { kPing = 1, kAck, kPingReq, kNack, kNews };
enum class StreamKind : uint8_t { kJoin = 1, kAll, kBuckets, kDiffering, kRecords };

// Writes into a buffer of its caller.
class PacketWriter {
 public:
  explicit PacketWriter(std::string& out) : out_(out) {}
  void u8(uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u16(uint16_t value) { fixed(value, 2); }
  void u32(uint32_t value) { fixed(value, 4); }
  void u64(uint64_t value) { fixed(value, 8); }
  void varint(uint64_t value);
  void bytes(std::string_view value) { out_.append(value); }
  void update(const Update& update);

 private:
  void fixed(uint64_t value, int width);
  std::string& out_;
};
std::size_t size_of(const Update& update);

// Reads; after the first value that is not there whole, ok() is false and all values are zero.
class PacketReader {
 public:
  explicit PacketReader(std::string_view in) : in_(in) {}
  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }
  std::size_t left() const { return in_.size(); }
  uint8_t u8() { return static_cast<uint8_t>(fixed(1)); }
  uint16_t u16() { return static_cast<uint16_t>(fixed(2)); }
  uint32_t u32() { return static_cast<uint32_t>(fixed(4)); }
  uint64_t u64() { return fixed(8); }
  uint64_t varint();
  std::string_view bytes(std::size_t count);
  // The next update of a known kind; false at the end and on bytes that break the layout (then ok() is false).
  bool update(Update& update);

 private:
  uint64_t fixed(int width);
  bool body(PacketReader& in, Update& update);
  void broken() {
    ok_ = false;
    in_ = {};
  }
  std::string_view in_;
  bool ok_ = true;
};

struct PacketHead {
  PacketKind kind = PacketKind::kNews;
  NodeId from;
  uint32_t sequence = 0;
  NodeId to;                   // ping (zero: any node); the target of ping-req and nack
  uint32_t life = 0;           // ping, ack: of the sender
  uint32_t digest = 0;         // ping
  uint64_t state_version = 0;  // ping: known; ack: told
  std::string_view state;      // ack
};
void write_head(PacketWriter& out, const PacketHead& head);
// False when it breaks the layout or is of a version or kind that is not known.
bool read_head(PacketReader& in, PacketHead& head);

void write_stream_head(PacketWriter& out, StreamKind kind, NodeId from);
bool read_stream_head(PacketReader& in, StreamKind& kind, NodeId& from);

}  // namespace bellwether::membership
