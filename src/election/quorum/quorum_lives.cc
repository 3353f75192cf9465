// Starting, and telling the lives of a member apart. A disk that went back in time cannot be seen from inside; those
// who have heard from its member since can tell, because every message says how often the record had been written.
#include <algorithm>

#include "base/check.h"
#include "base/probe.h"
#include "election/quorum/quorum_elector.h"

namespace bellwether::quorum {

using election::EndReason;

void QuorumElector::on_start(Instant now, const Start& start, Effects& out) {
  check(role_ == Role::kIdle, "a member starts once");
  role_ = Role::kFollower;
  standing_.priority = config_.priority;
  standing_.electable = !config_.witness;
  // What no member can have written is as bad as what cannot be read.
  const bool sound = start.found != Start::Found::kUnreadable && start.record.members.stamp.term <= start.record.term;
  if (sound) record_ = start.record;
  loaded_ = durable_ = record_.version;
  if (start.found == Start::Found::kNew) {
    check(record_ == Record{}, "a new member has no record");
    if (!config_.bootstrap.empty()) {
      const auto declared = declare(config_.bootstrap);
      check(declared.has_value(), "the declared members are validated before they are used");
      record_.members = *declared;
    }
    record_.longest_lease = config_.timing.lease;
    persist(out);
  }
  use(record_.members);
  quiet_until_ = now + config_.timing.promise(std::max(record_.longest_lease, config_.timing.lease));
  stand_at_ = quiet_until_ + turn();
  if (!sound) {
    if (!config_.bootstrap.empty()) {
      if (const auto declared = declare(config_.bootstrap)) use(*declared);
    }
    lose_record(now, "it cannot be read", out);
  } else if (record_.lost) {
    lose_record(now, "so this member had found before", out);
  }
  if (follows_only_) return;
  verify(now, out);
  if (!verified_) greet_all(now, out);
}

// Whatever it voted for and promised is unknown from now on, so it says nothing any more that others could count on.
void QuorumElector::lose_record(Instant now, std::string why, Effects& out) {
  if (follows_only_) return;
  BW_PROBE("quorum: a member finds its record lost");
  follows_only_ = true;
  if (!record_.lost) {
    record_.lost = true;
    persist(out);
  }
  standing_.electable = false;
  if (role_ == Role::kLeader) end_term(now, EndReason::kLostData, "its record was lost: " + why, out);
  if (role_ != Role::kStopping) role_ = Role::kFollower;
  note(true,
       "the record of this member was lost (" + why + "): it follows, and neither votes nor stands any more. " +
           "Remove it from the group, and add it under a new id",
       out);
}

void QuorumElector::verify(Instant now, Effects& out) {
  if (verified_) return;
  bool everybody = true;
  for (const Peer& peer : peers_) {
    if ((peer.voter || peer.next) && peer.id != config_.self && !peer.greeted) everybody = false;
  }
  if (!everybody && now < quiet_until_) return;
  verified_ = true;
  if (everybody && loaded_ == 0 && record_.members.has(config_.self)) {
    // Nobody knows of an earlier life of this new member, so it has promised nothing to a leader that still acts: such
    // a leader is among those who have answered.
    quiet_until_ = now;
    stand_at_ = now + config_.timing.pre_vote_timeout + turn();  // so that the others are as far
  }
  if (!everybody) note(false, "begins to take part although not every member has answered", out);
}

// --- greetings -------------------------------------------------------------------------------------------------------

void QuorumElector::greet(MemberId to, uint64_t challenge, Effects& out) const {
  if (!follows_only_) send(to, Greeting{challenge}, out);
}

void QuorumElector::greet_all(Instant now, Effects& out) {
  next_greeting_ = now + beats_.next();
  for (const Peer& peer : peers_) {
    if (peer.id != config_.self && !peer.greeted) greet(peer.id, 0, out);
  }
}

void QuorumElector::on_greeting(Peer& from, const Message& message, const Greeting& greeting, Effects& out) {
  const auto past = std::find(from.past_lives.begin(), from.past_lives.end(), message.life);
  if (past != from.past_lives.end()) return send(from.id, Superseded{message.life}, out);
  const uint64_t newest = from.newest_record;
  if (from.life != message.life) {
    const bool answers =
        greeting.challenge != 0 && greeting.challenge == from.challenge && from.challenged_life == message.life;
    if (!answers) {
      if (from.challenged_life != message.life) from.challenge = prng_.next() | 1;
      from.challenged_life = message.life;
      return send(from.id, GreetingAnswer{message.life, from.challenge, newest}, out);
    }
    // A record that is older than what was seen is not that of the member: it learns so, and is not listened to.
    if (message.record < newest) {
      return send(from.id, GreetingAnswer{message.life, 0, newest}, out);
    }
    if (from.life != 0) {
      std::rotate(from.past_lives.begin(), from.past_lives.end() - 1, from.past_lives.end());
      from.past_lives.front() = from.life;
    }
    from.life = message.life;
    from.challenge = from.challenged_life = 0;
    from.acked = false;
    if (from.id == promised_to_ && leader_life_ != 0 && leader_life_ != from.life) {
      note(false, "member " + std::to_string(from.id.value()) + " has started anew", out);
    }
  }
  send(from.id, GreetingAnswer{message.life, 0, newest}, out);
}

void QuorumElector::on_greeting_answer(Instant now, Peer& from, const GreetingAnswer& answer, Effects& out) {
  if (answer.life != life_) return;
  if (!verified_ && answer.newest_record > loaded_) {
    BW_PROBE("quorum: an older record is found out");
    return lose_record(now,
                       "member " + std::to_string(from.id.value()) + " has seen version " +
                           std::to_string(answer.newest_record) + " of it, found was version " +
                           std::to_string(loaded_),
                       out);
  }
  if (answer.challenge != 0) return greet(from.id, answer.challenge, out);
  from.greeted = true;
  verify(now, out);
}

void QuorumElector::on_superseded(Instant now, const Superseded& superseded, Effects& out) {
  if (superseded.life != life_) return;
  BW_PROBE("quorum: a second process under one id");
  if (role_ == Role::kLeader) end_term(now, EndReason::kLostData, "another process answers for this member", out);
  silent_ = true;
  if (role_ != Role::kStopping) role_ = Role::kFollower;
  set_leader(now, kNobody, "another process answers for this member", out);
  note(true, "another process answers for this member: this one takes no part any more. One id, one process", out);
}

// Only the life that greeted last is listened to.
bool QuorumElector::known_life(Peer& from, const Message& message, Effects& out) {
  if (from.life == message.life) return true;
  if (from.life == 0) {
    from.life = message.life;
    // What an earlier life may still say to its challenge must not end this one.
    from.challenge = from.challenged_life = 0;
    return true;
  }
  BW_PROBE("quorum: a message of another life");
  const auto past = std::find(from.past_lives.begin(), from.past_lives.end(), message.life);
  if (past != from.past_lives.end()) {
    send(from.id, Superseded{message.life}, out);
  } else {
    send(from.id, WhoAreYou{}, out);
  }
  return false;
}

}  // namespace bellwether::quorum
