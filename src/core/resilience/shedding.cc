#include "core/resilience/shedding.h"

#include "core/base/enum_names.h"

namespace bellwether::resilience {

std::string_view to_string(Urgency urgency) {
  static constexpr EnumNames<Urgency> kNames("critical", "high", "normal", "low");
  return kNames[urgency];
}

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
