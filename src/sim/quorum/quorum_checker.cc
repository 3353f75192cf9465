#include "sim/quorum/quorum_checker.h"

#include <algorithm>

#include "base/units.h"

namespace bellwether::sim {
namespace {

std::string name(quorum::MemberId who) { return "member " + std::to_string(who.value()); }
std::string show(quorum::Term term) { return "term " + std::to_string(term.value()); }

}  // namespace

void QuorumChecker::fail(const std::string& text, Instant world) {
  if (violation_.empty()) violation_ = text + " (at " + format_duration(world - Instant()) + ")";
}

void QuorumChecker::voted(quorum::MemberId voter, uint32_t process, quorum::Term term, quorum::MemberId candidate,
                          Instant world) {
  const auto [place, first] = votes_.try_emplace({term, voter, process}, candidate);
  if (first || place->second == candidate) return;
  fail("I5: " + name(voter) + " votes for " + name(candidate) + " in " + show(term) + " after " + name(place->second),
       world);
}

void QuorumChecker::elected(quorum::MemberId who, quorum::Term term, const quorum::Configuration& members,
                            Instant world) {
  ++terms_;
  if (term == highest_elected_) fail("I1: a second leader in " + show(term) + ": " + name(who), world);
  if (term < highest_elected_) {
    fail("I3: " + name(who) + " leads in " + show(term) + " after " + show(highest_elected_), world);
  }
  highest_elected_ = std::max(highest_elected_, term);
  const auto votes = [&](const std::vector<quorum::MemberId>& list) {
    return static_cast<std::size_t>(std::count_if(list.begin(), list.end(), [&](quorum::MemberId voter) {
      auto vote = votes_.lower_bound({term, voter, 0});
      while (vote != votes_.end() && vote->first.term == term && vote->first.voter == voter && vote->second != who)
        ++vote;
      return vote != votes_.end() && vote->first.term == term && vote->first.voter == voter;
    }));
  };
  if (votes(members.voters) < quorum::majority_of(members.voters.size()) ||
      (members.joint() && votes(members.next) < quorum::majority_of(members.next.size()))) {
    fail("I6: " + name(who) + " leads in " + show(term) + " without a majority of the declared members", world);
  }
}

void QuorumChecker::accepted(quorum::Term term, Instant world) {
  if (term < highest_accepted_) {
    fail("I4: the resource accepted " + show(term) + " after " + show(highest_accepted_), world);
  }
  highest_accepted_ = std::max(highest_accepted_, term);
}

}  // namespace bellwether::sim
