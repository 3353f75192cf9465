#include "election/quorum/quorum_elector.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/overloaded.h"
#include "core/base/probe.h"

namespace bellwether::quorum {

using election::EndReason;

const char* to_string(Role role) {
  static constexpr EnumNames<Role> kNames("idle", "follower", "pre-candidate", "candidate", "winning", "leader",
                                          "stopping");
  return kNames[role];
}

QuorumElector::QuorumElector(QuorumConfig config, uint64_t seed)
    : config_(std::move(config)),
      prng_(seed),
      life_(prng_.next() | 1),
      beats_(Period::up_to(config_.timing.heartbeat), prng_.fork()),
      damping_(std::nullopt, config_.timing.flap),
      number_(prng_.next() >> 1) {
  check(config_.self != kNobody, "a member needs an id");
  check(config_.timing.validate().has_value(), "times are validated before they are used");
}

void QuorumElector::step(Instant now, const Event& event, Effects& out) {
  if (silent_ && !std::holds_alternative<WorkStopped>(event)) return;
  // Whatever has happened: a leader that was paused past its end finds that out first.
  if (role_ == Role::kLeader && now >= ends_) end_term(now, EndReason::kExpired, "no quorum has answered in time", out);
  if (const auto* start = std::get_if<Start>(&event)) return on_start(now, *start, out);
  if (role_ == Role::kIdle) return;
  std::visit(Overloaded{
                 [](const Start&) {},  // above
                 [&](const Tick&) { on_tick(now, out); },
                 [&](const Received& received) { on_received(now, received.message, out); },
                 [&](const Persisted& persisted) { on_persisted(now, persisted, out); },
                 [&](const LocalHealth& health) { on_health(now, health, out); },
                 [&](const LeaderSuspected& suspected) {
                   if (suspected.leader != leader_ || leader_ == config_.self || leader_ == kNobody || suspected_)
                     return;
                   suspected_ = true;
                   if (role_ == Role::kFollower) wait_for_turn(promised_until_);
                 },
                 [&](const LeaderDead& dead) { on_leader_dead(now, dead, out); },
                 [&](const WorkStopped&) { work_stopped(now, out); },
                 [&](const StepDown& wish) { step_down(now, wish, out); },
                 [&](const Stand& standing) { on_stand(now, standing); },
                 [&](const Synced&) {
                   if (!standing_.active) note(false, "has the state of the group, and is active", out);
                   standing_.active = true;
                 },
                 [&](const SyncFailed& failed) {
                   note(true, "goes on without the state of the group, still syncing: " + failed.why, out);
                 },
                 [&](const StateWritten& written) { standing_.state = std::max(standing_.state, written.state); },
                 [&](const ChangeMembers& change) { on_change(now, change, out); },
             },
             event);
}

Instant QuorumElector::wake() const {
  if (role_ == Role::kIdle || silent_) return Instant::never();
  Instant wake = verified_ || follows_only_ ? disk_again_ : std::min({disk_again_, quiet_until_, next_greeting_});
  if (hand_over_) wake = std::min(wake, hand_over_->next);
  switch (role_) {
    case Role::kFollower: return std::min(wake, stand_at_);
    case Role::kPreCandidate: return std::min(wake, round_ends_);
    case Role::kCandidate: return std::min({wake, round_ends_, repeat_at_});
    case Role::kWinning: return std::min({wake, round_ends_, next_beat_});
    case Role::kLeader: return std::min({wake, ends_, next_beat_, drain_until_});
    default: return wake;
  }
}

void QuorumElector::on_tick(Instant now, Effects& out) {
  if (!verified_ && !follows_only_) {
    verify(now, out);
    if (!verified_ && now >= next_greeting_) greet_all(now, out);
  }
  if (now >= disk_again_) {
    disk_again_ = Instant::never();
    if (disk_failed_) persist(out);
  }
  if (hand_over_ && now >= hand_over_->next) go_on_handing_over(now, out);
  switch (role_) {
    case Role::kFollower:
      if (now >= stand_at_) stand(now, out);
      break;
    case Role::kPreCandidate:
      if (now < round_ends_) break;
      // Who is still syncing has waited for everybody's answer.
      if (!standing_.active && quorum_granted() && again_after_ == Duration::zero() && !cannot_win()) {
        campaign(now, std::nullopt, out);
      } else {
        round_failed(now, "too few have answered the pre-vote", out);
      }
      break;
    case Role::kCandidate:
      if (now >= round_ends_) {
        // Silence may be disks that take longer; who has refused would not have voted with more time either.
        const bool silence = std::none_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.refused; });
        if (silence && durable_ >= vote_version_) ++failed_campaigns_;
        round_failed(now, "too few have voted in time", out);
      } else if (now >= repeat_at_) {
        request_votes(now, out);
      }
      break;
    case Role::kWinning:
      if (now >= round_ends_) {
        round_failed(now, "no quorum has promised in time", out);
        break;
      }
      [[fallthrough]];
    case Role::kLeader:
      if (now >= drain_until_) {
        end_term(now, EndReason::kUnhealthy, "the work has not stopped in time: " + stepping_down_->cause, out);
      } else if (now >= next_beat_) {
        beat(now, out);
      }
      break;
    default: break;
  }
}

void QuorumElector::on_received(Instant now, const Message& message, Effects& out) {
  if (message.from == config_.self || message.from == kNobody) return;
  Peer* from = find_or_add(message.from);
  if (from == nullptr) return;
  if (const auto* greeting = std::get_if<Greeting>(&message.body)) return on_greeting(*from, message, *greeting, out);
  if (const auto* answer = std::get_if<GreetingAnswer>(&message.body)) {
    if (!follows_only_) on_greeting_answer(now, *from, *answer, out);
    return;
  }
  if (const auto* superseded = std::get_if<Superseded>(&message.body)) return on_superseded(now, *superseded, out);
  if (std::holds_alternative<WhoAreYou>(message.body)) return greet(message.from, 0, out);
  if (!known_life(*from, message, out)) return;
  from->newest_record = std::max(from->newest_record, message.record);
  deliver(now, *from, message, out);
}

