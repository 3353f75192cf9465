#include "jobs/dispatch/messages.h"

#include <array>
#include <utility>

namespace bellwether::dispatch {
namespace {

constexpr std::array<std::string_view, kRefusalKinds> kKinds{
    "not_owner", "not_leader", "stale", "busy", "unknown", "broken", "invalid", "unavailable", "conflict"};

}  // namespace

std::string_view to_string(Refusal::Kind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

Refusal refusal(Refusal::Kind kind, std::string why, Duration again_after) {
  Refusal out;
  out.kind = kind;
  out.why = std::move(why);
  out.again_after = again_after;
  return out;
}

}  // namespace bellwether::dispatch
