#include "sim/harness/worlds.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::sim {
namespace {

constexpr uint64_t kMaxTold = 10;  // seeds with violations

std::string told(const std::vector<Run::Count>& counts, uint64_t events) {
  std::string text;
  for (const Run::Count& count : counts) text += fmt::format("{} {}, ", format_count(count.number), count.what);
  return fmt::format("{}{} events", text, format_count(events));
}

std::string row_of(std::string_view name, std::string_view what) {
  std::string line = "  " + std::string(name);
  line.resize(std::max<std::size_t>(line.size() + 2, 30), ' ');
  return line.append(what) + "\n";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& names) {
  const std::string_view near = nearest(word, names);
  return near.empty() ? std::string() : fmt::format(" (did you mean '{}'?)", near);
}

}  // namespace

std::optional<std::size_t> mistake_of(const WorldRow& world, std::string_view name) {
  if (name == "none") return 0;
  for (std::size_t row = 0; row < world.mistakes.size(); ++row) {
    if (world.mistakes[row].name == name) return row + 1;
  }
  return std::nullopt;
}

std::string command_for(const WorldRow& world, const RunSettings& settings) {
  std::string command = fmt::format("bellwether sim --world {} --seed {}", world.name, settings.seed);
  if (settings.mistake != 0) command.append(" --mistake ").append(world.mistakes[settings.mistake - 1].name);
  return command;
}

void SimReport::list() const {
  std::string text = "Worlds with faults:\n";
  for (const WorldRow& world : worlds_) text += row_of(world.name, world.what);
  text += "\nMeasurements:\n";
  for (const Measurement& one : measurements_) text += row_of(one.name, one.what);
  text += "\nMistakes for --mistake, each of which the worlds must detect:\n";
  const Mistake* told = nullptr;
  for (const WorldRow& world : worlds_) {
    if (world.mistakes.data() == told) continue;
    told = world.mistakes.data();
    std::string names;
    for (const WorldRow& other : worlds_) {
      if (other.mistakes.data() == told) names.append(names.empty() ? " " : ", ").append(other.name);
    }
    text += names + ":\n";
    for (const Mistake& mistake : world.mistakes) {
      const std::string where = mistake.world.empty() ? "" : fmt::format(" (in {})", mistake.world);
      text += row_of(mistake.name, std::string(mistake.what) + where);
    }
  }
  print_(text);
}

Result<SimOutcome> SimReport::run(const SimRequest& request) const {
  const auto named = [&](const auto& one) { return one.name == request.world; };
  if (const auto found = std::ranges::find_if(measurements_, named); found != measurements_.end()) {
    const Measurement::Report report = found->run(request.from, request.seeds);
    print_(report.text);
    return report.held ? SimOutcome::kHeld : SimOutcome::kViolated;
  }
  const auto world = std::ranges::find_if(worlds_, named);
  if (world == worlds_.end()) {
    std::vector<std::string_view> names;
    for (const WorldRow& one : worlds_) names.push_back(one.name);
    for (const Measurement& one : measurements_) names.push_back(one.name);
    return fail(Errc::kNotFound, "there is no world '{}'{}; `bellwether sim --list` names them", request.world,
                did_you_mean(request.world, names));
  }
  const auto mistake = mistake_of(*world, request.mistake);
  if (!mistake) {
    std::vector<std::string_view> names{"none"};
    for (const Mistake& one : world->mistakes) names.push_back(one.name);
    return fail(Errc::kNotFound, "there is no mistake '{}' in world '{}'{}; `bellwether sim --list` names them",
                request.mistake, request.world, did_you_mean(request.mistake, names));
  }
  return request.seed ? run_one(*world, request, *mistake) : run_many(*world, request, *mistake);
}

SimOutcome SimReport::judge(const WorldRow& world, std::size_t mistake, uint64_t violated) const {
  if (mistake == 0) return violated == 0 ? SimOutcome::kHeld : SimOutcome::kViolated;
  const Mistake& row = world.mistakes[mistake - 1];
  const std::string name(row.name);
  if (violated > 0) {
    print_(fmt::format("the mistake '{}' was detected\n", name));
    return SimOutcome::kViolated;
  }
  const bool elsewhere = !row.world.empty() && row.world != world.name;
  print_(fmt::format("NOT FOUND: no run detected the mistake '{}'; run more seeds (--seeds){}", name,
                     elsewhere ? fmt::format(", or world {}, which detects it sooner\n", row.world) : "\n"));
  return SimOutcome::kNotFound;
}

SimOutcome SimReport::run_one(const WorldRow& world, const SimRequest& request, std::size_t mistake) const {
  const Run run = world.live({*request.seed, mistake, true});
  print_(fmt::format("{}seed {}: {} in {}, fingerprint {}\n{}", run.trace, *request.seed, told(run.counts, run.events),
                     format_duration(run.lived), hex(run.fingerprint),
                     run.violation.empty() ? "all invariants held\n" : fmt::format("VIOLATED: {}\n", run.violation)));
  return judge(world, mistake, run.violation.empty() ? 0 : 1);
}

SimOutcome SimReport::run_many(const WorldRow& world, const SimRequest& request, std::size_t mistake) const {
  std::vector<Run::Count> sums;
  uint64_t violated = 0;
  uint64_t events = 0;
  for (uint64_t seed = request.from; seed < request.from + request.seeds; ++seed) {
    const RunSettings settings{seed, mistake, false};
    const Run run = world.live(settings);
    if (sums.empty()) sums.resize(run.counts.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = {run.counts[i].what, sums[i].number + run.counts[i].number};
    events += run.events;
    if (run.violation.empty() || ++violated > kMaxTold) continue;
    print_(fmt::format("seed {}: {}\n  {}\n", seed, run.violation, command_for(world, settings)));
  }
  print_(fmt::format("{}: seeds {} to {}: {}, {}\n", request.world, request.from, request.from + request.seeds - 1,
                     told(sums, events), violated == 0 ? "all invariants held" : format_count(violated) + " VIOLATED"));
  return judge(world, mistake, violated);
}

}  // namespace bellwether::sim
