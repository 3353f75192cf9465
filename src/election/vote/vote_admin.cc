// The office: heartbeats, the promises that answer them, and the ways in which a term ends.
#include <algorithm>
#include <set>

#include "core/base/probe.h"
#include "core/base/units.h"
#include "election/vote/vote_elector.h"

namespace bellwether::vote {

using election::EndReason;

// --- the word of an admin --------------------------------------------------------------------------------------------

void VoteElector::on_winner(Instant now, NodeId from, const Winner& winner, Effects& out) {
  Peer& peer = peers_.at(from);
  const std::set<NodeId> voters(winner.voters.begin(), winner.voters.end());
  for (const NodeId voter : voters) {
    if (voter != config_.self && !peers_.contains(voter)) {
      return refuse(from, peer, Refusal::kNotElected, "says that it was elected by somebody who is no member", out);
    }
  }
  if (config_.rule == QuorumRule::kMajority && voters.size() < majority_of(config_.members.size())) {
    return refuse(from, peer, Refusal::kNotElected, "says that it was elected by fewer than a majority", out);
  }
  const bool voted = record_.term == winner.term && record_.vote == from;
  if (voters.contains(config_.self) && !voted && record_.term >= winner.term) {
    BW_PROBE("vote: a winner that claims a vote which it was not given");
    return refuse(from, peer, Refusal::kNotElected, "says that this node has voted for it, which it has not", out);
  }
  on_admin_word(now, from, peer.mark, winner.term, winner.round, out);
}

void VoteElector::on_admin_word(Instant now, NodeId from, uint64_t mark, Term term, uint64_t round, Effects& out) {
  if (in_office()) {
    if (term > term_) {
      end_term(now, EndReason::kTaken, fmt::format("node {} is the admin of a later term", from.value()), out);
    } else {
      // It hears of this one, and does what the rule says.
      tell(from, out);
      if (term == term_) split_brain(now, from, out);
      return;
    }
  }
  if (term < std::max(record_.promised, admin_term_)) {
    refuse(from, peers_.at(from), Refusal::kOlderTerm, "it is the admin of an older term", out);
    return tell(from, out);
  }
  if (term <= given_up_) {
    BW_PROBE("vote: a heartbeat that was overtaken by the end of its term");
    return;
  }
  if (term == admin_term_ && admin_ != kNobody && admin_ != from) {
    // Neither is answered any more, so that both go.
    BW_PROBE("vote: a second admin of one term is heard");
    note(true,
         fmt::format("node {} and node {} are both the admin of term {}", admin_.value(), from.value(), term.value()),
         out);
    say(admin_, DiscoveryResponse{from, term, 0, 0}, out);
    return tell(from, out);
  }
  if (office_ == Office::kStopping) return;
  if (round_ && !round_->over) end_round(from, term, "its word was heard", out);
  fall_back_ = Instant::never();
  const bool is_new = admin_ != from || admin_term_ != term;
  hearsay_ = false;
  set_admin(from, term, "its heartbeat was heard", out);
  if (is_new) {
    last_election_ = now;
    any_election_ = true;
    elect_at_ = next_discovery_ = Instant::never();
  }
  become(State::kIdle, fmt::format("node {} is the admin", from.value()), out);
  admin_until_ = std::max(now, promised_until_) + config_.timing.heartbeat_timeout;
  if (follows_only()) return;
  if (term == record_.promised && mark != record_.promised_mark) {
    // Both lives were voted for under one name. What the first one was promised must not be counted by the second.
    BW_PROBE("vote: two processes of one id have won the same term");
    return refuse(from, peers_.at(from), Refusal::kSecondProcess, "another process of its id has had this term", out);
  }
  const bool to_another = has_promised(now) && promised_to_ != from;
  const bool unknown = now < quiet_until_ && term != record_.promised;
  if (to_another || unknown) {
    BW_PROBE("vote: a promise to another admin still lasts");
    return;
  }
  promised_to_ = from;
  promised_until_ = now + config_.timing.promise();
  admin_until_ = promised_until_;
  const HeartbeatAnswer answer{term, round, mark, stands(), claim_.score, config_.timing.heartbeat_timeout};
  if (record_.promised < term || record_.longest_promise < config_.timing.promise()) {
    record_.promised = term;
    record_.promised_mark = mark;
    record_.longest_promise = std::max(record_.longest_promise, config_.timing.promise());
    promise_version_ = persist(out);
  }
  // An answer that waits for the disk is overtaken by the next one.
  std::erase_if(held_, [](const Held& one) { return std::holds_alternative<HeartbeatAnswer>(one.body); });
  say_when_durable(promise_version_, from, answer, out);
}

// --- heartbeats ------------------------------------------------------------------------------------------------------

void VoteElector::beat(Instant now, Effects& out) {
  next_beat_ = now + beats_.next();
  repeat_beat_ = now + config_.timing.heartbeat_timeout / 10;
  ++beat_;
  sent_[beat_ % kRounds] = now;
  if (office_ == Office::kWinning) {
    say(kNobody, Winner{term_, beat_, round_->ballot.voters_of(config_.self)}, out);
  } else {
    say(kNobody, Heartbeat{term_, beat_}, out);
  }
  count_promises(now, out);
  if (office_ == Office::kAdmin) look_for_better(now, out);
}

// To those who have not answered, as long as too few have.
void VoteElector::repeat_beat(Instant now, Effects& out) {
  std::size_t answered = 1;
  for (const auto& [node, peer] : peers_) answered += peer.acked_round == beat_;
  repeat_beat_ = Instant::never();
  if (answered >= majority_of(config_.members.size())) return;
  repeat_beat_ = now + config_.timing.heartbeat_timeout / 10;
  for (const auto& [node, peer] : peers_) {
    if (peer.acked_round == beat_) continue;
    if (office_ == Office::kWinning) {
      say(node, Winner{term_, beat_, round_->ballot.voters_of(config_.self)}, out);
    } else {
      say(node, Heartbeat{term_, beat_}, out);
    }
  }
}

void VoteElector::on_answer(Instant now, Peer& from, const HeartbeatAnswer& answer, Effects& out) {
  if (!in_office() || answer.term != term_ || answer.admin_mark != mark_) return;
  if (answer.round == 0 || answer.round > beat_ || beat_ - answer.round >= kRounds) return;
  const Instant sent = sent_at(answer.round);
  if (!from.acked || sent > from.acked_sent) from.acked_sent = sent;
  // An older promise binds on, also when the settings of who gave it have changed since.
  from.promised_until = std::max(from.promised_until, sent + config_.timing.longest_act(answer.promise));
  if (answer.promise < config_.timing.heartbeat_timeout) {
    BW_PROBE("vote: a promise is shorter than the admin's own");
    const Duration lasts = std::max(answer.promise, config_.timing.heartbeat_timeout / kMostHaste);
    next_beat_ = std::min(next_beat_, sent_at(beat_) + lasts / 2);
  }
  from.acked = true;
  from.acked_round = std::max(from.acked_round, answer.round);
  from.stands = answer.stands;
  // Written so that a score which is no number is none.
  from.score = answer.score >= 0 && answer.score <= 1 ? answer.score : 0;
  count_promises(now, out);
}

std::map<NodeId, Instant> VoteElector::promises() const {
  std::map<NodeId, Instant> out;
  if (!in_office()) return out;
  for (const auto& [node, peer] : peers_) {
    if (peer.acked) out[node] = peer.promised_until;
  }
  return out;
}

// The latest instant until which a quorum has promised to answer nobody else, and when that was sent which the last of
// these has answered; 0: there is none. This node itself answers nobody else while it is in office.
VoteElector::Backing VoteElector::quorum_backing(Instant now) const {
  std::vector<Backing> all = {{now + config_.timing.longest_act(), now}};
  if (config_.rule != QuorumRule::kMajority) return all[0];
  for (const auto& [node, peer] : peers_) all.push_back({peer.promised_until, peer.acked_sent});
  const auto nth = all.begin() + static_cast<std::ptrdiff_t>(majority_of(all.size()) - 1);
  std::nth_element(all.begin(), nth, all.end(), std::greater<>());
  return *nth;
}

void VoteElector::count_promises(Instant now, Effects& out) {
  const auto [hard_end, sent] = quorum_backing(now);
  if (hard_end == Instant()) return;
  const Instant ends = hard_end - config_.timing.stop_grace;
  if (office_ != Office::kWinning) {
    if (ends <= ends_) return;
    ends_ = ends;
    hard_end_ = hard_end;
    if (office_ == Office::kAdmin) out.push_back(Renewed{ends, now - sent});
    return;
  }
  if (ends <= now) return;
  ends_ = ends;
  hard_end_ = hard_end;
  if (!config_.reconstructs_keys) return take_office(now, out);
  office_ = Office::kReconstructing;
  winning_until_ = now + config_.timing.election;
  become(State::kReconstructing, "a quorum has promised; the key is put together", out);
  out.push_back(Reconstruct{term_});
}

void VoteElector::on_keys(Instant now, const KeysReady& keys, Effects& out) {
  if (office_ != Office::kReconstructing || keys.term != term_) return;
  if (keys.ok) return take_office(now, out);
  // Perhaps it is this node alone that cannot have it: others shall try before it does so again.
  steps_back_ = true;
  end_term(now, EndReason::kUnhealthy, "the key could not be put together: " + keys.why, out);
}

void VoteElector::take_office(Instant now, Effects& out) {
  office_ = Office::kAdmin;
  winning_until_ = Instant::never();
  work_runs_ = true;
  stepping_down_.reset();
  fall_back_ = Instant::never();
  last_election_ = now;
  any_election_ = true;
  quorum_was_lost_ = steps_back_ = false;
  elect_at_ = next_discovery_ = Instant::never();
  called_ = hearsay_ = false;
  set_admin(config_.self, term_, "a quorum has voted, and has promised to answer nobody else", out);
  out.push_back(ElectionComplete{config_.self, term_, "it has the votes"});
  become(State::kIdle, "this node is the admin", out);
  out.push_back(Elected{election::Epoch(term_.value()), now, ends_});
}

// --- leaving the office ----------------------------------------------------------------------------------------------

// With hysteresis, so that scores which go up and down move nobody.
void VoteElector::look_for_better(Instant now, Effects& out) {
  if (config_.transfer_after <= 0 || stepping_down_) return;
  NodeId best;
  double score = claim_.score + config_.transfer_margin;
  for (auto& [node, peer] : peers_) {
    const bool heard = peer.acked && peer.acked_sent + config_.timing.heartbeat_timeout >= now;
    const double its = peer.score - penalty_of(peer);
    const bool better = heard && peer.stands && its > claim_.score + config_.transfer_margin;
    peer.better = better ? peer.better + 1 : 0;
    if (peer.better < config_.transfer_after || its <= score) continue;
    best = node;
    score = its;
  }
  if (best == kNobody || now < window_end(Trigger::kManual)) return;
  begin_drain(
      now, fmt::format("node {} has been a better candidate for {} heartbeats", best.value(), config_.transfer_after),
      best, out);
}

void VoteElector::on_transfer(Instant now, const Transfer& wish, Effects& out) {
  if (office_ != Office::kAdmin) return out.push_back(Denied{"this node is not the admin"});
  if (stepping_down_) return out.push_back(Denied{"it hands over already: " + stepping_down_->cause});
  NodeId to = wish.heir;
  if (to == kNobody) {
    double score = -2;  // less than any score without its penalty
    for (const auto& [node, peer] : peers_) {
      const bool heard = peer.acked && peer.acked_sent + config_.timing.heartbeat_timeout >= now;
      const double its = peer.score - penalty_of(peer);
      if (!heard || !peer.stands || its <= score) continue;
      to = node;
      score = its;
    }
    if (to == kNobody) return out.push_back(Denied{"there is nobody else who stands and answers"});
  }
  const auto at = peers_.find(to);
  if (at == peers_.end()) {
    return out.push_back(Denied{to == config_.self ? "it is the admin itself" : "there is no such node"});
  }
  const Peer& heir = at->second;
  if (!heir.acked || heir.acked_sent + config_.timing.heartbeat_timeout < now) {
    return out.push_back(Denied{"the heir has not answered for the heartbeat timeout"});
  }
  if (!heir.stands) return out.push_back(Denied{"the heir does not stand"});
  begin_drain(now, wish.cause.empty() ? fmt::format("it hands over to node {}", to.value()) : wish.cause, to, out);
}

void VoteElector::on_leave(Instant now, const Leave& wish, Effects& out) {
  leaving_ = true;
  if (office_ == Office::kAdmin) {
    if (!stepping_down_) begin_drain(now, wish.cause, kNobody, out);
    return;
  }
  if (in_office()) end_term(now, EndReason::kResigned, wish.cause, out);
  if (office_ == Office::kNone) out.push_back(Left{});
}

void VoteElector::begin_drain(Instant now, std::string cause, NodeId heir, Effects& out) {
  stepping_down_ = SteppingDown{cause, heir, now + config_.drain_limit};
  out.push_back(Drain{std::move(cause), true});
}

void VoteElector::on_work_stopped(Instant now, Effects& out) {
  if (!work_runs_) return;
  work_runs_ = false;
  if (office_ == Office::kAdmin) {
    if (!stepping_down_) {
      note(true, "the work has stopped by itself, so that this node is the admin no more", out);
      stepping_down_ = SteppingDown{"its work has stopped", kNobody, now};
    }
    return resign(now, out);
  }
  if (office_ != Office::kStopping) return;
  office_ = Office::kNone;
  if (leaving_) out.push_back(Left{});
}

// Its work has stopped: the others may know, and elect at once.
void VoteElector::resign(Instant now, Effects& out) {
  const SteppingDown down = *stepping_down_;
  const Term term = term_;
  end_term(now, EndReason::kResigned, down.cause, out);
  if (down.heir != kNobody) {
    BW_PROBE("vote: an admin hands over");
    fall_back_ = now + config_.timing.transfer;
  }
  start_election(now, Trigger::kManual, Permission{term, down.heir}, out);
  if (leaving_) out.push_back(Left{});
}

void VoteElector::end_term(Instant now, EndReason reason, std::string why, Effects& out) {
  const bool acted = office_ == Office::kAdmin;
  office_ = work_runs_ ? Office::kStopping : Office::kNone;
  next_beat_ = repeat_beat_ = winning_until_ = Instant::never();
  stepping_down_.reset();
  win_version_ = 0;
  if (acted) {
    out.push_back(TermEnded{election::Epoch(term_.value()), reason, why, std::max(now, hard_end_), work_runs_});
  } else {
    out.push_back(ElectionComplete{kNobody, term_, why});
  }
  ends_ = std::min(ends_, now);
  set_admin(kNobody, term_, "its own term has ended", out);
  discover(now, std::move(why), out);
}

}  // namespace bellwether::vote
