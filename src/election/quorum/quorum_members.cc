// Who votes, and how that changes.
#include <algorithm>

#include "base/probe.h"
#include "election/quorum/quorum_elector.h"

namespace bellwether::quorum {

// Those who were heard of, and are no members, are remembered up to this many.
constexpr std::size_t kMostPeers = kMostMembers * 2;

void QuorumElector::use(Configuration members) {
  record_.members = std::move(members);
  add_peer(config_.self);
  for (const auto* list : {&record_.members.voters, &record_.members.next}) {
    for (const MemberId id : *list) add_peer(id);
  }
  const auto in = [](const std::vector<MemberId>& list, MemberId id) {
    return std::binary_search(list.begin(), list.end(), id);
  };
  for (Peer& peer : peers_) {
    peer.voter = in(record_.members.voters, peer.id);
    peer.next = in(record_.members.next, peer.id);
  }
}

QuorumElector::Peer* QuorumElector::find(MemberId id) {
  for (Peer& peer : peers_) {
    if (peer.id == id) return &peer;
  }
  return nullptr;
}

QuorumElector::Peer& QuorumElector::add_peer(MemberId id) {
  const auto place = std::lower_bound(peers_.begin(), peers_.end(), id,
                                      [](const Peer& one, MemberId other) { return one.id < other; });
  if (place != peers_.end() && place->id == id) return *place;
  Peer peer;
  peer.id = id;
  return *peers_.insert(place, peer);
}

QuorumElector::Peer* QuorumElector::find_or_add(MemberId id) {
  Peer* known = find(id);
  if (known != nullptr || peers_.size() >= kMostPeers) return known;
  return &add_peer(id);
}

uint64_t QuorumElector::record_seen_of(MemberId member) const {
  for (const Peer& peer : peers_) {
    if (peer.id == member) return peer.newest_record;
  }
  return 0;
}

// In the order of the ids that begins after the last leader: 0 stands first.
std::size_t QuorumElector::own_place() const {
  const std::vector<MemberId>& voters = record_.members.voters;
  if (voters.empty()) return 0;
  const auto place = [&](MemberId id) {
    return static_cast<std::size_t>(std::lower_bound(voters.begin(), voters.end(), id) - voters.begin());
  };
  const std::size_t after = last_leader_ == kNobody ? 0 : place(last_leader_) + 1;
  return (place(config_.self) + voters.size() * 2 - after) % voters.size();
}

// --- changes ---------------------------------------------------------------------------------------------------------

void QuorumElector::on_change(Instant now, const ChangeMembers& wish, Effects& out) {
  if (role_ != Role::kLeader) {
    out.push_back(ChangeRefused{"this member does not lead: ask the leader"});
    return;
  }
  if (record_.members.stamp.term != record_.term || !quorum_has_members()) {
    out.push_back(ChangeRefused{"the present members are not confirmed yet: try again in a moment"});
    return;
  }
  auto members = begin_change(record_.members, wish.change, record_.term);
  if (!members) {
    out.push_back(ChangeRefused{members.error().message});
    return;
  }
  BW_PROBE("quorum: members change");
  configure(now, std::move(*members), out);
}

void QuorumElector::configure(Instant now, Configuration members, Effects& out) {
  const bool change_done = record_.members.joint() && !members.joint();
  use(std::move(members));
  persist(out);
  for (Peer& peer : peers_) {
    if (peer.id == config_.self) peer.members = record_.members.stamp;
  }
  if (change_done) out.push_back(MembersChanged{record_.members});
  advance_members(now, out);
}

bool QuorumElector::quorum_has_members() const {
  return quorum_of([this](const Peer& peer) {
    return peer.members == record_.members.stamp && (peer.id != config_.self || durable_ >= record_.version);
  });
}

// A change is done once majorities of both have it on their disks; who was removed leads no more after that.
void QuorumElector::advance_members(Instant now, Effects& out) {
  if (role_ != Role::kLeader || !quorum_has_members()) return;
  if (record_.members.joint()) return configure(now, end_change(record_.members, record_.term), out);
  if (record_.members.has(config_.self) || stepping_down_) return;
  step_down(now, {"it is no member any more", kNobody, false, true}, out);
}

void QuorumElector::on_configure(Instant, Peer& from, const Message& message, const Configure& told, Effects& out) {
  if (from.id != leader_ || message.term != record_.term) return;
  if (told.members.stamp <= record_.members.stamp || told.members.stamp.term != record_.term) return;
  if (told.members.voters.empty() || told.members.voters.size() > kMostMembers ||
      told.members.next.size() > kMostMembers) {
    return;
  }
  const bool change_done = !told.members.joint() && told.members.voters != record_.members.voters;
  use(told.members);
  persist(out);
  if (change_done) out.push_back(MembersChanged{record_.members});
}

}  // namespace bellwether::quorum
