#include "election/vote/vote_elector.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/overloaded.h"
#include "core/base/probe.h"

namespace bellwether::vote {

using election::EndReason;

std::string_view to_string(State state) {
  static constexpr EnumNames<State> kNames("idle", "discovering", "electing", "reconstructing_keys", "complete");
  return kNames[state];
}

std::string_view to_string(Trigger trigger) {
  static constexpr EnumNames<Trigger> kNames("split_brain_detected", "manual_trigger", "admin_heartbeat_timeout",
                                             "quorum_restored", "no_admin_discovered");
  return kNames[trigger];
}

std::string_view to_string(Refusal refusal) {
  static constexpr EnumNames<Refusal> kNames("not_a_member", "earlier_life", "second_process", "heard_before",
                                             "older_term", "not_elected");
  return kNames[refusal];
}

VoteElector::VoteElector(VoteConfig config, uint64_t seed)
    : config_(std::move(config)),
      prng_(seed),
      mark_(prng_.next() | 1),
      beats_(Period::up_to(config_.timing.heartbeat()), prng_.fork()) {
  check(config_.self != kNobody, "a node needs an id");
  check(config_.members.size() <= kMostNodes, "members are counted before they are used");
  check(config_.timing.validate().has_value(), "times are validated before they are used");
  check(config_.weights.validate().has_value(), "weights are validated before they are used");
  bool is_member = false;
  for (const NodeId node : config_.members) {
    is_member |= node == config_.self;
    if (node == config_.self) continue;
    Peer& peer = peers_[node];
    if (const auto at = config_.capabilities.find(node); at != config_.capabilities.end()) {
      peer.known.capabilities = at->second;
    }
  }
  check(is_member && peers_.size() + 1 == config_.members.size(),
        "a node is one of the members, and each is there once");
}

bool VoteElector::stands() const { return measured_ && !leaving_ && !follows_only() && may_stand(claim_.capabilities); }

void VoteElector::step(Instant now, const Event& event, Effects& out) {
  // Whatever has happened: an admin that was paused past its end finds that out first.
  if ((office_ == Office::kAdmin || office_ == Office::kReconstructing) && now >= ends_) {
    end_term(now, EndReason::kExpired, "no quorum has answered in time", out);
  }
  if (const auto* start = std::get_if<Start>(&event)) return on_start(now, *start, out);
  if (!started_) {
    if (const auto* measured = std::get_if<Measured>(&event)) measure(now, measured->claim);
    return;
  }
  std::visit(Overloaded{
                 [](const Start&) {},  // above
                 [&](const Tick&) { on_tick(now, out); },
                 [&](const Received& received) { on_received(now, received.message, out); },
                 [&](const Persisted& persisted) { on_persisted(now, persisted, out); },
                 [&](const Measured& measured) { measure(now, measured.claim); },
                 [&](const PeerMeasured& peer) {
                   if (const auto at = peers_.find(peer.node); at != peers_.end()) {
                     at->second.known.network_quality = peer.network_quality;
                   }
                 },
                 [&](const PeerVetted& vetted) {
                   if (const auto at = peers_.find(vetted.node); at != peers_.end()) {
                     KnownOfNode& known = at->second.known;
                     if (vetted.capabilities) known.capabilities = vetted.capabilities;
                     known.capabilities_why = vetted.capabilities_why;
                     known.absent = vetted.absent;
                   }
                 },
                 [&](const PeerStanding& conduct) {
                   if (const auto at = peers_.find(conduct.node); at != peers_.end())
                     at->second.known.standing = conduct.standing;
                 },
                 [&](const WorkStopped&) { on_work_stopped(now, out); },
                 [&](const CallElection& wish) { call_election(now, wish, out); },
                 [&](const Transfer& transfer) { on_transfer(now, transfer, out); },
                 [&](const Leave& leave) { on_leave(now, leave, out); },
                 [&](const KeysReady& keys) { on_keys(now, keys, out); },
             },
             event);
  claim_.score = score_of(claim_, config_.weights);
}

void VoteElector::measure(Instant now, Claim claim) {
  claim_ = std::move(claim);
  measured_at_ = now;
  measured_ = true;
}

Instant VoteElector::wake() const {
  if (!started_ || silent_) return Instant::never();
  Instant wake = disk_again_;
  switch (office_) {
    case Office::kWinning: return std::min({wake, winning_until_, next_beat_, repeat_beat_});
    case Office::kReconstructing:
    case Office::kAdmin: {
      wake = std::min({wake, ends_, winning_until_, next_beat_, repeat_beat_});
      return stepping_down_ ? std::min(wake, stepping_down_->until) : wake;
    }
    case Office::kStopping: return wake;
    case Office::kNone: break;
  }
  wake = std::min(wake, fall_back_);
  if (round_ && !round_->over) {
    wake = std::min({wake, round_->closes, round_->repeat_at});
    return round_->voted ? wake : std::min(wake, round_->vote_at);
  }
  if (admin_ != kNobody) return std::min({wake, admin_until_, elect_at_});
  return std::min({wake, next_discovery_, elect_at_});
}

void VoteElector::on_start(Instant now, const Start& start, Effects& out) {
  check(!started_, "a node is started once");
  started_ = true;
  record_ = start.record;
  if (start.found == Start::Found::kUnreadable) record_ = Record{.lost = true};
  ++record_.start;
  // A promise that was made before may last so long; which one, nobody knows any more.
  quiet_until_ = start.found == Start::Found::kRecord ? now + record_.longest_promise : now;
  highest_ = last_term();
  persist(out);
  if (record_.lost) {
    note(true,
         "follows only: what it had promised before is not known any more; remove this node, and add it under "
         "another id",
         out);
  }
  discover(now, "it was started", out);
}

void VoteElector::on_tick(Instant now, Effects& out) {
  if (now >= disk_again_) {
    disk_again_ = Instant::never();
    if (disk_failed_) persist(out);
  }
  if (in_office()) {
    if (now >= winning_until_) {
      const bool promised = office_ == Office::kReconstructing;
      if (promised) steps_back_ = true;
      return end_term(now, EndReason::kExpired,
                      promised ? "the key was not put together in time" : "no quorum has promised in time", out);
    }
    if (stepping_down_ && now >= stepping_down_->until) {
      const std::string cause = stepping_down_->cause;
      return end_term(now, EndReason::kUnhealthy, "the work has not stopped in time: " + cause, out);
    }
    if (now >= next_beat_) return beat(now, out);
    if (now >= repeat_beat_) repeat_beat(now, out);
    return;
  }
  if (office_ == Office::kStopping) return;
  if (now >= fall_back_) {
    fall_back_ = Instant::never();
    if (admin_ == kNobody && may_take_part(now)) {
      note(true, "the heir has not taken over in time: this node takes the office back", out);
      if (round_ && !round_->over) end_round(kNobody, round_->term, "the heir has not taken over in time", out);
      return start_election(now, Trigger::kManual, Permission{term_, config_.self}, out);
    }
  }
  if (round_ && !round_->over) {
    if (now >= round_->closes) return decide(now, true, out);
    if (now >= round_->vote_at) try_vote(now, out);
    if (round_ && !round_->over && now >= round_->repeat_at) repeat(now, out);
    return;
  }
  if (admin_ != kNobody && now >= admin_until_) {
    if (!hearsay_) out.push_back(Conduct{admin_, Deed::kLostHeartbeats});
    const std::string why = fmt::format("nothing was heard of node {} for the heartbeat timeout", admin_.value());
    set_admin(kNobody, admin_term_, why, out);
    admin_until_ = Instant::never();
    elect_why_ = Trigger::kHeartbeatTimeout;
    elect_at_ = stands() ? now + prng_.between(Duration::zero(), config_.timing.gather) : Instant::never();
    become(State::kDiscovering, why, out);
    next_discovery_ = now + config_.timing.discovery;
    return;
  }
  if (now >= elect_at_) {
    elect_at_ = Instant::never();
    return trigger(now, elect_why_, out);
  }
  if (admin_ == kNobody && now >= next_discovery_) ask_around(now, out);
}

void VoteElector::on_received(Instant now, const Message& message, Effects& out) {
  if (message.from == config_.self) return;
  const auto at = peers_.find(message.from);
  if (at == peers_.end()) {
    ++refusals_[static_cast<std::size_t>(Refusal::kStranger)];
    out.push_back(Refused{message.from, "it is not a member"});
    return;
  }
  Peer& peer = at->second;
  if (silent_ || !is_listened_to(now, message.from, peer, message, out)) return;
  peer.last_heard = now;
  peer.refused.clear();
  highest_ = std::max(highest_, message.term);
  look_at_quorum(now);
  const NodeId from = message.from;
  std::visit(Overloaded{
                 [&](const DiscoveryRequest&) { on_request(from, out); },
                 [&](const DiscoveryResponse& response) { on_response(now, from, response, out); },
                 [&](const ElectionStarted& started) { on_started(now, from, started, out); },
                 [&](const Candidacy& candidacy) { on_candidacy(now, from, peer, candidacy, out); },
                 [&](const Vote& vote) { on_vote(now, from, vote, out); },
                 [&](const Winner& winner) { on_winner(now, from, winner, out); },
                 [&](const Heartbeat& beat) { on_admin_word(now, from, message.mark, beat.term, beat.round, out); },
                 [&](const HeartbeatAnswer& answer) { on_answer(now, peer, answer, out); },
             },
             message.body);
}

// Of each node one life is listened to, the one of the highest start, and each of its messages once.
bool VoteElector::is_listened_to(Instant now, NodeId from, Peer& peer, const Message& message, Effects& out) {
  const bool older = message.start < peer.start;
  const bool other = message.start == peer.start && message.mark != peer.mark;
  if (older || other) {
    BW_PROBE("vote: a life that is over, or a second process under one id");
    const char* why = older ? "it comes from an earlier life of this node, or from an older copy of its disk"
                            : "another process has the same id";
    // Whoever says it may not know, and one that follows somebody asks nobody.
    if (peer.refused != why || std::holds_alternative<DiscoveryRequest>(message.body)) tell(from, out);
    refuse(from, peer, older ? Refusal::kEarlierLife : Refusal::kSecondProcess, why, out);
    return false;
  }
  if (message.start > peer.start) {
    if (peer.start != 0) peer.known.earlier_life_heard = peer.last_heard;
    peer.start = message.start;
    peer.mark = message.mark;
    peer.newest = peer.heard = 0;
    peer.known.forgiven = Duration::zero();
    peer.acked = false;
    peer.promised_until = Instant();
    // Who was promised something by the last life is not known by this one.
    if (from == admin_ && !has_promised(now)) admin_until_ = std::min(admin_until_, now);
  }
  if (message.sequence > peer.newest) {
    const uint64_t step = message.sequence - peer.newest;
    peer.heard = step < 64 ? (peer.heard << step) | 1 : 1;
    peer.newest = message.sequence;
    return true;
  }
  const uint64_t back = peer.newest - message.sequence;
  if (back >= 64 || (peer.heard >> back & 1) != 0) {
    refuse(from, peer, Refusal::kReplay, "it was heard before", out);
    return false;
  }
  peer.heard |= uint64_t{1} << back;
  return true;
}

void VoteElector::refuse(NodeId from, Peer& peer, Refusal kind, std::string why, Effects& out) {
  ++refusals_[static_cast<std::size_t>(kind)];
  if (peer.refused == why) return;
  peer.refused = why;
  out.push_back(Refused{from, std::move(why)});
}

// --- the record ------------------------------------------------------------------------------------------------------

uint64_t VoteElector::persist(Effects& out) {
  ++record_.version;
  out.push_back(Persist{record_});
  return record_.version;
}

void VoteElector::on_persisted(Instant now, const Persisted& done, Effects& out) {
  if (!done.ok) {
    BW_PROBE("vote: the record could not be written");
    if (!disk_failed_) note(true, "abstains: the record could not be made durable: " + done.why, out);
    disk_failed_ = true;
    disk_again_ = now + config_.timing.heartbeat_timeout / 4;
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
    if (one.version <= durable_) {
      say(one.to, std::move(one.body), out);
    } else {
      held_.push_back(std::move(one));
    }
  }
  if (win_version_ != 0 && durable_ >= win_version_ && office_ == Office::kWinning) {
    win_version_ = 0;
    beat(now, out);
  }
  if (vote_version_ != 0 && durable_ >= vote_version_) {
    vote_version_ = 0;
    if (!round_ || round_->over || round_->term != record_.term || in_office()) return;
    round_->ballot.vote(config_.self, record_.vote);
    say(kNobody, Vote{record_.term, record_.vote}, out);
    decide(now, false, out);
  }
}

// What it had voted and promised before is not known: it takes part in nothing that has begun either.
void VoteElector::follow_only(Instant now, const std::string& why, Effects& out) {
  note(true, "follows only: " + why, out);
  record_.lost = true;
  persist(out);
  if (in_office()) return end_term(now, EndReason::kUnhealthy, why, out);
  if (!round_ || round_->over) return;
  BW_PROBE("vote: a node finds out during an election that its disk was set back");
  end_round(kNobody, round_->term, why, out);
  discover(now, why, out);
}

// --- what is said ----------------------------------------------------------------------------------------------------

void VoteElector::say(NodeId to, Body body, Effects& out) {
  // Until the number of this start is durable, the next one might have the same.
  if (durable_ == 0) return say_when_durable(1, to, std::move(body), out);
  Message message{config_.self, record_.start, mark_, ++sequence_, last_term(), std::move(body)};
  if (to == kNobody) {
    out.push_back(Broadcast{std::move(message)});
  } else {
    out.push_back(Send{to, std::move(message)});
  }
}

void VoteElector::say_when_durable(uint64_t version, NodeId to, Body body, Effects& out) {
  if (durable_ >= version && durable_ != 0) return say(to, std::move(body), out);
  if (held_.size() < kMostHeld) held_.push_back({version, to, std::move(body)});
}

void VoteElector::become(State state, std::string why, Effects& out) {
  if (state == state_) return;
  out.push_back(StateChanged{state_, state, std::move(why)});
  state_ = state;
}

void VoteElector::set_admin(NodeId admin, Term term, std::string evidence, Effects& out) {
  const NodeId before = admin_;
  // One who was cut off hears of the same admin again, in a later term.
  const bool changed = before != admin || (admin != kNobody && term > admin_term_);
  admin_ = admin;
  if (admin != kNobody) last_admin_ = admin;
  admin_term_ = std::max(admin_term_, term);
  highest_ = std::max(highest_, term);
  if (changed) out.push_back(AdminChanged{before, admin, term, std::move(evidence)});
}

void VoteElector::note(bool warning, std::string text, Effects& out) const {
  out.push_back(Note{warning, std::move(text)});
}

}  // namespace bellwether::vote
