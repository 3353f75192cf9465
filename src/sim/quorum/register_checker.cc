#include "sim/quorum/register_checker.h"

#include <algorithm>

#include "base/units.h"

namespace bellwether::sim {
namespace {

std::string show(dispatch::Place place) {
  return std::to_string(place.fence.value()) + "." + std::to_string(place.write);
}

}  // namespace

void RegisterChecker::fail(const std::string& text, Instant world) {
  if (violation_.empty()) violation_ = text + " (at " + format_duration(world - Instant()) + ")";
}

void RegisterChecker::attempted(dispatch::Place place, const std::string& value, Instant world) {
  const auto [known, first] = values_.try_emplace(place, value);
  if (!first && known->second != value) fail("two values at " + show(place), world);
  if (!value.empty()) origins_.try_emplace(value, place);
}

void RegisterChecker::done(const char* what, bool is_write, const Floor& from, dispatch::Place place,
                           const std::string& value, Instant world) {
  const auto known = values_.find(place);
  if (known == values_.end() || known->second != value) {
    return fail(std::string(what) + " at " + show(place) + " has a value that was never written there", world);
  }
  const auto found = origins_.find(value);
  const dispatch::Place origin = found == origins_.end() ? dispatch::Place() : found->second;
  if (place < from.place || (is_write && place == from.place)) {
    fail(std::string(what) + " at " + show(place) + " although " + show(from.place) +
             " was done before it was asked for",
         world);
  }
  if (origin < from.origin) {
    fail(std::string(what) + " gives the value of " + show(origin) + " although that of " + show(from.origin) +
             " was done before it was asked for",
         world);
  }
  floor_.place = std::max(floor_.place, place);
  floor_.origin = std::max(floor_.origin, origin);
}

void RegisterChecker::taken(uint32_t who, dispatch::JobFence fence, Instant world) {
  const auto [known, first] = fences_.try_emplace(fence.value(), who);
  if (!first) fail("I1: a second owner under fence " + std::to_string(fence.value()), world);
}

}  // namespace bellwether::sim
