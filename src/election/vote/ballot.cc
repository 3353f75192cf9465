#include "election/vote/ballot.h"

#include <algorithm>

#include "core/base/enum_names.h"

namespace bellwether::vote {
namespace {

constexpr EnumNames<QuorumRule> kRules("majority", "plurality", "highest_score");

}  // namespace

std::string_view to_string(QuorumRule rule) { return kRules[rule]; }
std::optional<QuorumRule> quorum_rule_named(std::string_view name) { return kRules.find(name); }

void Ballot::announce(NodeId node, std::optional<Candidate> candidate) {
  announced_.try_emplace(node, std::move(candidate));
}

Ballot::Heard Ballot::vote(NodeId voter, NodeId candidate) {
  const auto [at, is_new] = votes_.try_emplace(voter, candidate);
  if (is_new) return Heard::kNew;
  if (at->second == candidate) return Heard::kKnown;
  at->second = kNobody;
  return Heard::kSecond;
}

NodeId Ballot::best() const {
  NodeId best;
  double score = -1;
  // In ascending order of ids.
  for (const auto& [node, candidate] : announced_) {
    if (!candidate || !candidate->doubt.empty()) continue;
    const double its = std::max(0.0, candidate->claim.score - candidate->penalty);
    if (its <= score) continue;
    best = node;
    score = its;
  }
  return best;
}

NodeId Ballot::vote_of(NodeId voter) const {
  const auto at = votes_.find(voter);
  return at == votes_.end() ? kNobody : at->second;
}

std::size_t Ballot::votes_for(NodeId candidate) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(votes_, [&](const auto& one) { return one.second == candidate; }));
}

std::vector<NodeId> Ballot::voters_of(NodeId candidate) const {
  std::vector<NodeId> out;
  for (const auto& [voter, vote] : votes_) {
    if (vote == candidate) out.push_back(voter);
  }
  return out;
}

bool Ballot::all_have_voted(NodeId but) const {
  return std::ranges::all_of(announced_, [&](const auto& one) { return one.first == but || has_voted(one.first); });
}

bool Ballot::anybody_stands() const {
  return std::ranges::any_of(announced_, [](const auto& one) { return one.second.has_value(); });
}

Ballot::Outcome Ballot::outcome(bool closed) const {
  std::map<NodeId, std::size_t> counts;
  for (const auto& [voter, candidate] : votes_) {
    if (candidate != kNobody) ++counts[candidate];
  }
  const auto score_of = [this](NodeId node) {
    const auto at = announced_.find(node);
    return at != announced_.end() && at->second ? at->second->claim.score : -1;
  };
  NodeId first;
  std::size_t most = 0;
  std::size_t second = 0;
  for (const auto& [node, count] : counts) {
    if (count > most || (count == most && score_of(node) > score_of(first))) {
      second = most;
      most = count;
      first = node;
    } else {
      second = std::max(second, count);
    }
  }
  const std::size_t outstanding = closed ? 0 : members_ - std::min(members_, votes_.size());
  if (rule_ == QuorumRule::kMajority) {
    if (most >= majority_of(members_)) return {Outcome::Kind::kWon, first};
    if (most + outstanding < majority_of(members_)) return {Outcome::Kind::kNobody, kNobody};
    return {};
  }
  if (most > 0 && (closed || most > second + outstanding)) return {Outcome::Kind::kWon, first};
  if (!closed) return {};
  if (rule_ == QuorumRule::kHighestScore && best() != kNobody) return {Outcome::Kind::kWon, best()};
  return {Outcome::Kind::kNobody, kNobody};
}

}  // namespace bellwether::vote
