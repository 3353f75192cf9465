#include "sim/membership/anomaly_grid.h"

#include <cstdio>

#include "sim/membership/detection.h"

namespace bellwether::sim {
namespace {

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
  for (std::size_t i = 0; i < one.members; ++i) world.add("node-" + std::to_string(i));
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
  std::string text = "slow members are " + std::string(kind == Stall::kBlocked ? "blocked" : "stopped") +
                     "; percent of plain SWIM in brackets\n"
                     "detector      false positives    at healthy members      messages           bytes"
                     "        deaths of slow  crash seen by first p50/p99, by all p50/p99\n";
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
