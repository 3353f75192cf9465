// What must hold in every simulated group, whatever breaks. Each rule is named by the invariant it stands for.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "election/quorum/configuration.h"

namespace bellwether::sim {

class QuorumChecker {
 public:
  // I5: a member votes once a term. What two processes of one id say is not compared: one of them is not listened to,
  // and I1 and I6 hold for what is counted.
  void voted(quorum::MemberId voter, uint32_t process, quorum::Term term, quorum::MemberId candidate, Instant world);
  // I1: one leader a term. I3: the terms of leaders grow. I6: by a majority of the declared members.
  void elected(quorum::MemberId who, quorum::Term term, const quorum::Configuration& members, Instant world);
  // I4: the resource accepted an act.
  void accepted(quorum::Term term, Instant world);
  void fail(const std::string& text, Instant world);

  const std::string& violation() const { return violation_; }
  uint32_t terms() const { return terms_; }

 private:
  struct Cast {
    quorum::Term term;
    quorum::MemberId voter;
    uint32_t process;
    auto operator<=>(const Cast&) const = default;
  };
  std::map<Cast, quorum::MemberId> votes_;  // for whom
  quorum::Term highest_elected_;
  quorum::Term highest_accepted_;
  uint32_t terms_ = 0;
  std::string violation_;
};

}  // namespace bellwether::sim
