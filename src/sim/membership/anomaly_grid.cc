#include "sim/membership/anomaly_grid.h"

#include <algorithm>
#include <cstdio>

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
  for (std::size_t i = 0; i < one.members; ++i) world.add(fmt::format("node-{}", i));
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

class Counter final : public Watcher {
 public:
  Counter(const MemberWorld& world, const std::vector<uint8_t>& slow) : slow_(slow) {
    for (std::size_t i = 0; i < world.size(); ++i) by_name_[world.name(i)] = i;
  }
  void saw(std::size_t node, const membership::Effect& effect, Instant) override {
    const auto* event = std::get_if<membership::MemberEvent>(&effect);
    if (!event || event->change != membership::MemberChange::kDied) return;
    if (slow_[by_name_.at(event->name)] != 0) {
      ++counts.deaths_of_slow;
      return;
    }
    ++counts.false_positives;
    if (slow_[node] == 0) ++counts.false_positives_at_healthy;
  }
  AnomalyCounts counts;

 private:
  const std::vector<uint8_t>& slow_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
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
  for (std::size_t i = 0; i < members; ++i) world.add(fmt::format("node-{}", i));
  world.start_all_acquainted();
  // Until the news of every start has been passed on.
  world.run_until(Instant() + Duration::seconds(30));
  const Traffic before = world.traffic();
  world.run_until(world.now() + over);
  const double node_seconds = static_cast<double>(members) * over.seconds_f();
  return {static_cast<double>(world.traffic().messages - before.messages) / node_seconds,
          static_cast<double>(world.traffic().bytes - before.bytes) / node_seconds};
}

AnomalyCounts& AnomalyCounts::operator+=(const AnomalyCounts& other) {
  runs += other.runs;
  false_positives += other.false_positives;
  false_positives_at_healthy += other.false_positives_at_healthy;
  deaths_of_slow += other.deaths_of_slow;
  messages += other.messages;
  bytes += other.bytes;
  return *this;
}

AnomalyCounts run_anomaly(const AnomalyCase& one, const membership::Figures& figures) {
  MemberWorld world({.figures = figures, .seed = one.seed});
  for (std::size_t i = 0; i < one.members; ++i) world.add(fmt::format("node-{}", i));
  std::vector<uint8_t> slow(one.members);
  for (std::size_t left = one.slow; left > 0;) {
    uint8_t& chosen = slow[world.prng().below(one.members)];
    if (chosen != 0) continue;
    chosen = 1;
    --left;
  }
  Counter counter(world, slow);
  world.start_all_acquainted();
  world.run_until(Instant() + one.quiet);
  world.watch(&counter);
  const Traffic before = world.traffic();
  const Instant end = world.now() + one.over;
  while (world.now() < end) {
    for (std::size_t i = 0; i < one.members; ++i) {
      if (slow[i] != 0) world.stall(i, one.kind, one.lasts);
    }
    world.run_until(world.now() + one.lasts + one.between);
  }
  counter.counts.runs = 1;
  counter.counts.messages = world.traffic().messages - before.messages;
  counter.counts.bytes = world.traffic().bytes - before.bytes;
  return counter.counts;
}

std::vector<AnomalyCase> anomaly_grid(Stall kind, uint64_t seed, std::size_t every) {
  std::vector<AnomalyCase> grid;
  std::size_t index = 0;
  for (const std::size_t slow : {1, 2, 4, 8, 12, 16, 20, 24, 28, 32}) {
    for (const int lasts : {128, 512, 2048, 8192, 16384, 32768}) {
      for (const int between : {1, 4, 16, 64, 256, 1024, 4096, 16384}) {
        if (index++ % every != 0) continue;
        grid.push_back({.slow = slow,
                        .lasts = Duration::millis(lasts),
                        .between = Duration::millis(between),
                        .kind = kind,
                        .seed = seed * 1'000'003 + index});
      }
    }
  }
  return grid;
}

std::string anomaly_table(Stall kind, uint64_t seed, std::size_t every) {
  const membership::Figures all[] = {membership::plain_swim(), membership::lifeguard_as_published(), membership::lan()};
  std::string text = fmt::format(
      "slow members are {}; percent of plain SWIM in brackets\ndetector      false positives    at healthy members     "
      " messages           bytes        deaths of slow  crash seen by first p50/p99, by all p50/p99\n",
      kind == Stall::kBlocked ? "blocked" : "stopped");
  AnomalyCounts swim;
  for (const membership::Figures& figures : all) {
    AnomalyCounts sum;
    for (const AnomalyCase& one : anomaly_grid(kind, seed, every)) sum += run_anomaly(one, figures);
    if (figures.name == "swim") swim = sum;
    const Detection crash = measure_detection(figures, {.members = 128, .crashes = 40, .seed = seed});
    char line[256];
    std::snprintf(
        line, sizeof line,
        "%-10.10s %10llu (%6.2f) %10llu (%6.2f) %12llu (%6.1f) %14llu (%6.1f) %10llu  %5.2f/%5.2f %5.2f/%5.2f s\n",
        std::string(figures.name).c_str(), static_cast<unsigned long long>(sum.false_positives),
        percent(sum.false_positives, swim.false_positives),
        static_cast<unsigned long long>(sum.false_positives_at_healthy),
        percent(sum.false_positives_at_healthy, swim.false_positives_at_healthy),
        static_cast<unsigned long long>(sum.messages), percent(sum.messages, swim.messages),
        static_cast<unsigned long long>(sum.bytes), percent(sum.bytes, swim.bytes),
        static_cast<unsigned long long>(sum.deaths_of_slow), crash.first_p50, crash.first_p99, crash.all_p50,
        crash.all_p99);
    text += line;
  }
  return text;
}

}  // namespace bellwether::sim
