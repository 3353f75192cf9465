// The fields of a FailoverState one by one: how each is written, read and judged. Shared by its sources only.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "election/context/canonical.h"
#include "election/context/failover_state.h"

namespace bellwether::context_lead {

struct FieldRow {
  StateField field;
  std::string_view name;
  void (*put)(CanonicalWriter& out, const FailoverState& state);
  // Sets the field, all or nothing is for the caller to see to.
  void (*get)(CanonicalReader& in, FailoverState& state);
  // What is wrong with it; empty: nothing.
  std::string (*judge)(const FailoverState& state, WallTime now);
  void (*copy)(const FailoverState& from, FailoverState& to);
};
// In the order of the bytes.
std::span<const FieldRow> field_rows();

// judge of the fields, in failover_check.cc
namespace judge {
std::string leader(const FailoverState& state, WallTime now);
std::string term(const FailoverState& state, WallTime now);
std::string transfer_time(const FailoverState& state, WallTime now);
std::string queued(const FailoverState& state, WallTime now);
std::string active(const FailoverState& state, WallTime now);
std::string completed(const FailoverState& state, WallTime now);
std::string cluster(const FailoverState& state, WallTime now);
std::string resources(const FailoverState& state, WallTime now);
std::string assignments(const FailoverState& state, WallTime now);
std::string manager(const FailoverState& state, WallTime now);
std::string generation(const FailoverState& state, WallTime now);
std::string queue(const FailoverState& state, WallTime now);
std::string version(const FailoverState& state, WallTime now);
std::string health(const FailoverState& state, WallTime now);
std::string reason(const FailoverState& state, WallTime now);
std::string source(const FailoverState& state, WallTime now);
std::string duration(const FailoverState& state, WallTime now);
std::string validation(const FailoverState& state, WallTime now);
}  // namespace judge

}  // namespace bellwether::context_lead
