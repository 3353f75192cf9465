// Who is told how sound the guarded work is.
#pragma once

#include <string>

#include "election/evidence.h"

namespace bellwether::lead {

class EvidenceTaker {
 public:
  virtual ~EvidenceTaker() = default;
  virtual void good_evidence(election::EvidenceKind kind) = 0;
  virtual void bad_evidence(election::EvidenceKind kind, std::string why) = 0;
};

}  // namespace bellwether::lead
