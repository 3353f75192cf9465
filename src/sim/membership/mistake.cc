#include "sim/membership/mistake.h"

namespace bellwether::sim {

std::string_view to_string(MembershipMistake mistake) {
  switch (mistake) {
    case MembershipMistake::kNone: return "none";
    case MembershipMistake::kForgesIncarnation: return "forges-incarnation";
    case MembershipMistake::kSwallowsAccusations: return "swallows-accusations";
    case MembershipMistake::kProofFromTimeout: return "proof-from-timeout";
    case MembershipMistake::kAnswersForTheDead: return "answers-for-the-dead";
  }
  return "unknown";
}

}  // namespace bellwether::sim
