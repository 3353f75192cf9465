#include "cluster/membership/packet.h"

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::membership {
namespace {

bool carries_profile(UpdateKind kind) { return kind == UpdateKind::kJoin || kind == UpdateKind::kAlive; }

std::size_t varint_size(uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

std::size_t body_size(const Update& update) {
  if (!carries_profile(update.kind)) return 8 + varint_size(update.incarnation) + 4 * update.accusers.size();
  return 1 + update.name.size() + varint_size(update.incarnation) + 4 + 1 +
         (update.profile.endpoint.is_v4() ? 4U : 16U) + 2 + 1 + 1 + update.profile.meta.size();
}

}  // namespace

const char* to_string(UpdateKind kind) {
  return EnumNames<UpdateKind>("join", "leave", "alive", "suspect", "dead")[kind];
}

void PacketWriter::fixed(uint64_t value, int width) {
  for (int i = 0; i < width; ++i) u8(static_cast<uint8_t>(value >> (8 * i)));
}

void PacketWriter::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) u8(static_cast<uint8_t>(value | 0x80));
  u8(static_cast<uint8_t>(value));
}

void PacketWriter::update(const Update& update) {
  u8(static_cast<uint8_t>(update.kind));
  varint(body_size(update));
  if (!carries_profile(update.kind)) {
    u64(update.node.value());
    varint(update.incarnation);
    for (const AccuserMark mark : update.accusers) u32(mark);
    return;
  }
  const Profile& profile = update.profile;
  check(update.name.size() <= kMaxName && profile.meta.size() <= kMaxMeta, "names and meta are short");
  u8(static_cast<uint8_t>(update.name.size()));
  bytes(update.name);
  varint(update.incarnation);
  u32(update.life);
  const std::string_view ip(reinterpret_cast<const char*>(profile.endpoint.ip.data()), 16);
  u8(profile.endpoint.is_v4() ? 4 : 6);
  bytes(profile.endpoint.is_v4() ? ip.substr(12) : ip);
  u16(profile.endpoint.port);
  u8(profile.role);
  u8(static_cast<uint8_t>(profile.meta.size()));
  bytes(profile.meta);
}

std::size_t size_of(const Update& update) {
  const std::size_t body = body_size(update);
  return 1 + varint_size(body) + body;
}

uint64_t PacketReader::fixed(int width) {
  const std::string_view raw = bytes(static_cast<std::size_t>(width));
  uint64_t value = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) value |= uint64_t{static_cast<uint8_t>(raw[i])} << (8 * i);
  return value;
}

uint64_t PacketReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t group = u8();
    if (!ok_) return 0;
    value |= uint64_t{group & 0x7fU} << shift;
    if (group < 0x80) return value;
  }
  broken();
  return 0;
}

std::string_view PacketReader::bytes(std::size_t count) {
  if (count > in_.size()) {
    broken();
    return {};
  }
  const std::string_view out = in_.substr(0, count);
  in_.remove_prefix(count);
  return out;
}

bool PacketReader::body(PacketReader& in, Update& update) {
  update.accusers = {};
  if (!carries_profile(update.kind)) {
    update.node = NodeId(in.u64());
    const uint64_t incarnation = in.varint();
    update.incarnation = static_cast<uint32_t>(incarnation);
    while (in.in_.size() >= 4) update.accusers.add(in.u32());
    return in.ok() && incarnation <= kMaxIncarnation;
  }
  const std::size_t name = in.u8();
  update.name = in.bytes(name);
  const uint64_t incarnation = in.varint();
  update.incarnation = static_cast<uint32_t>(incarnation);
  update.life = in.u32();
  const uint8_t family = in.u8();
  Profile& profile = update.profile;
  const std::string_view ip = in.bytes(family == 4 ? 4 : 16);
  if (family == 4 && ip.size() == 4) {
    std::array<uint8_t, 4> address{};
    std::copy(ip.begin(), ip.end(), address.begin());
    profile.endpoint = Endpoint::v4(address, 0);
  } else if (ip.size() == 16) {
    std::copy(ip.begin(), ip.end(), profile.endpoint.ip.begin());
  }
  profile.endpoint.port = in.u16();
  profile.role = in.u8();
  const std::size_t meta = in.u8();
  profile.meta = in.bytes(meta);
  update.node = node_id(update.name);
  return in.ok() && name > 0 && name <= kMaxName && incarnation <= kMaxIncarnation && (family == 4 || family == 6);
}

bool PacketReader::update(Update& update) {
  while (!at_end()) {
    const uint8_t kind = u8();
    PacketReader in(bytes(varint()));
    if (!ok_) return false;
    if (kind >= kUpdateKinds) continue;
    update.kind = static_cast<UpdateKind>(kind);
    if (body(in, update)) return true;
    broken();
  }
  return false;
}

void write_head(PacketWriter& out, const PacketHead& head) {
  out.u8(kPacketVersion);
  out.u8(static_cast<uint8_t>(head.kind));
  out.u64(head.from.value());
  out.varint(head.sequence);
  switch (head.kind) {
    case PacketKind::kPing:
      out.u64(head.to.value());
      out.u32(head.life);
      out.u32(head.digest);
      out.varint(head.state_version);
      break;
    case PacketKind::kAck:
      out.u32(head.life);
      out.varint(head.state_version);
      if (head.state_version == 0) break;
      check(head.state.size() <= kMaxState, "embedded state is short");
      out.varint(head.state.size());
      out.bytes(head.state);
      break;
    case PacketKind::kPingReq:
    case PacketKind::kNack: out.u64(head.to.value()); break;
    case PacketKind::kNews: break;
  }
}

bool read_head(PacketReader& in, PacketHead& head) {
  if (in.u8() != kPacketVersion) return false;
  head.kind = static_cast<PacketKind>(in.u8());
  head.from = NodeId(in.u64());
  const uint64_t sequence = in.varint();
  head.sequence = static_cast<uint32_t>(sequence);
  std::size_t state = 0;
  switch (head.kind) {
    case PacketKind::kPing:
      head.to = NodeId(in.u64());
      head.life = in.u32();
      head.digest = in.u32();
      head.state_version = in.varint();
      break;
    case PacketKind::kAck:
      head.life = in.u32();
      head.state_version = in.varint();
      state = head.state_version == 0 ? 0 : in.varint();
      if (state > kMaxState) return false;
      head.state = in.bytes(state);
      break;
    case PacketKind::kPingReq:
    case PacketKind::kNack: head.to = NodeId(in.u64()); break;
    case PacketKind::kNews: break;
    default: return false;
  }
  return in.ok() && sequence <= UINT32_MAX && head.from != NodeId();
}

void write_stream_head(PacketWriter& out, StreamKind kind, NodeId from) {
  out.u8(kPacketVersion);
  out.u8(static_cast<uint8_t>(kind));
  out.u64(from.value());
}

bool read_stream_head(PacketReader& in, StreamKind& kind, NodeId& from) {
  if (in.u8() != kPacketVersion) return false;
  kind = static_cast<StreamKind>(in.u8());
  from = NodeId(in.u64());
  return in.ok() && kind >= StreamKind::kJoin && kind <= StreamKind::kRecords && from != NodeId();
}

}  // namespace bellwether::membership
