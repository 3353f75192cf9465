// One election, as one node sees it: the participants, the candidates, and the votes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "election/vote/vote_events.h"

namespace bellwether::vote {

// The rule that decides the admin.
enum class QuorumRule : uint8_t {
  kMajority,      // more than half of the declared members have voted for the winner
  kPlurality,     // unsafe: the winner has the most votes when the election closes, few as they are
  kHighestScore,  // unsafe: as kPlurality; without any vote, the best known candidate
};
// "majority", "plurality", "highest_score".
std::string_view to_string(QuorumRule rule);
std::optional<QuorumRule> quorum_rule_named(std::string_view name);

constexpr std::size_t majority_of(std::size_t members) { return members / 2 + 1; }

class Ballot {
 public:
  struct Candidate {
    Claim claim;
    std::string doubt;   // why it is not voted for; empty: it is believed
    double penalty = 0;  // that this voter takes off its score
  };
  struct Outcome {
    enum class Kind : uint8_t {
      kOpen,    // later votes may decide
      kWon,     // later votes cannot change it
      kNobody,  // no candidate can win
    };
    Kind kind = Kind::kOpen;
    NodeId winner;
  };

  // REQUIRES members > 0.
  Ballot(QuorumRule rule, std::size_t members) : rule_(rule), members_(members) {}

  // The node takes part, and stands if it sends a candidacy. Its first announcement counts.
  void announce(NodeId node, std::optional<Candidate> candidate);
  enum class Heard : uint8_t { kNew, kKnown, kSecond };
  // kSecond: it has already voted for another candidate. From then on its vote does not count.
  Heard vote(NodeId voter, NodeId candidate);

  // Of the believed candidates: the highest score without its penalty, among equals the lowest id. kNobody: none.
  NodeId best() const;
  // `closed`: no more messages count.
  Outcome outcome(bool closed) const;

  bool has_announced(NodeId node) const { return announced_.contains(node); }
  std::size_t announced() const { return announced_.size(); }
  const std::map<NodeId, std::optional<Candidate>>& announcements() const { return announced_; }
  NodeId vote_of(NodeId voter) const;
  std::size_t votes_for(NodeId candidate) const;
  std::vector<NodeId> voters_of(NodeId candidate) const;
  bool has_voted(NodeId voter) const { return votes_.contains(voter); }
  // All participants; `but` need not have.
  bool all_have_voted(NodeId but = kNobody) const;
  bool anybody_stands() const;

 private:
  // kNobody as a vote: it has voted twice.
  std::map<NodeId, NodeId> votes_;
  std::map<NodeId, std::optional<Candidate>> announced_;
  QuorumRule rule_;
  std::size_t members_;
};

}  // namespace bellwether::vote
