#include "sim/group/group_checker.h"

#include <algorithm>

#include "base/units.h"

namespace bellwether::sim {
namespace {

std::string name(uint64_t who) { return "member " + std::to_string(who); }
std::string show(election::Term term) { return "term " + std::to_string(term.value()); }

}  // namespace

void GroupChecker::fail(const std::string& text, Instant world) {
  if (violation_.empty()) violation_ = text + " (at " + format_duration(world - Instant()) + ")";
}

void GroupChecker::voted(uint64_t voter, uint32_t process, election::Term term, uint64_t candidate, Instant world) {
  const auto [place, first] = votes_.try_emplace({term, voter, process}, candidate);
  if (first || place->second == candidate) return;
  fail("I5: " + name(voter) + " votes for " + name(candidate) + " in " + show(term) + " after " + name(place->second),
       world);
}

void GroupChecker::elected(uint64_t who, election::Term term, const std::vector<std::vector<uint64_t>>& electorates,
                           Instant world) {
  ++terms_;
  if (term == highest_elected_) fail("I1: a second leader in " + show(term) + ": " + name(who), world);
  if (term < highest_elected_) {
    fail("I3: " + name(who) + " leads in " + show(term) + " after " + show(highest_elected_), world);
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
    fail("I6: " + name(who) + " leads in " + show(term) + " without a majority of the declared members", world);
  }
}

void GroupChecker::accepted(election::Term term, Instant world) {
  if (term < highest_accepted_) {
    fail("I4: the resource accepted " + show(term) + " after " + show(highest_accepted_), world);
  }
  highest_accepted_ = std::max(highest_accepted_, term);
}

}  // namespace bellwether::sim
