#include "election/quorum/quorum_elector.h"

#include <algorithm>

#include "base/check.h"
#include "base/overloaded.h"
#include "base/probe.h"

namespace bellwether::quorum {

using election::EndReason;

const char* to_string(Role role) {
  switch (role) {
    case Role::kIdle: return "idle";
    case Role::kFollower: return "follower";
    case Role::kPreCandidate: return "pre-candidate";
    case Role::kCandidate: return "candidate";
    case Role::kWinning: return "winning";
    case Role::kLeader: return "leader";
    case Role::kStopping: return "stopping";
  }
  return "?";
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
    adopt_term(now, message.term, kNobody, "member " + std::to_string(from.id.value()) + " knows a later term", out);
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

}  // namespace bellwether::quorum
