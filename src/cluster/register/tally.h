// Counting voters for one write or one look: when a majority has said yes, when none can come together any more, and
// which of the versions that a majority has is the newest. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cluster/register/large.h"

namespace bellwether::copies {

class Tally {
 public:
  enum class Vote : unsigned char { kNone, kYes, kNo };

  // REQUIRES at least one voter.
  explicit Tally(std::size_t voters) : votes_(voters, Vote::kNone) {}

  // The first word of a voter counts.
  void say(std::size_t voter, Vote vote) {
    if (votes_[voter] == Vote::kNone) votes_[voter] = vote;
  }
  Vote of(std::size_t voter) const { return votes_[voter]; }
  std::size_t voters() const { return votes_.size(); }
  std::size_t needed() const { return votes_.size() / 2 + 1; }
  std::size_t count(Vote vote) const {
    std::size_t n = 0;
    for (const Vote one : votes_) n += one == vote ? 1 : 0;
    return n;
  }
  bool agreed() const { return count(Vote::kYes) >= needed(); }
  bool hopeless() const { return votes_.size() - count(Vote::kNo) < needed(); }

 private:
  std::vector<Vote> votes_;
};

// What a majority was found to have; of voters that have not answered there is nothing.
struct Newest {
  std::optional<CopyHead> head;  // nothing: nobody has anything
  std::vector<std::size_t> at;   // the voters that have just this version
};
// REQUIRES answers with kKept or kNothing.
inline Newest newest_of(const std::vector<std::optional<Answer>>& answers) {
  Newest newest;
  for (std::size_t voter = 0; voter < answers.size(); ++voter) {
    const auto& answer = answers[voter];
    if (!answer || answer->verdict != Verdict::kKept) continue;
    if (!newest.head || newest.head->version < answer->head.version) {
      newest.head = answer->head;
      newest.at.clear();
    }
    if (newest.head->version == answer->head.version) newest.at.push_back(voter);
  }
  return newest;
}

}  // namespace bellwether::copies
