// Whether somebody else leads and is in good health, judged by a candidate that would rather leave than wait. Leaving
// is harmless, so here, and only here, wall clocks and appearances are believed: a record that was renewed lately, or
// that changes while it is looked at, is a healthy leader's. A record that has run out by the wall clock proves
// nothing; it is waited for until it changes or may be taken. Pure.
#pragma once

#include <string>

#include "core/base/time.h"
#include "election/elector.h"

namespace bellwether::lead {

class HealthyLeader {
 public:
  // To be asked after each look that the candidate took at the key, or more often.
  bool is_seen_by(const election::Elector& elector, WallTime now);

 private:
  std::string token_;  // of the record that is watched, and the version in which it was seen first
  election::Version version_;
};

}  // namespace bellwether::lead
