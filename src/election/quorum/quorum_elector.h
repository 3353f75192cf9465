// One member of a group that elects its leader by majority vote: terms, votes and check-quorum as in Raft (Ongaro and
// Ousterhout, 2014) with pre-vote (Ongaro's thesis, section 9.6), leader leases (Gray and Cheriton, 1989) and hand-over
// by permission, without a log. It reads no clock: each step takes the time of the boot clock, freshly read, and
// returns effects.
//
// Its guarantees, if its driver executes effects in order, disks keep confirmed data, and clocks keep within the drift
// (docs/contributing/election.md argues it):
//   - a term has one leader, and terms of leaders only grow;
//   - a leader's work has stopped, by its own clock, before any follower may vote for the next one;
//   - no vote and no promise leaves before it is durable, and a restart forgets none that may have been made.
//
//   quorum_book.h      the record, and the messages that wait until it is durable; the role, the term, the members:
//                      all parts read and write here
//   quorum_voter.h     votes for candidates, and promises to a leader
//   quorum_campaign.h  standing for election; heartbeats, changes of the members, hand-over
//   QuorumLives        the accepted life of each member
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "election/quorum/quorum_campaign.h"
#include "election/quorum/quorum_voter.h"

namespace bellwether::quorum {

// The accepted life of each member, and whether other members know a later record of this one.
class QuorumLives {
 public:
  // Both must outlive it.
  QuorumLives(QuorumBook& book, const QuorumVoter& voter) : book_(book), voter_(voter) {}

  void begin(Instant now, Effects& out);
  void tick(Instant now, Effects& out);
  Instant wake() const;
  // Keeps greetings and their answers for itself.
  bool listens_to(Instant now, QuorumPeer& from, const Message& message, Effects& out);
  void lose_record(Instant now, std::string why, Effects& out);
  bool silent() const { return silent_; }

 private:
  void verify(Instant now, Effects& out);
  void greet(MemberId to, uint64_t challenge, Effects& out) const {
    if (!book_.follows_only) ledger_.send(to, Greeting{challenge}, out);
  }
  void greet_all(Instant now, Effects& out);
  void on_greeting(QuorumPeer& from, const Message& message, const Greeting& greeting, Effects& out);
  void on_greeting_answer(Instant now, QuorumPeer& from, const GreetingAnswer& answer, Effects& out);
  void on_superseded(Instant now, const Superseded& superseded, Effects& out);
  bool is_known_life(QuorumPeer& from, const Message& message, Effects& out);

  QuorumBook& book_;
  const QuorumVoter& voter_;
  QuorumLedger& ledger_ = book_.ledger;
  Record& record_ = book_.record;
  const QuorumConfig& config_ = book_.config;
  Instant next_greeting_;
  bool silent_ = false;  // another process answers for this member
};

class QuorumElector {
 public:
  // `seed` decides jitter and the name of this life; it must differ between members and between starts.
  QuorumElector(QuorumConfig config, uint64_t seed) : book_(std::move(config), seed) {}

  void step(Instant now, const Event& event, Effects& effects);
  // When to send Tick at the latest.
  Instant wake() const;

  Role role() const { return book_.role; }
  Term term() const { return book_.record.term; }
  bool is_in_order(Term offered) const { return in_order(offered, book_.record.term); }
  // The leader, as far as this member knows.
  MemberId leader() const { return book_.leader; }
  bool leads(Instant now) const { return book_.role == Role::kLeader && now < book_.ends; }
  Instant ends() const { return book_.ends; }            // of the term; nothing is begun after it
  Instant stopped_by() const { return book_.hard_end; }  // nothing of the work acts after it
  const Configuration& members() const { return book_.record.members; }
  // Of a leader: a majority has the present members on its disks, and no change is under way. Only then has a change
  // outlived the loss of the leader.
  bool members_settled() const { return !book_.record.members.joint() && lead_.quorum_has_members(); }
  const Record& record() const { return book_.record; }
  bool active() const { return book_.eligibility.active; }
  bool follows_only() const { return book_.follows_only; }
  // Votes and promises count: it has greeted, and neither lost its record nor its place to another process.
  bool takes_part() const { return book_.ledger.verified && !book_.follows_only && !lives_.silent(); }
  uint64_t life() const { return book_.life; }
  // The number of writes of the record of `member`, as known here.
  uint64_t record_seen_of(MemberId member) const {
    const QuorumPeer* peer = book_.find(member);
    return peer == nullptr ? 0 : peer->newest_record;
  }
  // The leader of its last promise, and the life of that leader.
  MemberId promised_to() const { return voter_.promised_to(); }
  uint64_t promised_life() const { return voter_.promised_life(); }
  // Of a leader: another member could take over right now.
  bool has_heir(Instant now) const { return lead_.heir(now, false) != nullptr; }
  const QuorumConfig& config() const { return book_.config; }
  int failed_rounds() const { return book_.failed_rounds; }

 private:
  void on_start(Instant now, const Start& start, Effects& out);
  void on_tick(Instant now, Effects& out);
  void on_received(Instant now, const Message& message, Effects& out);
  void on_persisted(Instant now, const Persisted& done, Effects& out);
  void on_stand(Instant now, const Stand& wish);
  void on_suspected(const LeaderSuspected& suspected);

  QuorumBook book_;
  QuorumVoter voter_{book_};
  QuorumLead lead_{book_, voter_};
  QuorumCampaign campaign_{book_, voter_, lead_};
  QuorumLives lives_{book_, voter_};
};

}  // namespace bellwether::quorum
