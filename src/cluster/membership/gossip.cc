#include "cluster/membership/gossip.h"

#include <algorithm>

namespace bellwether::membership {

// A member must hear about itself before anything else: that it is suspected, or gone.
std::optional<Update> Gossip::word_to(NodeIndex who) const {
  const Member& member = table_.at(who);
  Update word{.node = table_.id(who), .incarnation = member.incarnation};
  if (member.state == MemberState::kSuspect && figures_.tell_suspect) {
    word.kind = UpdateKind::kSuspect;
    word.accusers = suspicions_.accusers_of(who);
    return word;
  }
  if (is_present(member.state)) return std::nullopt;
  word.kind = UpdateKind::kDead;
  word.accusers.add(mark_of(self_.id));
  return word;
}

void Gossip::send(PacketHead head, const Endpoint& to, std::optional<NodeIndex> who, Effects& out) {
  head.from = self_.id;
  head.life = self_.config.life;
  auto& datagram = std::get<SendDatagram>(out.emplace_back(SendDatagram{to, {}}));
  PacketWriter writer(datagram.bytes);
  write_head(writer, head);
  NodeId except;
  if (const auto word = who ? word_to(*who) : std::nullopt) {
    writer.update(*word);
    except = word->node;
  }
  if (buffer_.empty()) return;
  const std::size_t room = std::min(kMaxDatagram, datagram.bytes.size() + conduct(trust_.level()).piggyback);
  buffer_.fill(datagram.bytes, room, transmissions(figures_.lambda, table_.present()), except);
}

uint32_t Gossip::ping(NodeId to, const Endpoint& where, std::optional<NodeIndex> who, Effects& out) {
  const uint32_t sequence = next_sequence_++;
  send({.kind = PacketKind::kPing,
        .sequence = sequence,
        .to = to,
        .digest = table_.digest(),
        .state_version = roster_.known_state(to).count},
       where, who, out);
  return sequence;
}

void Gossip::correct(NodeIndex node, const Endpoint& who, Effects& out) const {
  auto& datagram = std::get<SendDatagram>(out.emplace_back(SendDatagram{who, {}}));
  PacketWriter writer(datagram.bytes);
  write_head(writer, {.kind = PacketKind::kNews, .from = self_.id});
  if (const auto word = word_to(node)) return writer.update(*word);
  writer.update(roster_.record_of(node));
}

void Gossip::pass_on(const Update& update, Effects& out) {
  const GossipBuffer::Pushed pushed = buffer_.push(update);
  if (pushed.dropped) out.emplace_back(GossipOverflowed{pushed.kind});
  if (next_gossip_ != Instant::never()) return;
  next_gossip_ = self_.now + self_.prng.between(Duration(), figures_.gossip_interval);
}

void Gossip::announce(UpdateKind kind, Effects& out) {
  Update word = roster_.record_of(roster_.me());
  word.kind = kind;
  pass_on(word, out);
}

void Gossip::gossip_round(Effects& out) {
  next_gossip_ = Instant::never();
  const int fanout = std::max(1, figures_.gossip_fanout - conduct(trust_.level()).gossip_fanout_less);
  for (int i = 0; i < fanout && !buffer_.empty(); ++i) {
    const auto peer = roster_.random_peer();
    if (!peer) break;
    send({.kind = PacketKind::kNews}, *peer, out);
  }
  if (!buffer_.empty()) next_gossip_ = self_.now + self_.jittered(figures_.gossip_interval);
}

void Gossip::tell(MemberChange change, NodeIndex node, const Update& update, const Source& source, Effects& out) const {
  out.emplace_back(MemberEvent{change, table_.name(node), table_.endpoint(node), update.incarnation,
                               source.node == update.node && source.node != NodeId() ? Cause::kItself : source.cause,
                               update.accusers, source.node});
}

}  // namespace bellwether::membership
