#include "election/quorum/quorum_lives.h"

#include <algorithm>

#include "core/base/probe.h"
#include "election/quorum/no_record.h"

namespace bellwether::quorum {

using election::EndReason;

// A member cannot see that its own disk went back in time. The members that have heard from it since can detect it,
// because every message carries the number of writes of the record.

void QuorumLives::begin(Instant now, Effects& out) {
  verify(now, out);
  if (!ledger_.verified) greet_all(now, out);
}

void QuorumLives::tick(Instant now, Effects& out) {
  if (ledger_.verified || book_.follows_only) return;
  verify(now, out);
  if (!ledger_.verified && now >= next_greeting_) greet_all(now, out);
}

Instant QuorumLives::wake() const {
  return ledger_.verified || book_.follows_only ? Instant::never() : std::min(book_.quiet_until, next_greeting_);
}

bool QuorumLives::listens_to(Instant now, QuorumPeer& from, const Message& message, Effects& out) {
  if (const auto* greeting = std::get_if<Greeting>(&message.body))
    return on_greeting(from, message, *greeting, out), false;
  if (const auto* answer = std::get_if<GreetingAnswer>(&message.body)) {
    if (!book_.follows_only) on_greeting_answer(now, from, *answer, out);
    return false;
  }
  if (const auto* superseded = std::get_if<Superseded>(&message.body))
    return on_superseded(now, *superseded, out), false;
  if (std::holds_alternative<WhoAreYou>(message.body)) return greet(message.from, 0, out), false;
  if (!is_known_life(from, message, out)) return false;
  from.newest_record = std::max(from.newest_record, message.record);
  return true;
}

// Its earlier votes and promises are unknown from now on, so it sends nothing more that others could count on.
void QuorumLives::lose_record(Instant now, std::string why, Effects& out) {
  if (book_.follows_only) return;
  BW_PROBE("quorum: a member finds its record lost");
  book_.follows_only = true;
  if (!record_.lost) {
    record_.lost = true;
    ledger_.persist(out);
  }
  book_.eligibility.electable = false;
  if (book_.role == Role::kLeader) book_.end_term(now, EndReason::kLostData, "its record was lost: " + why, out);
  if (book_.role != Role::kStopping) book_.role = Role::kFollower;
  out.push_back(Note{true, fmt::format("the record of this member is lost ({}): it follows and does not vote or stand "
                                       "as a candidate. {}",
                                       why, kNoRecordRemedy)});
}

void QuorumLives::verify(Instant now, Effects& out) {
  if (ledger_.verified) return;
  bool everybody = true;
  for (const QuorumPeer& peer : book_.peers) {
    if (peer.votes() && !book_.is_self(peer) && !peer.greeted) everybody = false;
  }
  if (!everybody && now < book_.quiet_until) return;
  ledger_.verified = true;
  if (everybody && ledger_.found() == 0 && record_.members.has(config_.self)) {
    // No member knows an earlier life of this new one, so it has promised nothing to a leader that still acts: such a
    // leader would be among the members that have answered.
    book_.quiet_until = now;
    book_.stand_at = now + config_.timing.pre_vote_timeout + book_.turn();  // so that the others are ready too
  }
  if (!everybody) out.push_back(Note{false, "takes part although not every member has answered"});
}

void QuorumLives::greet_all(Instant now, Effects& out) {
  next_greeting_ = now + book_.beats.next();
  for (const QuorumPeer& peer : book_.peers) {
    if (!book_.is_self(peer) && !peer.greeted) greet(peer.id, 0, out);
  }
}

void QuorumLives::on_greeting(QuorumPeer& from, const Message& message, const Greeting& greeting, Effects& out) {
  if (from.is_past(message.life)) return ledger_.send(from.id, Superseded{message.life}, out);
  const uint64_t newest = from.newest_record;
  if (from.life != message.life) {
    const bool answers =
        greeting.challenge != 0 && greeting.challenge == from.challenge && from.challenged_life == message.life;
    if (!answers) {
      if (from.challenged_life != message.life) from.challenge = book_.prng.next() | 1;
      from.challenged_life = message.life;
      return ledger_.send(from.id, GreetingAnswer{message.life, from.challenge, newest}, out);
    }
    // A record older than a seen one is not the member's: the sender learns that, and its message is ignored.
    if (message.record < newest) return ledger_.send(from.id, GreetingAnswer{message.life, 0, newest}, out);
    if (from.life != 0) {
      std::rotate(from.past_lives.begin(), from.past_lives.end() - 1, from.past_lives.end());
      from.past_lives.front() = from.life;
    }
    from.life = message.life;
    from.challenge = from.challenged_life = 0;
    from.acked = false;
    if (from.id == voter_.promised_to() && voter_.promised_life() != 0 && voter_.promised_life() != from.life) {
      out.push_back(Note{false, fmt::format("member {} has restarted", from.id.value())});
    }
  }
  ledger_.send(from.id, GreetingAnswer{message.life, 0, newest}, out);
}

void QuorumLives::on_greeting_answer(Instant now, QuorumPeer& from, const GreetingAnswer& answer, Effects& out) {
  if (answer.life != book_.life) return;
  if (!ledger_.verified && answer.newest_record > ledger_.found()) {
    BW_PROBE("quorum: an older record is found out");
    return lose_record(now,
                       fmt::format("member {} has seen version {} of it, but the disk has version {}", from.id.value(),
                                   answer.newest_record, ledger_.found()),
                       out);
  }
  if (answer.challenge != 0) return greet(from.id, answer.challenge, out);
  from.greeted = true;
  verify(now, out);
}

void QuorumLives::on_superseded(Instant now, const Superseded& superseded, Effects& out) {
  if (superseded.life != book_.life) return;
  BW_PROBE("quorum: a second process under one id");
  if (book_.role == Role::kLeader)
    book_.end_term(now, EndReason::kLostData, "another process has the id of this member", out);
  silent_ = true;
  if (book_.role != Role::kStopping) book_.role = Role::kFollower;
  book_.set_leader(now, kNobody, "another process has the id of this member", out);
  out.push_back(Note{
      true,
      "another process has the id of this member: this process no longer takes part. Run only one process per id"});
}

// Only the life that greeted last is listened to.
bool QuorumLives::is_known_life(QuorumPeer& from, const Message& message, Effects& out) {
  if (from.life == message.life) return true;
  if (from.life == 0) {
    from.life = message.life;
    // A late answer of an earlier life to its challenge must not end this one.
    from.challenge = from.challenged_life = 0;
    return true;
  }
  BW_PROBE("quorum: a message of another life");
  ledger_.send(from.id, from.is_past(message.life) ? Body(Superseded{message.life}) : Body(WhoAreYou{}), out);
  return false;
}

}  // namespace bellwether::quorum
