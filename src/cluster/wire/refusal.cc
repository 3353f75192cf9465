#include "cluster/wire/refusal.h"

#include "core/base/enum_names.h"

namespace bellwether::wire {
namespace {

constexpr EnumNames<Refusal> kNames("none", "rate_limited", "truncated", "oversized", "garbage", "format",
                                    "unknown_key", "forged", "replayed", "unproven", "bomb", "cluster", "environment",
                                    "version", "role", "certificate", "name", "own_name", "sender", "unknown_message",
                                    "unexpected", "timeout", "crowded");

}  // namespace

std::string_view to_string(Refusal refusal) { return kNames[refusal]; }
std::optional<Refusal> refusal_named(std::string_view name) { return kNames.find(name); }

}  // namespace bellwether::wire
