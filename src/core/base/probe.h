// Code probes and fault points.
//
// A code probe marks a rare branch that tests must reach: BW_PROBE("name"). It costs one relaxed increment and is on in
// every build, so that a simulation can list the probes it never hit.
//
// A fault point is a place where a simulation may force a rare event: if (faults.fires("name")) …. It fires only when a
// FaultPlan was handed in. It is drawn from that plan's own stream, so a seed repeats it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/prng.h"

namespace bellwether {

class Probe {
 public:
  // REQUIRES static storage duration: a probe registers itself and is never removed.
  Probe(const char* name, const char* file, int line);
  void hit() { hits_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  const char* name() const { return name_; }
  const char* file() const { return file_; }
  int line() const { return line_; }

  // All probes whose code was reached at least once so far, in order of registration.
  static std::vector<const Probe*> all();
  // How often the probes of this name were hit, over all places.
  static uint64_t hits_of(std::string_view name);

 private:
  const char* name_;
  const char* file_;
  int line_;
  std::atomic<uint64_t> hits_{0};
};

class FaultPlan {
 public:
  explicit FaultPlan(uint64_t seed) : prng_(seed) {}
  // From now on the point `name` fires with this probability.
  void set(std::string name, double probability) { probabilities_[std::move(name)] = probability; }
  bool fires(std::string_view name);
  uint64_t fired() const { return fired_; }

 private:
  Prng prng_;
  std::map<std::string, double, std::less<>> probabilities_;
  uint64_t fired_ = 0;
};

}  // namespace bellwether

#define BW_PROBE(name)                                                  \
  do {                                                                  \
    static ::bellwether::Probe bw_probe_here{name, __FILE__, __LINE__}; \
    bw_probe_here.hit();                                                \
  } while (false)
