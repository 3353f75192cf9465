// The template of a simulated world. One seed is one run, and every run has the same two phases:
//
//   begin → faults, drawn by weight from the world's table, while checkers watch what must always hold
//         → make_whole → the world must recover, and stay well
//
// A world supplies its members (begin), its faults (a table of Fault), its deliberate mistakes (a table of Mistake),
// the rules that always hold (it calls fail() where a rule is broken), and the state that must come (expect_recovery).
// The first broken rule ends the run. README.md says how to add each of these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::sim {

// Well-known ways to build a thing wrong, which a simulated world can make on request. The kernels under test are the
// product's own: their cluster_view (driver, disk, clock, wire, resource) make the mistake, or take away the kernel's
// defence against it. A world that does not find each of its mistakes would not find them in the product either.
//
// A mistake is one row in the table of its world; `is("its-name")`, where the world does its part, makes it.
struct Mistake {
  std::string_view name;        // as `bellwether sim --mistake` takes it
  std::string_view what;        // for people
  std::string_view world = {};  // a world with this table that finds it soon; empty: any
  bool only_stops = false;      // stays safe: it breaks only that a leader comes in time (I13)
  uint64_t seed = 1;            // shows it today, so a search begins there: any other seed may show it too
};

// Not defined: a call of it in a constant expression does not compile.
void there_is_no_such_mistake();

// The number of a row, counted from 1, by its name; a name that is not in the table does not compile.
template <const auto& kTable>
struct MistakeIn {
  std::size_t number = 0;

  consteval MistakeIn(const char* name) {  // NOLINT(google-explicit-constructor)
    while (number < kTable.size() && kTable[number].name != name) ++number;
    if (number == kTable.size()) there_is_no_such_mistake();
    ++number;
  }
};

// One table of several, in their order.
template <class Row, std::size_t... kSizes>
constexpr std::array<Row, (kSizes + ...)> joined(const std::array<Row, kSizes>&... tables) {
  std::array<Row, (kSizes + ...)> all{};
  std::size_t next = 0;
  const auto add = [&](const auto& table) {
    for (const Row& row : table) all[next++] = row;
  };
  (add(tables), ...);
  return all;
}

struct RunSettings {
  uint64_t seed = 1;
  std::size_t mistake = 0;  // a row of the world's table, counted from 1; 0: none
  bool trace = false;       // record the events
};

struct Run {
  struct Count {
    std::string_view what;  // in the plural: "terms"
    uint64_t number = 0;
  };
  std::string violation;  // empty: everything held
  uint64_t fingerprint = 0;
  uint64_t events = 0;
  Duration lived;              // how much time passed in the world
  std::vector<Count> counts;   // the same ones, in the same order, in each run of a world
  std::vector<uint64_t> hits;  // how often each row of the table of faults was carried out
  std::string trace;           // when requested: the events, a line each
};

// One row: a fault, or an operator's request at the wrong time. Most faults mend themselves after a while: they
// schedule that on the timeline when they begin.
template <class World>
struct Fault {
  uint32_t weight = 0;               // how often it is drawn, beside the other rows
  std::string_view name;             // "a disk is slow or fails"
  bool (*strike)(World&) = nullptr;  // false: nothing to break just now, and another row is drawn
};

class FaultyWorld {
 public:
  struct Pace {
    int64_t least_faults = 0;
    int64_t most_faults = 0;
    Duration before;  // the first fault
    Duration gap;     // at most, between two
    Duration after;   // the last one
    Duration rest;    // from when all is made whole until nothing can be on its way that breaks or mends
  };

  virtual ~FaultyWorld() = default;
  FaultyWorld(const FaultyWorld&) = delete;
  FaultyWorld& operator=(const FaultyWorld&) = delete;

  // Draws a row of `kFaults` and carries it out; live_with() below hands it over.
  using Strike = void (*)(FaultyWorld&);
  Run live(std::size_t faults, Strike strike);

  // A rule is broken: `rule` begins with its name, as docs/reliability.md lists them.
  void fail(const std::string& rule);
  bool holds() const { return run_.violation.empty(); }
  // A line of the trace.
  void say(const std::string& text);
  bool tracing() const { return settings_.trace; }

  virtual Instant now() const = 0;
  virtual Prng& prng() = 0;
  Duration draw(Duration low, Duration high) { return prng().between(low, high); }
  bool chance(double probability) { return prng().chance(probability); }
  // Lets time pass. False: a rule was broken.
  virtual bool run_for(Duration span) = 0;

  // Draws no fault for `span`.
  void spare_for(Duration span) { spared_until_ = now() + span; }

 protected:
  explicit FaultyWorld(const RunSettings& settings) : settings_(settings) {}
  bool makes(std::size_t mistake) const { return settings_.mistake == mistake; }
  bool makes_any() const { return settings_.mistake != 0; }

  virtual Pace pace() const = 0;
  virtual void begin() = 0;
  // All faults are repaired, and no new ones come. Called twice, with `rest` between.
  virtual void make_whole() = 0;
  virtual void expect_recovery() = 0;
  // The states of all members at the end of a run that went wrong, into the trace.
  virtual void tell_states() {}
  virtual uint64_t fingerprint() const = 0;
  virtual std::vector<Run::Count> counts() const = 0;

  uint64_t events_ = 0;

 private:
  template <class World, const auto& kFaults>
  friend Run live_with(const RunSettings& settings);
  template <class World, const auto& kFaults>
  static void strike(FaultyWorld& base);
  void told(std::size_t row, std::string_view name, std::size_t place_in_trace);

  RunSettings settings_;
  Run run_;
  Instant spared_until_;
};

template <class World, const auto& kFaults>
void FaultyWorld::strike(FaultyWorld& base) {
  constexpr int kTries = 16;
  constexpr uint64_t kTotal = [] {
    uint64_t sum = 0;
    for (const auto& fault : kFaults) sum += fault.weight;
    return sum;
  }();
  auto& world = static_cast<World&>(base);
  for (int tries = 0; tries < kTries; ++tries) {
    uint64_t drawn = base.prng().below(kTotal);
    std::size_t row = 0;
    while (drawn >= kFaults[row].weight) drawn -= kFaults[row++].weight;
    const std::size_t place = base.run_.trace.size();
    if (kFaults[row].strike(world)) return base.told(row, kFaults[row].name, place);
  }
}

// One run of a world that is made from RunSettings.
template <class World, const auto& kFaults>
Run live_with(const RunSettings& settings) {
  World world(settings);
  return static_cast<FaultyWorld&>(world).live(kFaults.size(), &FaultyWorld::strike<World, kFaults>);
}

}  // namespace bellwether::sim
