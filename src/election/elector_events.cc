#include "election/elector_events.h"

#include <utility>

#include "core/base/enum_names.h"
#include "core/base/units.h"

namespace bellwether::election {

const char* to_string(EvidenceKind kind) {
  static constexpr EnumNames<EvidenceKind> kNames("work", "disk", "health command", "own judgement");
  return kNames[kind];
}

void Evidence::require(EvidenceKind kind, Duration within) { sources_[static_cast<std::size_t>(kind)].within = within; }

void Evidence::good(Instant now, EvidenceKind kind) {
  Source& source = sources_[static_cast<std::size_t>(kind)];
  source.last_good = now;
  source.ever_good = true;
  source.bad = false;
  source.why.clear();
}

void Evidence::bad(Instant, EvidenceKind kind, std::string why) {
  Source& source = sources_[static_cast<std::size_t>(kind)];
  source.bad = true;
  source.why = std::move(why);
}

void Evidence::begin(Instant now) {
  for (Source& source : sources_) source.last_good = now;
}

std::optional<std::string> Evidence::against(Instant now, bool working) const {
  for (std::size_t i = 0; i < kEvidenceKinds; ++i) {
    const Source& source = sources_[i];
    const auto kind = static_cast<EvidenceKind>(i);
    if (kind == EvidenceKind::kWork && !working) continue;
    if (source.bad) return fmt::format("{}: {}", to_string(kind), source.why);
    if (!working && source.within && !source.ever_good) return std::string(to_string(kind)) + ": no sign of life yet";
    if (working && source.within && now - source.last_good > *source.within) {
      return fmt::format("{}: no sign of life for {} (limit: {})", to_string(kind),
                         format_duration(now - source.last_good), format_duration(*source.within));
    }
  }
  return std::nullopt;
}

}  // namespace bellwether::election
