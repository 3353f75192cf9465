#include "core/base/probe.h"

#include <mutex>

namespace bellwether {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<Probe*> probes;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

Probe::Probe(const char* name, const char* file, int line) : name_(name), file_(file), line_(line) {
  std::lock_guard lock(registry().mutex);
  registry().probes.push_back(this);
}

std::vector<const Probe*> Probe::all() {
  std::lock_guard lock(registry().mutex);
  return {registry().probes.begin(), registry().probes.end()};
}

uint64_t Probe::hits_of(std::string_view name) {
  uint64_t sum = 0;
  for (const Probe* probe : all()) {
    if (name == probe->name()) sum += probe->hits();
  }
  return sum;
}

bool FaultPlan::fires(std::string_view name) {
  const auto found = probabilities_.find(name);
  if (found == probabilities_.end() || !prng_.chance(found->second)) return false;
  ++fired_;
  return true;
}

}  // namespace bellwether
