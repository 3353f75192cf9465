// What must hold wherever somebody is elected, however that is done and whatever breaks. Each rule is named by the
// invariant it stands for. Members go by their ids.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "election/epoch.h"
#include "sim/harness/faulty_world.h"

namespace bellwether::sim {

template <class Id>
std::vector<uint64_t> values(const std::vector<Id>& ids) {
  std::vector<uint64_t> all;
  for (const Id id : ids) all.push_back(id.value());
  return all;
}

class GroupChecker {
 public:
  explicit GroupChecker(FaultyWorld& world) : world_(world) {}

  // I5: a member votes once a term. What two processes of one id say is not compared: one of them is not listened to,
  // and I1 and I6 hold for what is counted.
  void voted(uint64_t voter, uint32_t process, election::Term term, uint64_t candidate);
  // I1: one leader a term. I3: the terms of leaders grow. I6: by a majority of the declared members, while they change
  // of those before and of those to be; no electorates: nobody votes here.
  void elected(uint64_t who, election::Term term, const std::vector<std::vector<uint64_t>>& electorates);
  // I4: the resource accepted an act.
  void accepted(election::Term term);

  uint32_t terms() const { return terms_; }

 private:
  struct Cast {
    election::Term term;
    uint64_t voter;
    uint32_t process;
    auto operator<=>(const Cast&) const = default;
  };
  FaultyWorld& world_;
  std::map<Cast, uint64_t> votes_;  // for whom
  election::Term highest_elected_;
  election::Term highest_accepted_;
  uint32_t terms_ = 0;
};

}  // namespace bellwether::sim
