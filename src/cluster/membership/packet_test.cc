#include "cluster/membership/packet.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace bellwether::membership {
namespace {

Update any_update() {
  Update update;
  update.kind = static_cast<UpdateKind>(*rc::gen::inRange<int>(0, kUpdateKinds));
  update.incarnation = *rc::gen::inRange<uint32_t>(0, kMaxIncarnation);
  if (update.kind != UpdateKind::kJoin && update.kind != UpdateKind::kAlive) {
    update.node = NodeId(*rc::gen::nonZero<uint64_t>());
    for (const uint32_t mark : *rc::gen::container<std::vector<uint32_t>>(rc::gen::arbitrary<uint32_t>())) {
      update.accusers.add(mark);
    }
    return update;
  }
  update.name = std::string(*rc::gen::inRange<std::size_t>(1, kMaxName + 1), 'n');
  update.node = node_id(update.name);
  update.life = *rc::gen::arbitrary<uint32_t>();
  update.profile.endpoint = Endpoint::v4({10, 0, 0, *rc::gen::arbitrary<uint8_t>()}, *rc::gen::arbitrary<uint16_t>());
  if (*rc::gen::arbitrary<bool>()) update.profile.endpoint.ip[0] = 0x20;
  update.profile.role = *rc::gen::arbitrary<uint8_t>();
  update.profile.meta = std::string(*rc::gen::inRange<std::size_t>(0, kMaxMeta + 1), 'x');
  return update;
}

RC_GTEST_PROP(Packet, updates_come_back_as_they_were_written, ()) {
  std::string bytes;
  PacketWriter writer(bytes);
  std::vector<Update> written(*rc::gen::inRange<std::size_t>(0, 6));
  std::size_t size = 0;
  for (Update& update : written) {
    update = any_update();
    writer.update(update);
    size += size_of(update);
  }
  RC_ASSERT(bytes.size() == size);
  PacketReader in(bytes);
  Update read;
  for (const Update& update : written) {
    RC_ASSERT(in.update(read));
    RC_ASSERT(read.kind == update.kind && read.node == update.node && read.incarnation == update.incarnation);
    RC_ASSERT(std::equal(read.accusers.begin(), read.accusers.end(), update.accusers.begin(), update.accusers.end()));
    if (update.kind != UpdateKind::kJoin && update.kind != UpdateKind::kAlive) continue;
    RC_ASSERT(read.name == update.name && read.life == update.life && read.profile == update.profile);
  }
  RC_ASSERT(!in.update(read));
  RC_ASSERT(in.ok());
}

TEST(Packet, heads_come_back_as_they_were_written) {
  const PacketHead heads[] = {
      {.kind = PacketKind::kPing,
       .from = NodeId(1),
       .sequence = 300,
       .to = NodeId(2),
       .life = 3,
       .digest = 4,
       .state_version = 5},
      {.kind = PacketKind::kAck, .from = NodeId(1), .sequence = 1, .life = 9, .state_version = 7, .state = "busy"},
      {.kind = PacketKind::kPingReq, .from = NodeId(1), .sequence = 1, .to = NodeId(2)},
      {.kind = PacketKind::kNack, .from = NodeId(1), .sequence = 1, .to = NodeId(2)},
      {.kind = PacketKind::kNews, .from = NodeId(1)},
  };
  for (const PacketHead& head : heads) {
    std::string bytes;
    PacketWriter writer(bytes);
    write_head(writer, head);
    PacketReader in(bytes);
    PacketHead read;
    ASSERT_TRUE(read_head(in, read));
    EXPECT_EQ(read.kind, head.kind);
    EXPECT_EQ(read.from, head.from);
    EXPECT_EQ(read.sequence, head.sequence);
    EXPECT_EQ(read.to, head.to);
    EXPECT_EQ(read.life, head.life);
    EXPECT_EQ(read.digest, head.digest);
    EXPECT_EQ(read.state_version, head.state_version);
    EXPECT_EQ(read.state, head.state);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      PacketReader shorter(std::string_view(bytes).substr(0, cut));
      PacketHead ignored;
      EXPECT_FALSE(read_head(shorter, ignored)) << "cut after " << cut;
    }
  }
}

TEST(Packet, a_ping_is_as_small_as_it_is_said_to_be) {
  std::string bytes;
  PacketWriter writer(bytes);
  write_head(writer, {.kind = PacketKind::kPing, .from = NodeId(1), .sequence = 1, .to = NodeId(2)});
  EXPECT_EQ(bytes.size(), 28U);
}

TEST(Packet, updates_of_unknown_kind_and_fields_behind_the_known_ones_are_skipped) {
  std::string bytes;
  PacketWriter writer(bytes);
  writer.u8(99);
  writer.varint(3);
  writer.bytes("abc");
  Update update{.kind = UpdateKind::kAlive, .name = "n", .life = 1, .profile = {}, .accusers = {}};
  std::string known;
  PacketWriter(known).update(update);
  writer.u8(static_cast<uint8_t>(known[0]));
  writer.varint(static_cast<uint8_t>(known[1]) + 4U);
  writer.bytes(known.substr(2));
  writer.bytes("more");
  PacketReader in(bytes);
  Update read;
  ASSERT_TRUE(in.update(read));
  EXPECT_EQ(read.name, "n");
  EXPECT_FALSE(in.update(read));
  EXPECT_TRUE(in.ok());
}

TEST(Packet, an_incarnation_beyond_all_reason_is_refused) {
  std::string bytes;
  PacketWriter writer(bytes);
  writer.update({.kind = UpdateKind::kDead, .node = NodeId(1), .incarnation = kMaxIncarnation + 1});
  PacketReader in(bytes);
  Update read;
  EXPECT_FALSE(in.update(read));
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace bellwether::membership
