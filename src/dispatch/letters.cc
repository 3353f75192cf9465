#include "dispatch/letters.h"

#include <array>

namespace bellwether::dispatch {
namespace {

constexpr std::array<std::string_view, kRefusalKinds> kKinds{
    "not_owner", "not_leader", "stale", "busy", "unknown", "broken", "invalid", "unavailable", "conflict"};

}  // namespace

std::string_view to_string(Refusal::Kind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

}  // namespace bellwether::dispatch
