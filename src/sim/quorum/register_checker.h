// The history of one simulated register, checked as it happens, and the rules that hold for it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cluster/register/small.h"
#include "sim/harness/faulty_world.h"

namespace bellwether::sim {

using registers::Place;

inline std::string show_place(Place place) { return fmt::format("{}.{}", place.fence.value(), place.write); }

// A register with one owner at a time has a known order of writes: that of their places. This checks that the order
// agrees with the time of the world.
class RegisterChecker {
 public:
  // The operations known to have taken effect when an operation began.
  struct Floor {
    Place place;
    Place origin;  // where the value was first written
  };
  RegisterChecker(FaultyWorld& world, std::string key) : world_(world), key_(std::move(key)) {}
  Floor floor() const { return floor_; }

  // A user's value goes out at a place; the adoption of an older one says the older one's.
  void attempted(Place place, const std::string& value) {
    const auto [known, first] = values_.try_emplace(place, value);
    if (!first && known->second != value) fail("two values at " + show_place(place));
    if (!value.empty()) origins_.try_emplace(value, place);
  }
  // A write, read or take-over that was asked for at `from` has been answered with this place and value.
  void done(const std::string& what, bool is_write, const Floor& from, Place place, const std::string& value) {
    const auto known = values_.find(place);
    if (known == values_.end() || known->second != value) {
      return fail(fmt::format("{} at {} has a value that was never written there", what, show_place(place)));
    }
    const auto found = origins_.find(value);
    const Place origin = found == origins_.end() ? Place() : found->second;
    if (place < from.place || (is_write && place == from.place)) {
      fail(fmt::format("{} at {} although {} was done before it was asked for", what, show_place(place),
                       show_place(from.place)));
    }
    if (origin < from.origin) {
      fail(fmt::format("{} returns the value of {} although that of {} was written before the request", what,
                       show_place(origin), show_place(from.origin)));
    }
    done_.insert(place);
    floor_.place = std::max(floor_.place, place);
    floor_.origin = std::max(floor_.origin, origin);
  }
  // An owner believes that every later owner sees this write.
  void settled(Place place) {
    if (place == Place() || done_.contains(place)) return;
    fail(fmt::format("the write at {} counts as settled, but is not done", show_place(place)));
  }
  // I1: a fence has one owner.
  void taken(uint32_t who, registers::JobFence fence) {
    const bool first = fences_.try_emplace(fence.value(), who).second;
    if (!first) fail(fmt::format("I1: a second owner under fence {}", fence.value()));
  }

 private:
  void fail(const std::string& rule) { world_.fail(fmt::format("{} (register '{}')", rule, key_)); }

  FaultyWorld& world_;
  std::string key_;
  std::map<Place, std::string> values_;
  std::map<std::string, Place> origins_;
  std::map<uint64_t, uint32_t> fences_;
  std::set<Place> done_;
  Floor floor_;
};

}  // namespace bellwether::sim
