#include "election/quorum/quorum_book.h"

#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/probe.h"

namespace bellwether::quorum {

bool QuorumLedger::persisted(Instant now, const Persisted& done, Effects& out) {
  if (!written(now, done, out)) {
    BW_PROBE("quorum: the record could not be written");
    held_.clear();
    return false;
  }
  std::vector<Held> held;
  held.swap(held_);
  for (Held& one : held) {
    // Messages of a past term are dropped: an acknowledgement is a promise.
    if (one.term != record.term) continue;
    if (one.version <= durable_) {
      send(one.to, std::move(one.body), out);
    } else {
      held_.push_back(std::move(one));
    }
  }
  return true;
}

void QuorumLedger::send(MemberId to, Body body, Effects& out) const {
  out.push_back(Send{to, {self_, record.term, life_, verified ? durable_ : version_at_start_, std::move(body)}});
}

void QuorumLedger::send_when_durable(uint64_t version, MemberId to, Body body, Effects& out) {
  if (durable_ >= version) return send(to, std::move(body), out);
  // Of answers to one member only the last counts.
  std::erase_if(held_, [to](const Held& one) { return one.to == to; });
  if (held_.size() < kMaxHeld) held_.push_back({version, record.term, to, std::move(body)});
}

// The most peers that are remembered, members or not.
constexpr std::size_t kMaxPeers = kMaxMembers * 2;

const char* to_string(Role role) {
  static constexpr EnumNames<Role> kNames("idle", "follower", "pre-candidate", "candidate", "winning", "leader",
                                          "stopping");
  return kNames[role];
}

QuorumBook::QuorumBook(QuorumConfig with, uint64_t seed)
    : config(std::move(with)),
      prng(seed),
      life(prng.next() | 1),
      beats(Period::up_to(config.timing.heartbeat), prng.fork()),
      ledger(config.self, life, config.timing.lease),
      damping(std::nullopt, config.timing.flap) {
  check(config.self != kNobody, "a member needs an id");
  check(config.timing.validate().has_value(), "times are validated before they are used");
}

// --- the role, and the term ------------------------------------------------------------------------------------------

void QuorumBook::set_leader(Instant now, MemberId who, std::string evidence, Effects& out) {
  if (who == leader) return;
  if (who != kNobody && who != last_leader) {
    if (last_leader != kNobody) damping.leader_changed(now);
    last_leader = who;
  }
  leader = who;
  out.push_back(LeaderChanged{leader, record.term, std::move(evidence)});
}

void QuorumBook::adopt_term(Instant now, Term term, MemberId vote, std::string why, Effects& out) {
  check(term > record.term);
  if (role == Role::kLeader) end_term(now, election::EndReason::kTaken, std::move(why), out);
  if (role != Role::kStopping) role = Role::kFollower;
  record.term = term;
  record.vote = vote;
  ledger.persist(out);
  set_leader(now, kNobody, "a later term has begun", out);
  stand_at = std::max(now, promised_until) + turn();
  if (leaving) out.push_back(Left{});
}

void QuorumBook::end_term(Instant now, election::EndReason reason, std::string why, Effects& out) {
  role = work_runs ? Role::kStopping : Role::kFollower;
  out.push_back(
      TermEnded{election::Epoch(record.term.value()), reason, std::move(why), std::max(now, hard_end), work_runs});
  ends = std::min(ends, now);
  set_leader(now, kNobody, "its own term has ended", out);
  suspected = false;
  wait_for_turn(std::max(now, promised_until) + config.timing.lease);
}

// --- the voters ------------------------------------------------------------------------------------------------------

void QuorumBook::use(Configuration members) {
  record.members = std::move(members);
  add_peer(config.self);
  for (const auto* list : {&record.members.voters, &record.members.next}) {
    for (const MemberId id : *list) add_peer(id);
  }
  const auto in = [](const std::vector<MemberId>& list, MemberId id) {
    return std::binary_search(list.begin(), list.end(), id);
  };
  for (QuorumPeer& peer : peers) {
    peer.voter = in(record.members.voters, peer.id);
    peer.next = in(record.members.next, peer.id);
  }
}

const QuorumPeer* QuorumBook::find(MemberId id) const {
  const auto at = std::ranges::find_if(peers, [id](const QuorumPeer& peer) { return peer.id == id; });
  return at == peers.end() ? nullptr : &*at;
}

QuorumPeer& QuorumBook::add_peer(MemberId id) {
  const auto place = std::lower_bound(peers.begin(), peers.end(), id,
                                      [](const QuorumPeer& one, MemberId other) { return one.id < other; });
  if (place != peers.end() && place->id == id) return *place;
  QuorumPeer peer;
  peer.id = id;
  return *peers.insert(place, peer);
}

QuorumPeer* QuorumBook::find_or_add(MemberId id) {
  QuorumPeer* known = find(id);
  if (known != nullptr || peers.size() >= kMaxPeers) return known;
  return &add_peer(id);
}

void QuorumBook::send_all(const Body& body, Effects& out) const {
  for (const QuorumPeer& peer : peers) {
    if (!is_self(peer) && peer.votes()) ledger.send(peer.id, body, out);
  }
}

// --- when its turn comes ---------------------------------------------------------------------------------------------

// A removed member stands if no other does: it may be the only one that knows the newest members.
bool QuorumBook::fit() const {
  return health.score < config.fit_below && health.load != Load::kCritical && health.ready &&
         record.members.has(config.self);
}

// In the order of the ids after the last leader: 0 stands first.
std::size_t QuorumBook::own_place() const {
  const std::vector<MemberId>& voters = record.members.voters;
  if (voters.empty()) return 0;
  const auto place = [&](MemberId id) {
    return static_cast<std::size_t>(std::lower_bound(voters.begin(), voters.end(), id) - voters.begin());
  };
  const std::size_t after = last_leader == kNobody ? 0 : place(last_leader) + 1;
  return (place(config.self) + voters.size() * 2 - after) % voters.size();
}

// How long after the end of a promise this member stands. Each waits for those before it: by fitness, then by priority,
// then by the ids after the last leader.
Duration QuorumBook::turn() const {
  const auto members = static_cast<int64_t>(members_or_one());
  int64_t steps = static_cast<int64_t>(own_place());
  steps += int64_t{health.score} * 2;
  steps += int64_t{std::min<uint8_t>(config.priority, 8)} * members;
  if (!health.ready) steps += members;
  return config.timing.step * steps;
}

void QuorumBook::wait_for_turn(Instant from) {
  stand_at = from + turn();
  // Suspicion removes the delay that only prevents chance collisions of candidates.
  if (!suspected) stand_at += prng.between(Duration::zero(), config.timing.step);
  // Damping is for a leader that comes and goes; a leader that others miss too is gone.
  if (damping.cooling_down(from) && !suspected) stand_at += config.timing.lease * 2;
}

}  // namespace bellwether::quorum
