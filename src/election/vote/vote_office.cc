#include "election/vote/vote_office.h"

#include <algorithm>

#include "core/base/probe.h"
#include "core/base/units.h"

namespace bellwether::vote {

using election::EndReason;

void VoteOffice::begin(Instant now, Effects& out) {
  book_.office = Office::kWinning;
  term_ = election_.round()->term;
  record_.term = term_;
  record_.promised = term_;
  record_.promised_mark = book_.mark;
  record_.longest_promise = std::max(record_.longest_promise, config_.timing.promise());
  win_version_ = ledger_.persist(out);
  beat_ = 0;
  sent_.fill(Instant());
  for (auto& [node, peer] : book_.peers) {
    peer.acked = false, peer.better = 0, peer.acked_round = 0;
    peer.promised_until = Instant();
  }
  next_beat_ = repeat_beat_ = Instant::never();
  winning_until_ = now + config_.timing.election;
  book_.become(State::kComplete, fmt::format("has the votes of {}", ballot().votes_for(config_.self)), out);
}

void VoteOffice::on_persisted(Instant now, Effects& out) {
  if (win_version_ == 0 || !ledger_.is_durable(win_version_) || book_.office != Office::kWinning) return;
  win_version_ = 0;
  beat(now, out);
}

void VoteOffice::tick(Instant now, Effects& out) {
  if (now >= winning_until_) {
    const bool promised = book_.office == Office::kReconstructing;
    if (promised) election_.step_back();
    return end_term(now, EndReason::kExpired,
                    promised ? "the key was not restored in time" : "no quorum promised in time", out);
  }
  if (stepping_down_ && now >= stepping_down_->until) {
    const std::string cause = stepping_down_->cause;
    return end_term(now, EndReason::kUnhealthy, "the work did not stop in time: " + cause, out);
  }
  if (now >= next_beat_) return beat(now, out);
  if (now >= repeat_beat_) repeat_beat(now, out);
}

Instant VoteOffice::wake() const {
  if (!book_.in_office()) return book_.office == Office::kNone ? fall_back_ : Instant::never();
  Instant wake = std::min({winning_until_, next_beat_, repeat_beat_});
  if (book_.office != Office::kWinning) wake = std::min(wake, ends_);
  return stepping_down_ ? std::min(wake, stepping_down_->until) : wake;
}

// --- heartbeats ------------------------------------------------------------------------------------------------------

Body VoteOffice::word() const {
  if (book_.office == Office::kWinning) return Winner{term_, beat_, ballot().voters_of(config_.self)};
  return Heartbeat{term_, beat_};
}

void VoteOffice::beat(Instant now, Effects& out) {
  next_beat_ = now + beats_.next();
  repeat_beat_ = now + config_.timing.heartbeat_timeout / 10;
  ++beat_;
  sent_[beat_ % kRounds] = now;
  ledger_.say(kNobody, word(), out);
  count_promises(now, out);
  if (book_.office == Office::kAdmin) look_for_better(now, out);
}

// To the nodes that have not answered, while too few have.
void VoteOffice::repeat_beat(Instant now, Effects& out) {
  std::size_t answered = 1;
  for (const auto& [node, peer] : book_.peers) answered += peer.acked_round == beat_;
  repeat_beat_ = Instant::never();
  if (answered >= majority_of(config_.members.size())) return;
  repeat_beat_ = now + config_.timing.heartbeat_timeout / 10;
  for (const auto& [node, peer] : book_.peers) {
    if (peer.acked_round != beat_) ledger_.say(node, word(), out);
  }
}

void VoteOffice::on_answer(Instant now, VotePeer& from, const HeartbeatAnswer& answer, Effects& out) {
  if (!book_.in_office() || answer.term != term_ || answer.admin_mark != book_.mark) return;
  if (answer.round == 0 || answer.round > beat_ || beat_ - answer.round >= kRounds) return;
  const Instant sent = sent_at(answer.round);
  if (!from.acked || sent > from.acked_sent) from.acked_sent = sent;
  // An older promise still binds, even if its sender's settings have changed since.
  from.promised_until = std::max(from.promised_until, sent + config_.timing.longest_act(answer.promise));
  if (answer.promise < config_.timing.heartbeat_timeout) {
    BW_PROBE("vote: a promise is shorter than the admin's own");
    const Duration lasts = std::max(answer.promise, config_.timing.heartbeat_timeout / kMaxHaste);
    next_beat_ = std::min(next_beat_, sent_at(beat_) + lasts / 2);
  }
  from.acked = true;
  from.acked_round = std::max(from.acked_round, answer.round);
  from.stands = answer.stands;
  // Written so that a NaN is no score.
  from.score = answer.score >= 0 && answer.score <= 1 ? answer.score : 0;
  count_promises(now, out);
}

std::map<NodeId, Instant> VoteOffice::promises() const {
  std::map<NodeId, Instant> out;
  if (!book_.in_office()) return out;
  for (const auto& [node, peer] : book_.peers) {
    if (peer.acked) out[node] = peer.promised_until;
  }
  return out;
}

// The latest instant until which a quorum has promised to answer no other node, and the time of the heartbeat that the
// last of these has answered; 0: none. This node itself answers no other while it is in office.
VoteOffice::Backing VoteOffice::quorum_backing(Instant now) const {
  std::vector<Backing> all = {{now + config_.timing.longest_act(), now}};
  if (config_.rule != QuorumRule::kMajority) return all[0];
  for (const auto& [node, peer] : book_.peers) all.push_back({peer.promised_until, peer.acked_sent});
  const auto nth = all.begin() + static_cast<std::ptrdiff_t>(majority_of(all.size()) - 1);
  std::nth_element(all.begin(), nth, all.end(), std::greater<>());
  return *nth;
}

void VoteOffice::count_promises(Instant now, Effects& out) {
  const auto [hard_end, sent] = quorum_backing(now);
  if (hard_end == Instant()) return;
  const Instant ends = hard_end - config_.timing.stop_grace;
  const bool wins = book_.office == Office::kWinning;
  if (ends <= (wins ? now : ends_)) return;
  ends_ = ends;
  hard_end_ = hard_end;
  if (book_.office == Office::kAdmin) out.push_back(Renewed{ends, now - sent});
  if (!wins) return;
  if (!config_.reconstructs_keys) return take_office(now, out);
  book_.office = Office::kReconstructing;
  winning_until_ = now + config_.timing.election;
  book_.become(State::kReconstructing, "a quorum promised; the key is being restored", out);
  out.push_back(Reconstruct{term_});
}

void VoteOffice::on_keys(Instant now, const KeysReady& keys, Effects& out) {
  if (book_.office != Office::kReconstructing || keys.term != term_) return;
  if (keys.ok) return take_office(now, out);
  // Perhaps only this node cannot have it: others try before it does again.
  election_.step_back();
  end_term(now, EndReason::kUnhealthy, "the key could not be restored: " + keys.why, out);
}

void VoteOffice::take_office(Instant now, Effects& out) {
  book_.office = Office::kAdmin;
  winning_until_ = Instant::never();
  work_runs_ = true;
  stepping_down_.reset();
  fall_back_ = Instant::never();
  search_.elected(now);
  search_.found_quorum();
  election_.settle();
  book_.hearsay = false;
  book_.set_admin(config_.self, term_, "a quorum voted for this node and promised to answer no other", out);
  out.push_back(ElectionComplete{config_.self, term_, "it has the votes"});
  book_.become(State::kIdle, "this node is the admin", out);
  out.push_back(Elected{election::Epoch(term_.value()), now, ends_});
}

// --- leaving the office ----------------------------------------------------------------------------------------------

bool VoteOffice::heard(const VotePeer& peer, Instant now) const {
  return peer.acked && peer.acked_sent + config_.timing.heartbeat_timeout >= now;
}

// With hysteresis, so that fluctuating scores move no office.
void VoteOffice::look_for_better(Instant now, Effects& out) {
  if (config_.transfer_after <= 0 || stepping_down_) return;
  NodeId best;
  double score = book_.claim.score + config_.transfer_margin;
  for (auto& [node, peer] : book_.peers) {
    const double its = peer.score - book_.penalty_of(peer);
    const bool better = heard(peer, now) && peer.stands && its > book_.claim.score + config_.transfer_margin;
    peer.better = better ? peer.better + 1 : 0;
    if (peer.better < config_.transfer_after || its <= score) continue;
    best = node;
    score = its;
  }
  if (best == kNobody || now < search_.window_end(Trigger::kManual)) return;
  begin_drain(
      now, fmt::format("node {} has been a better candidate for {} heartbeats", best.value(), config_.transfer_after),
      best, out);
}

void VoteOffice::on_call(Instant now, const CallElection& wish, Effects& out) {
  if (book_.follows_only()) return out.push_back(Denied{"this node follows only"});
  if (book_.admin != kNobody && book_.office != Office::kAdmin) {
    return out.push_back(Denied{fmt::format("node {} is the admin: send the request to it", book_.admin.value())});
  }
  if (book_.office == Office::kStopping) return out.push_back(Denied{"its own work has not stopped yet"});
  if (stepping_down_) return out.push_back(Denied{"it is handing over already: " + stepping_down_->cause});
  const Instant until = search_.window_end(Trigger::kManual);
  if (!wish.forced && now < until) {
    return out.push_back(Denied{fmt::format("the last election was too recent: for {} more, only a forced one is held",
                                            format_duration(until - now))});
  }
  if (book_.office == Office::kAdmin) return begin_drain(now, "an election was called", kNobody, out);
  if (book_.in_office() || election_.under_way()) {
    // After the present election, if it has no winner.
    election_.call_again();
    return out.push_back(Note{false, "an election is in progress: the requested one follows if it has no winner"});
  }
  if (!book_.may_take_part(now)) return out.push_back(Denied{"a promise to the last admin has not expired yet"});
  election_.start(now, Trigger::kManual, std::nullopt, out);
}

void VoteOffice::on_transfer(Instant now, const Transfer& wish, Effects& out) {
  if (book_.office != Office::kAdmin) return out.push_back(Denied{"this node is not the admin"});
  if (stepping_down_) return out.push_back(Denied{"it is handing over already: " + stepping_down_->cause});
  NodeId to = wish.heir;
  if (to == kNobody) {
    double score = -2;  // less than any score without its penalty
    for (const auto& [node, peer] : book_.peers) {
      const double its = peer.score - book_.penalty_of(peer);
      if (!heard(peer, now) || !peer.stands || its <= score) continue;
      to = node;
      score = its;
    }
    if (to == kNobody) return out.push_back(Denied{"no other candidate answers"});
  }
  const auto at = book_.peers.find(to);
  if (at == book_.peers.end()) {
    return out.push_back(Denied{to == config_.self ? "it is the admin already" : "there is no such node"});
  }
  const VotePeer& heir = at->second;
  if (!heard(heir, now)) return out.push_back(Denied{"the heir has not answered for the heartbeat timeout"});
  if (!heir.stands) return out.push_back(Denied{"the heir is not a candidate"});
  begin_drain(now, wish.cause.empty() ? fmt::format("it hands over to node {}", to.value()) : wish.cause, to, out);
}

void VoteOffice::on_leave(Instant now, const Leave& wish, Effects& out) {
  book_.leaving = true;
  if (book_.office == Office::kAdmin) {
    if (!stepping_down_) begin_drain(now, wish.cause, kNobody, out);
    return;
  }
  if (book_.in_office()) end_term(now, EndReason::kResigned, wish.cause, out);
  if (book_.office == Office::kNone) out.push_back(Left{});
}

void VoteOffice::begin_drain(Instant now, std::string cause, NodeId heir, Effects& out) {
  stepping_down_ = SteppingDown{cause, heir, now + config_.drain_limit};
  out.push_back(Drain{std::move(cause), true});
}

void VoteOffice::on_work_stopped(Instant now, Effects& out) {
  if (!work_runs_) return;
  work_runs_ = false;
  if (book_.office == Office::kAdmin) {
    if (!stepping_down_) {
      out.push_back(Note{true, "the work stopped by itself, so this node gives up the office"});
      stepping_down_ = SteppingDown{"its work has stopped", kNobody, now};
    }
    return resign(now, out);
  }
  if (book_.office != Office::kStopping) return;
  book_.office = Office::kNone;
  if (book_.leaving) out.push_back(Left{});
}

// Its work has stopped: the others may know, and elect at once.
void VoteOffice::resign(Instant now, Effects& out) {
  const SteppingDown down = *stepping_down_;
  const Term term = term_;
  end_term(now, EndReason::kResigned, down.cause, out);
  if (down.heir != kNobody) {
    BW_PROBE("vote: an admin hands over");
    fall_back_ = now + config_.timing.transfer;
  }
  election_.start(now, Trigger::kManual, Permission{term, down.heir}, out);
  if (book_.leaving) out.push_back(Left{});
}

bool VoteOffice::falls_back(Instant now, Effects& out) {
  if (now < fall_back_) return false;
  fall_back_ = Instant::never();
  if (book_.admin != kNobody || !book_.may_take_part(now)) return false;
  out.push_back(Note{true, "the heir did not take over in time: this node takes the office back"});
  if (election_.under_way()) election_.end_round("the heir did not take over in time", out);
  election_.start(now, Trigger::kManual, Permission{term_, config_.self}, out);
  return true;
}

void VoteOffice::end_term(Instant now, EndReason reason, std::string why, Effects& out) {
  const bool acted = book_.office == Office::kAdmin;
  book_.office = work_runs_ ? Office::kStopping : Office::kNone;
  next_beat_ = repeat_beat_ = winning_until_ = Instant::never();
  stepping_down_.reset();
  win_version_ = 0;
  if (acted) {
    out.push_back(TermEnded{election::Epoch(term_.value()), reason, why, std::max(now, hard_end_), work_runs_});
  } else {
    out.push_back(ElectionComplete{kNobody, term_, why});
  }
  ends_ = std::min(ends_, now);
  book_.set_admin(kNobody, term_, "its own term has ended", out);
  search_.discover(now, std::move(why), out);
}

// Another node is the admin of the very term of this one: some node has voted twice. Both go.
void VoteOffice::split_brain(Instant now, NodeId other, Effects& out) {
  BW_PROBE("vote: two admins in one term");
  end_term(now, EndReason::kTaken, fmt::format("node {} is the admin of the same term", other.value()), out);
  search_.elect(now + book_.prng.between(Duration::zero(), config_.timing.gather), Trigger::kSplitBrain);
}

}  // namespace bellwether::vote
