#include "sim/group/group_checker.h"

#include <algorithm>
#include <string>

namespace bellwether::sim {
namespace {

std::string name(uint64_t who) { return "member " + std::to_string(who); }
std::string show(election::Term term) { return "term " + std::to_string(term.value()); }

}  // namespace

void GroupChecker::voted(uint64_t voter, uint32_t process, election::Term term, uint64_t candidate) {
  const auto [place, first] = votes_.try_emplace({term, voter, process}, candidate);
  if (first || place->second == candidate) return;
  world_.fail("I5: " + name(voter) + " votes for " + name(candidate) + " in " + show(term) + " after " +
              name(place->second));
}

void GroupChecker::elected(uint64_t who, election::Term term, const std::vector<std::vector<uint64_t>>& electorates) {
  ++terms_;
  if (term == highest_elected_) world_.fail("I1: a second leader in " + show(term) + ": " + name(who));
  if (term < highest_elected_) {
    world_.fail("I3: " + name(who) + " leads in " + show(term) + " after " + show(highest_elected_));
  }
  highest_elected_ = std::max(highest_elected_, term);
  const auto votes = [&](const std::vector<uint64_t>& list) {
    return static_cast<std::size_t>(std::count_if(list.begin(), list.end(), [&](uint64_t voter) {
      auto vote = votes_.lower_bound({term, voter, 0});
      while (vote != votes_.end() && vote->first.term == term && vote->first.voter == voter && vote->second != who)
        ++vote;
      return vote != votes_.end() && vote->first.term == term && vote->first.voter == voter;
    }));
  };
  for (const std::vector<uint64_t>& electorate : electorates) {
    if (votes(electorate) > electorate.size() / 2) continue;
    world_.fail("I6: " + name(who) + " leads in " + show(term) + " without a majority of the declared members");
  }
}

void GroupChecker::accepted(election::Term term) {
  if (term < highest_accepted_) {
    world_.fail("I4: the resource accepted " + show(term) + " after " + show(highest_accepted_));
  }
  highest_accepted_ = std::max(highest_accepted_, term);
}

}  // namespace bellwether::sim