void QuorumElector::deliver(Instant now, Peer& from, const Message& message, Effects& out) {
  if (follows_only_) return on_word_of_leader(now, from, message, out);
  if (const auto* ask = std::get_if<PreVote>(&message.body)) return on_pre_vote(now, from, message, *ask, out);
  if (const auto* ask = std::get_if<Vote>(&message.body)) return on_vote(now, from, message, *ask, out);
  if (const auto* beat = std::get_if<Heartbeat>(&message.body)) return on_heartbeat(now, from, message, *beat, out);
  if (!verified_) return;
  if (message.term > record_.term) {
    adopt_term(now, message.term, kNobody, fmt::format("member {} knows a later term", from.id.value()), out);
  }
  std::visit(
      Overloaded{
          []<OneOf<Greeting, GreetingAnswer, Superseded, WhoAreYou, PreVote, Vote, Heartbeat> Above>(const Above&) {},
          [&](const PreVoteAnswer& pre_vote) { on_pre_vote_answer(now, from, pre_vote, out); },
          [&](const VoteAnswer& vote) { on_vote_answer(now, from, message, vote, out); },
          [&](const HeartbeatAnswer& promise) { on_heartbeat_answer(now, from, message, promise, out); },
          [&](const StandNow&) { on_stand_now(now, from, message, out); },
          [&](const Resigned&) { on_resigned(now, from, message, out); },
          [&](const Configure& told) { on_configure(now, from, message, told, out); },
      },
      message.body);
}

// --- the record ------------------------------------------------------------------------------------------------------

uint64_t QuorumElector::persist(Effects& out) {
  ++record_.version;
  out.push_back(Persist{record_});
  return record_.version;
}

void QuorumElector::on_persisted(Instant now, const Persisted& done, Effects& out) {
  if (!done.ok) {
    BW_PROBE("quorum: the record could not be written");
    if (!disk_failed_) note(true, "abstains: the record could not be made durable: " + done.why, out);
    disk_failed_ = true;
    disk_again_ = now + config_.timing.lease;
    held_.clear();
    if (role_ == Role::kCandidate && durable_ < vote_version_) round_failed(now, "its own vote is not durable", out);
    if (role_ == Role::kLeader) consider_stepping_down(now, out);
    return;
  }
  durable_ = std::max(durable_, done.version);
  if (disk_failed_ && durable_ == record_.version) {
    note(false, "takes part again: the record is durable", out);
    disk_failed_ = false;
    disk_again_ = Instant::never();
  }
  std::vector<Held> held;
  held.swap(held_);
  for (Held& one : held) {
    // What was to be said of a term that is past must not be said any more: an acknowledgement is a promise.
    if (one.term != record_.term) continue;
    if (one.version <= durable_) {
      send(one.to, std::move(one.body), out);
    } else {
      held_.push_back(std::move(one));
    }
  }
  if (role_ == Role::kCandidate && vote_version_ != 0 && durable_ >= vote_version_) {
    Peer* self = find(config_.self);
    if (self != nullptr && !self->granted) {
      self->granted = true;
      round_ends_ = std::min(campaign_began_ + kLongestCampaign,
                             now + config_.timing.vote_timeout * (int64_t{1} << std::min(failed_campaigns_, 8)));
      request_votes(now, out);
    }
  }
  advance_members(now, out);
}

void QuorumElector::send_when_durable(uint64_t version, MemberId to, Body body, Effects& out) {
  if (durable_ >= version) return send(to, std::move(body), out);
  // Of answers to one member only the last counts.
  std::erase_if(held_, [to](const Held& one) { return one.to == to; });
  if (held_.size() < kMostHeld) held_.push_back({version, record_.term, to, std::move(body)});
}

void QuorumElector::adopt_term(Instant now, Term term, MemberId vote, std::string why, Effects& out) {
  check(term > record_.term);
  if (role_ == Role::kLeader) end_term(now, EndReason::kTaken, std::move(why), out);
  if (role_ != Role::kStopping) role_ = Role::kFollower;
  hand_over_.reset();
  record_.term = term;
  record_.vote = vote;
  persist(out);
  set_leader(now, kNobody, "a later term has begun", out);
  stand_at_ = std::max(now, promised_until_) + turn();
  if (leaving_) out.push_back(Left{});
}

void QuorumElector::set_leader(Instant now, MemberId leader, std::string evidence, Effects& out) {
  if (leader == leader_) return;
  if (leader != kNobody && leader != last_leader_) {
    if (last_leader_ != kNobody) damping_.leader_changed(now);
    last_leader_ = leader;
  }
  leader_ = leader;
  out.push_back(LeaderChanged{leader, record_.term, std::move(evidence)});
}

// --- messages --------------------------------------------------------------------------------------------------------

Message QuorumElector::message(Body body) const {
  return {config_.self, record_.term, life_, verified_ ? durable_ : loaded_, std::move(body)};
}

void QuorumElector::send(MemberId to, Body body, Effects& out) const {
  out.push_back(Send{to, message(std::move(body))});
}

void QuorumElector::send_all(const Body& body, Effects& out) const {
  for (const Peer& peer : peers_) {
    if (peer.id != config_.self && (peer.voter || peer.next)) send(peer.id, body, out);
  }
}

void QuorumElector::note(bool warning, std::string text, Effects& out) const {
  out.push_back(Note{warning, std::move(text)});
}

// Who votes, and how that changes.

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
