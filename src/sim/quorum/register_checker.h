// The history of one register, checked as it happens. A register with one owner at a time has a known order of writes:
// that of their places. What is left to check is that this order agrees with the time of the world.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "dispatch/job_register.h"

namespace bellwether::sim {

class RegisterChecker {
 public:
  // What was known to have taken effect when an operation was asked for.
  struct Floor {
    dispatch::Place place;
    dispatch::Place origin;  // where the value was first written
  };
  Floor floor() const { return floor_; }

  // A user's value goes out at a place; the adoption of an older one says the older one's.
  void attempted(dispatch::Place place, const std::string& value, Instant world);
  // A write, read or take-over that was asked for at `from` has been answered with this place and value.
  void done(const char* what, bool is_write, const Floor& from, dispatch::Place place, const std::string& value,
            Instant world);
  // I1: a fence has one owner.
  void taken(uint32_t who, dispatch::JobFence fence, Instant world);
  void fail(const std::string& text, Instant world);

  const std::string& violation() const { return violation_; }

 private:
  std::map<dispatch::Place, std::string> values_;
  std::map<std::string, dispatch::Place> origins_;
  std::map<uint64_t, uint32_t> fences_;
  Floor floor_;
  std::string violation_;
};

}  // namespace bellwether::sim
