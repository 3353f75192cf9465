// The worlds as a command and the tests run them: rows of a table, and the reports on one run and on many.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sim/harness/faulty_world.h"

namespace bellwether::sim {

// A world by its name: see faulty_world.h.
struct WorldRow {
  std::string_view name;
  std::string_view what;
  std::span<const Mistake> mistakes;
  std::span<const std::string_view> faults;
  Run (*live)(const RunSettings& settings) = nullptr;
};

template <const auto& kFaults>
inline constexpr auto kNamesOf = [] {
  std::array<std::string_view, kFaults.size()> names;
  for (std::size_t row = 0; row < names.size(); ++row) names[row] = kFaults[row].name;
  return names;
}();

template <class World, const auto& kMistakes, const auto& kFaults>
constexpr WorldRow world_row(std::string_view name, std::string_view what) {
  return {name, what, kMistakes, kNamesOf<kFaults>, &live_with<World, kFaults>};
}

// Something that is measured in virtual time and no matter of holding or not: a table, as text.
struct Measurement {
  struct Report {
    bool held = true;
    std::string text;
  };
  std::string_view name;
  std::string_view what;
  Report (*run)(uint64_t from, uint64_t seeds) = nullptr;
};

struct SimRequest {
  std::string world;
  std::optional<uint64_t> seed;  // one run, told in full
  uint64_t from = 1;
  uint64_t seeds = 1000;
  std::string mistake = "none";
};
enum class SimOutcome : uint8_t {
  kHeld,
  kViolated,  // also by a mistake that was put in: it is found
  kNotFound,  // a mistake was put in, and no run has shown it
};

class SimReport {
 public:
  using Print = void (*)(const std::string& text);
  SimReport(std::span<const WorldRow> worlds, std::span<const Measurement> measurements, Print print)
      : worlds_(worlds), measurements_(measurements), print_(print) {}

  // Of worlds, measurements and mistakes.
  void list() const;
  // Fails for an unknown world, or an unknown mistake in it.
  Result<SimOutcome> run(const SimRequest& request) const;

 private:
  SimOutcome run_one(const WorldRow& world, const SimRequest& request, std::size_t mistake) const;
  SimOutcome run_many(const WorldRow& world, const SimRequest& request, std::size_t mistake) const;
  SimOutcome judge(const WorldRow& world, std::size_t mistake, uint64_t violated) const;

  std::span<const WorldRow> worlds_;
  std::span<const Measurement> measurements_;
  Print print_;
};

// 0: "none", which every world has.
std::optional<std::size_t> mistake_of(const WorldRow& world, std::string_view name);
// "bellwether sim --world quorum --seed 7 --mistake live-majority"
std::string command_for(const WorldRow& world, const RunSettings& settings);

}  // namespace bellwether::sim
