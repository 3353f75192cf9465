// What must hold in every simulated group, however it elects and whatever breaks. Each rule is named by the invariant
// it stands for. Members go by their ids.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "election/epoch.h"

namespace bellwether::sim {

template <class Id>
std::vector<uint64_t> values(const std::vector<Id>& ids) {
  std::vector<uint64_t> all;
  for (const Id id : ids) all.push_back(id.value());
  return all;
}

class GroupChecker {
 public:
  // I5: a member votes once a term. What two processes of one id say is not compared: one of them is not listened to,
  // and I1 and I6 hold for what is counted.
  void voted(uint64_t voter, uint32_t process, election::Term term, uint64_t candidate, Instant world);
  // I1: one leader a term. I3: the terms of leaders grow. I6: by a majority of the declared members, while they change
  // of those before and of those to be.
  void elected(uint64_t who, election::Term term, const std::vector<std::vector<uint64_t>>& electorates, Instant world);
  // I4: the resource accepted an act.
  void accepted(election::Term term, Instant world);
  void fail(const std::string& text, Instant world);

  const std::string& violation() const { return violation_; }
  uint32_t terms() const { return terms_; }

 private:
  struct Cast {
    election::Term term;
    uint64_t voter;
    uint32_t process;
    auto operator<=>(const Cast&) const = default;
  };
  std::map<Cast, uint64_t> votes_;  // for whom
  election::Term highest_elected_;
  election::Term highest_accepted_;
  uint32_t terms_ = 0;
  std::string violation_;
};

}  // namespace bellwether::sim
