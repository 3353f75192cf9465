// What is turned away when there is too much to do. Each message has one of four urgencies (which: see
// cluster/net/message_classes.h), and a state of load lets those through that it can bear. What is critical always
// passes: without it a cluster could neither be told to stop nor get better by itself.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/resilience/overload.h"

namespace bellwether::resilience {

enum class Urgency : unsigned char {
  kCritical,  // never shed: ends work, keeps the cluster together, or carries results
  kHigh,      // brings work: shed when overloaded
  kNormal,    // shed when stressed: tells and asks about work
  kLow,       // shed when busy: what somebody would like to know
};
inline constexpr std::size_t kUrgencies = 4;
std::string_view to_string(Urgency urgency);  // "critical", "high", "normal", "low"

constexpr bool sheds(LoadState state, Urgency urgency) {
  return static_cast<std::size_t>(urgency) + static_cast<std::size_t>(state) >= kUrgencies &&
         urgency != Urgency::kCritical;
}

// How long whoever was turned away is to wait, before it is spread: as long as it takes to see that it got better.
Duration shed_for(LoadState state);

}  // namespace bellwether::resilience
