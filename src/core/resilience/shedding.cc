#include "core/resilience/shedding.h"

namespace bellwether::resilience {
namespace {

constexpr std::string_view kUrgencyNames[kUrgencies] = {"critical", "high", "normal", "low"};

}  // namespace

std::string_view to_string(Urgency urgency) { return kUrgencyNames[static_cast<std::size_t>(urgency)]; }

Duration shed_for(LoadState state) {
  switch (state) {
    case LoadState::kHealthy:
    case LoadState::kBusy: return Duration::seconds(1);
    case LoadState::kStressed: return Duration::seconds(2);
    case LoadState::kOverloaded: return Duration::seconds(5);
  }
  return Duration::seconds(5);
}

}  // namespace bellwether::resilience
