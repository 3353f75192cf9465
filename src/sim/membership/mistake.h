// Well-known ways to break a membership from outside its kernel, each as a switch of the simulated world. A suite that
// does not find every one of them out would not find it in the product either.
#pragma once

#include <cstdint>
#include <string_view>

namespace bellwether::sim {

enum class MembershipMistake : uint8_t {
  kNone,
  kForgesIncarnation,    // a relay "repairs" a record by raising the incarnation of somebody else
  kSwallowsAccusations,  // a filter keeps from a node what is said about it: once dead, it stays dead
  kProofFromTimeout,     // a driver takes a connection that was slow for a process that has ended
  kAnswersForTheDead,    // something answers probes although the process behind the address is gone
};
inline constexpr int kMembershipMistakes = static_cast<int>(MembershipMistake::kAnswersForTheDead) + 1;

std::string_view to_string(MembershipMistake mistake);

}  // namespace bellwether::sim
