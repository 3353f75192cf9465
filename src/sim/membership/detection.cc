#include "sim/membership/detection.h"

#include <algorithm>

namespace bellwether::sim {
namespace {

class Deaths final : public Watcher {
 public:
  void saw(std::size_t, const membership::Effect& effect, Instant world) override {
    const auto* event = std::get_if<membership::MemberEvent>(&effect);
    if (!event || event->change != membership::MemberChange::kDied) return;
    if (event->name != victim) {
      ++others;
      return;
    }
    if (seen++ == 0) first = world;
    last = world;
  }
  std::string victim;
  std::size_t seen = 0;
  uint64_t others = 0;
  Instant first;
  Instant last;
};

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(q * static_cast<double>(values.size()));
  return values[std::min(rank, values.size() - 1)];
}

struct Samples {
  std::vector<double> first;
  std::vector<double> all;
  uint64_t missed = 0;
  uint64_t false_positives = 0;
};

// Crashes one node after the other in one world, as many as leave nine in ten; returns how many.
std::size_t crash_some(const membership::Figures& figures, const DetectionCase& one, uint64_t seed, std::size_t most,
                       Samples& samples) {
  MemberWorld world({.figures = figures, .seed = seed, .loss = one.loss});
  for (std::size_t i = 0; i < one.members; ++i) world.add("node-" + std::to_string(i));
  Deaths deaths;
  world.start_all_acquainted();
  world.watch(&deaths);
  world.run_until(Instant() + Duration::seconds(5));
  std::size_t alive = one.members;
  const std::size_t crashes = std::clamp<std::size_t>(one.members / 10, 1, most);
  for (std::size_t i = 0; i < crashes; ++i) {
    std::size_t victim = world.prng().below(one.members);
    while (!world.running(victim)) victim = (victim + 1) % one.members;
    world.run_until(world.now() + Duration::millis(world.prng().between(0, 3000)));
    deaths.victim = world.name(victim);
    deaths.seen = 0;
    const Instant crashed = world.now();
    world.crash(victim);
    --alive;
    const Instant limit = crashed + Duration::minutes(2);
    while (deaths.seen < alive && world.now() < limit) world.run_until(world.now() + Duration::millis(100));
    if (deaths.seen < alive) {
      ++samples.missed;
      continue;
    }
    samples.first.push_back((deaths.first - crashed).seconds_f());
    samples.all.push_back((deaths.last - crashed).seconds_f());
  }
  samples.false_positives += deaths.others;
  return crashes;
}

}  // namespace

Detection measure_detection(const membership::Figures& figures, const DetectionCase& one) {
  Samples samples;
  uint64_t seed = one.seed;
  for (std::size_t left = one.crashes; left > 0;) left -= crash_some(figures, one, seed++, left, samples);
  return {.first_p50 = quantile(samples.first, 0.5),
          .first_p99 = quantile(samples.first, 0.99),
          .all_p50 = quantile(samples.all, 0.5),
          .all_p99 = quantile(samples.all, 0.99),
          .missed = samples.missed,
          .false_positives = samples.false_positives};
}

IdleCost measure_idle(const membership::Figures& figures, std::size_t members, Duration over, uint64_t seed) {
  MemberWorld world({.figures = figures, .seed = seed});
  for (std::size_t i = 0; i < members; ++i) world.add("node-" + std::to_string(i));
  world.start_all_acquainted();
  // Until the news of everybody's start has been passed on.
  world.run_until(Instant() + Duration::seconds(30));
  const Traffic before = world.traffic();
  world.run_until(world.now() + over);
  const double node_seconds = static_cast<double>(members) * over.seconds_f();
  return {static_cast<double>(world.traffic().messages - before.messages) / node_seconds,
          static_cast<double>(world.traffic().bytes - before.bytes) / node_seconds};
}

}  // namespace bellwether::sim
