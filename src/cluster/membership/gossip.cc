#include "cluster/membership/gossip.h"

#include <algorithm>
#include <cmath>

namespace bellwether::membership {
namespace {

constexpr int kMaxMisses = 8;  // of one kind in a packet

}  // namespace

GossipBuffer::Pushed GossipBuffer::push(const Update& update) {
  forget(update.node);
  const Pushed result = size() == limit_ ? drop_last() : Pushed();
  const auto kind = static_cast<std::size_t>(update.kind);
  auto& by_sent = by_kind_[kind];
  if (by_sent.empty()) by_sent.emplace_back();
  Entry& entry = by_sent.front().emplace_front(Entry{update.node, {}, kind});
  entry.bytes.reserve(size_of(update));
  PacketWriter(entry.bytes).update(update);
  places_.emplace(update.node, by_sent.front().begin());
  return result;
}

GossipBuffer::Pushed GossipBuffer::drop_last() {
  for (std::size_t kind = kUpdateKinds; kind-- > 0;) {
    auto& by_sent = by_kind_[kind];
    const auto last = std::find_if(by_sent.rbegin(), by_sent.rend(), [](const Entries& e) { return !e.empty(); });
    if (last == by_sent.rend()) continue;
    forget(last->back().node);
    return {true, static_cast<UpdateKind>(kind)};
  }
  return {};
}

void GossipBuffer::forget(NodeId node) {
  const auto found = places_.find(node);
  if (found == places_.end()) return;
  const Entries::iterator entry = found->second;
  places_.erase(found);
  by_kind_[entry->kind][entry->sent].erase(entry);
}

int GossipBuffer::fill(std::string& out, std::size_t limit, int times, NodeId except) {
  const std::size_t room = limit - std::min(limit, out.size());
  int count = 0;
  for (auto& by_sent : by_kind_) {
    int misses = 0;
    Entries risen;  // sent just now, and once less before
    for (Entries& waiting : by_sent) {
      Entries sent;
      for (auto next = waiting.begin(); next != waiting.end() && misses < kMaxMisses;) {
        const auto entry = next++;
        if (entry->node == except || entry->bytes.size() > room) continue;
        if (out.size() + entry->bytes.size() > limit) {
          ++misses;
          continue;
        }
        out += entry->bytes;
        ++entry->sent;
        ++count;
        sent.splice(sent.end(), waiting, entry);
      }
      waiting.splice(waiting.begin(), risen);
      risen.swap(sent);
    }
    if (!risen.empty()) by_sent.push_back(std::move(risen));
    for (; by_sent.size() > static_cast<std::size_t>(times); by_sent.pop_back()) {
      for (const Entry& entry : by_sent.back()) places_.erase(entry.node);
    }
  }
  return count;
}

int transmissions(int lambda, std::size_t members) {
  return lambda * static_cast<int>(std::ceil(std::log10(static_cast<double>(members) + 1)));
}

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
                               update.accusers});
}

}  // namespace bellwether::membership
