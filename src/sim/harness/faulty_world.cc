#include "sim/harness/faulty_world.h"

#include "core/base/units.h"

namespace bellwether::sim {

void FaultyWorld::fail(const std::string& rule) {
  if (holds()) run_.violation = fmt::format("{} (at {})", rule, format_duration(now() - Instant()));
}

void FaultyWorld::say(const std::string& text) {
  if (tracing()) run_.trace += fmt::format("{}  {}\n", format_duration(now() - Instant()), text);
}

// The fault's own lines come after its name.
void FaultyWorld::told(std::size_t row, std::string_view name, std::size_t place_in_trace) {
  ++run_.hits[row];
  if (!tracing()) return;
  std::string line = format_duration(now() - Instant()) + "  fault: ";
  line.append(name).append("\n");
  run_.trace.insert(place_in_trace, line);
}

Run FaultyWorld::live(std::size_t faults, Strike strike) {
  run_.hits.resize(faults);
  begin();
  const Pace pace = this->pace();
  const int64_t count = prng().between(pace.least_faults, pace.most_faults);
  run_for(pace.before);
  for (int64_t i = 0; i < count && holds(); ++i) {
    if (now() >= spared_until_) strike(*this);
    run_for(draw(Duration::zero(), pace.gap));
  }
  if (holds() && run_for(pace.after)) {
    say("all faults are repaired");
    make_whole();
    if (run_for(pace.rest)) {
      make_whole();
      expect_recovery();
    }
  }
  if (!holds() && tracing()) tell_states();
  run_.fingerprint = fingerprint();
  run_.events = events_;
  run_.lived = now() - Instant();
  run_.counts = counts();
  return std::move(run_);
}

}  // namespace bellwether::sim
