// What must hold in every leadership world, whatever breaks. Each rule is named by the invariant it stands for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "election/epoch.h"

namespace bellwether::sim {

class LeadershipChecker {
 public:
  explicit LeadershipChecker(std::size_t contenders) : running_(contenders) {}

  // I1: one leader an epoch. I3: epochs grow strictly. I10: no start before the last stop has returned.
  void elected(std::size_t who, election::Epoch epoch, Instant world);
  void stopped(std::size_t who, election::Epoch epoch);
  void crashed(std::size_t who);
  // I2: when somebody's work begins, nobody else's may still act. `until`: the last instant at which the work of
  // `other` could act, in world time.
  void beside(std::size_t who, std::size_t other, Instant world, Instant until);
  // I4: the resource accepted an act.
  void accepted(election::Epoch epoch, Instant world);
  // I12: the store has carried out a release while the work of that contender ran.
  void released(std::size_t who, bool working, Instant world);
  // I11: the driver was told to lead although the store never confirmed.
  void elected_without_claim(std::size_t who, Instant world);
  void fail(const std::string& text, Instant world);

  const std::string& violation() const { return violation_; }
  uint32_t terms() const { return terms_; }

 private:
  struct Running {
    bool on = false;
    election::Epoch epoch;
  };
  std::vector<Running> running_;
  election::Epoch highest_elected_;
  election::Epoch highest_accepted_;
  uint32_t terms_ = 0;
  std::string violation_;
};

}  // namespace bellwether::sim
