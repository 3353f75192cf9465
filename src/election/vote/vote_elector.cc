#include "election/vote/vote_elector.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/overloaded.h"
#include "core/base/probe.h"

namespace bellwether::vote {

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

void VoteElector::step(Instant now, const Event& event, Effects& out) {
  // Comes before every event: an admin that was paused past its end notices that first.
  const bool promised = book_.office == Office::kAdmin || book_.office == Office::kReconstructing;
  if (promised && now >= office_.ends()) {
    office_.end_term(now, election::EndReason::kExpired, "no quorum answered in time", out);
  }
  if (const auto* start = std::get_if<Start>(&event)) return on_start(now, *start, out);
  if (!started_) {
    if (const auto* measured = std::get_if<Measured>(&event)) book_.measure(now, measured->claim);
    return;
  }
  std::visit(Overloaded{
                 [](const Start&) {},  // above
                 [&](const Tick&) { on_tick(now, out); },
                 [&](const Received& received) { on_received(now, received.message, out); },
                 [&](const Persisted& persisted) { on_persisted(now, persisted, out); },
                 [&](const Measured& measured) { book_.measure(now, measured.claim); },
                 [&](const PeerMeasured& peer) {
                   if (KnownOfNode* known = known_of(peer.node)) known->network_quality = peer.network_quality;
                 },
                 [&](const PeerVetted& vetted) {
                   KnownOfNode* known = known_of(vetted.node);
                   if (known == nullptr) return;
                   if (vetted.capabilities) known->capabilities = vetted.capabilities;
                   known->capabilities_why = vetted.capabilities_why;
                   known->absent = vetted.absent;
                 },
                 [&](const PeerReputation& conduct) {
                   if (KnownOfNode* known = known_of(conduct.node)) known->reputation = conduct.reputation;
                 },
                 [&](const WorkStopped&) { office_.on_work_stopped(now, out); },
                 [&](const CallElection& wish) { office_.on_call(now, wish, out); },
                 [&](const Transfer& transfer) { office_.on_transfer(now, transfer, out); },
                 [&](const Leave& leave) { office_.on_leave(now, leave, out); },
                 [&](const KeysReady& keys) { office_.on_keys(now, keys, out); },
             },
             event);
  book_.claim.score = score_of(book_.claim, book_.config.weights);
}

KnownOfNode* VoteElector::known_of(NodeId node) {
  const auto at = book_.peers.find(node);
  return at == book_.peers.end() ? nullptr : &at->second.known;
}

Instant VoteElector::wake() const {
  if (!started_ || book_.silent) return Instant::never();
  const Instant wake = std::min(book_.ledger.wake(), office_.wake());
  if (book_.office != Office::kNone) return wake;
  return std::min(wake, election_.under_way() ? election_.wake() : search_.wake());
}

void VoteElector::on_start(Instant now, const Start& start, Effects& out) {
  check(!started_, "a node is started once");
  started_ = true;
  Record& record = book_.record;
  record = start.found == Start::Found::kUnreadable ? Record{.lost = true} : start.record;
  ++record.start;
  // An earlier promise may last until then; the record does not say which.
  book_.quiet_until = start.found == Start::Found::kRecord ? now + record.longest_promise : now;
  book_.highest = book_.ledger.last_term();
  book_.ledger.persist(out);
  if (record.lost) {
    out.push_back(
        Note{true, "follows only: its earlier promises are lost; remove this node, and add it with another id"});
  }
  search_.discover(now, "it started", out);
}

void VoteElector::on_tick(Instant now, Effects& out) {
  book_.ledger.tick(now, out);
  if (book_.in_office()) return office_.tick(now, out);
  if (book_.office == Office::kStopping || office_.falls_back(now, out)) return;
  if (!election_.under_way()) {
    if (const auto why = search_.tick(now, out)) election_.start(now, *why, std::nullopt, out);
  } else if (election_.tick(now, out)) {
    office_.begin(now, out);
  }
}

void VoteElector::on_received(Instant now, const Message& message, Effects& out) {
  const NodeId from = message.from;
  if (from == book_.config.self) return;
  const auto at = book_.peers.find(from);
  if (at == book_.peers.end()) {
    ++book_.refusals[static_cast<std::size_t>(Refusal::kStranger)];
    out.push_back(Refused{from, "it is not a member"});
    return;
  }
  VotePeer& peer = at->second;
  if (book_.silent || !is_listened_to(now, peer, message, out)) return;
  peer.last_heard = now;
  peer.refused.clear();
  book_.highest = std::max(book_.highest, message.term);
  search_.look_at_quorum(now);
  std::visit(
      Overloaded{
          [&](const DiscoveryRequest&) { follower_.on_request(from, out); },
          [&](const DiscoveryResponse& response) { follower_.on_response(now, from, response, out); },
          [&](const ElectionStarted& started) { follower_.on_started(now, from, started, out); },
          [&](const Candidacy& candidacy) {
            if (election_.on_candidacy(now, from, peer, candidacy, out)) office_.begin(now, out);
          },
          [&](const Vote& vote) {
            if (election_.on_vote(now, from, vote, out)) office_.begin(now, out);
          },
          [&](const Winner& winner) { follower_.on_winner(now, from, winner, out); },
          [&](const Heartbeat& beat) { follower_.on_admin_word(now, from, message.mark, beat.term, beat.round, out); },
          [&](const HeartbeatAnswer& answer) { office_.on_answer(now, peer, answer, out); },
      },
      message.body);
}

// Of each node one life is listened to, the one of the highest start, and each of its messages once.
bool VoteElector::is_listened_to(Instant now, VotePeer& peer, const Message& message, Effects& out) {
  const NodeId from = message.from;
  const bool older = message.start < peer.start;
  const bool other = message.start == peer.start && message.mark != peer.mark;
  if (older || other) {
    BW_PROBE("vote: a life that is over, or a second process under one id");
    const char* why = older ? "it comes from an earlier life of this node, or from an older copy of its disk"
                            : "another process has the same id";
    // The sender may not know it, and a node that follows an admin sends no requests.
    if (peer.refused != why || std::holds_alternative<DiscoveryRequest>(message.body)) search_.tell(from, out);
    book_.refuse(from, peer, older ? Refusal::kEarlierLife : Refusal::kSecondProcess, why, out);
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
    // The new life does not know the promises of the last one.
    if (from == book_.admin && !book_.has_promised(now)) book_.admin_until = std::min(book_.admin_until, now);
  }
  if (message.sequence > peer.newest) {
    const uint64_t step = message.sequence - peer.newest;
    peer.heard = step < 64 ? (peer.heard << step) | 1 : 1;
    peer.newest = message.sequence;
    return true;
  }
  const uint64_t back = peer.newest - message.sequence;
  if (back >= 64 || (peer.heard >> back & 1) != 0) {
    book_.refuse(from, peer, Refusal::kReplay, "it was received before", out);
    return false;
  }
  peer.heard |= uint64_t{1} << back;
  return true;
}

void VoteElector::on_persisted(Instant now, const Persisted& done, Effects& out) {
  if (!book_.ledger.persisted(now, done, out)) return;
  office_.on_persisted(now, out);
  if (election_.on_persisted(now, out)) office_.begin(now, out);
}

}  // namespace bellwether::vote
