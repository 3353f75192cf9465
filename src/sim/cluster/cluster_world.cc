#include "sim/cluster/cluster_world.h"

#include <algorithm>

#include "base/units.h"
#include "sim/cluster/cluster_run.h"

namespace bellwether::sim {
namespace {

constexpr uint16_t kPort = 7400;
constexpr int kFaultsMin = 3;
constexpr int kFaultsMax = 16;
constexpr Duration kHandOver = Duration::seconds(1);
constexpr Duration kLongestDrawn = Duration::seconds(2);  // between faults
// The dead are asked again each five seconds, and links wait up to five seconds to be made again. One that began a
// cluster of its own because it was cut off is found later: each asks one of its seeds a minute.
constexpr Duration kAgreeWithin = Duration::minutes(6);
// The worst that budget_of() says, and rounds in which two stand at once.
constexpr Duration kTakeOverWithin = Duration::seconds(5);

}  // namespace

std::string_view to_string(ClusterMistake mistake) {
  switch (mistake) {
    case ClusterMistake::kNone: return "none";
    case ClusterMistake::kConfirmsBeforeDurable: return "confirms-before-durable";
    case ClusterMistake::kDeathIsProof: return "death-is-proof";
    case ClusterMistake::kActsOnAfterTerm: return "acts-on-after-term";
  }
  return "?";
}

ClusterWorld::ClusterWorld(uint64_t seed, ClusterMistake mistake, bool trace)
    : mistake_(mistake), tracing_(trace), world_(seed) {
  const std::size_t count = 3 + prng().below(3);
  std::vector<HostPort> seeds;
  std::vector<std::string> voters;
  for (std::size_t i = 0; i < count; ++i) {
    Node& node = world_.add_node("m" + std::to_string(i + 1));
    if (i < 3) seeds.push_back({node.address().to_string(), kPort});
    voters.push_back(node.name());
  }
  for (std::size_t i = 0; i < count; ++i) {
    Node& node = world_.node(i);
    stored_.push_back(std::make_unique<StoredKeys>(prng(), node.disk()));
    auto place = std::make_unique<ClusterPlace>();
    place->index = i;
    place->name = node.name();
    place->at = {node.address(), kPort};
    place->seeds = seeds;
    place->voters = voters;
    place->founds = i == 0;
    place->mistake = mistake;
    place->stored = stored_.back().get();
    place->watcher = this;
    places_.push_back(std::move(place));
  }
  run_.nodes = static_cast<uint32_t>(count);
}

// Processes end while what they stand on is still there.
ClusterWorld::~ClusterWorld() {
  for (std::size_t i = 0; i < world_.size(); ++i) world_.node(i).lose_power();
}

void ClusterWorld::say(const std::string& text) {
  if (tracing_) run_.trace += format_duration(world_.now() - Instant()) + "  " + text + "\n";
}

void ClusterWorld::saw(const ClusterPlace& place, const std::string& text) {
  if (tracing_) say(place.name + "." + std::to_string(place.starts) + "  " + text);
}

void ClusterWorld::fail(const std::string& text) {
  if (run_.violation.empty()) {
    run_.violation = text + " (at " + format_duration(world_.now() - Instant()) + ")";
  }
}

// --- what must always hold -------------------------------------------------------------------------------------------

void ClusterWorld::elected(ClusterPlace& place, uint64_t term) {
  saw(place, "elected, term " + std::to_string(term));
  ++run_.terms;
  if (term == highest_term_) fail("a second leader in term " + std::to_string(term) + ": " + place.name);
  if (term < highest_term_) fail(place.name + " leads in term " + std::to_string(term) + ", which is an earlier one");
  highest_term_ = std::max(highest_term_, term);
}

bool ClusterWorld::may_act(const ClusterPlace& place) {
  return place.process != nullptr && place.process->may_act(node_of(place).clock().boot(world_.now()));
}

bool ClusterWorld::leads(const ClusterPlace& place) {
  return place.process != nullptr && place.process->leads(node_of(place).clock().boot(world_.now()));
}

void ClusterWorld::look() {
  ++run_.events;
  const ClusterPlace* acting = nullptr;
  for (const auto& place : places_) {
    if (place->lost && place->process != nullptr && place->process->takes_part()) {
      fail(place->name + " votes although nobody knows what it voted for on the disk that it had");
    }
    if (!may_act(*place)) continue;
    if (acting != nullptr) fail(acting->name + " and " + place->name + " may act at once");
    acting = place.get();
  }
}

template <class Holds>
bool ClusterWorld::run_until(Duration at_most, Holds holds) {
  return world_.run_while_waiting(at_most, [&] {
    look();
    return !run_.violation.empty() || holds();
  });
}

bool ClusterWorld::run_for(Duration span) {
  run_until(span, [] { return false; });
  return run_.violation.empty();
}

// --- what must come to hold ------------------------------------------------------------------------------------------

ClusterPlace* ClusterWorld::leader() {
  const auto found = std::find_if(places_.begin(), places_.end(), [&](const auto& place) { return leads(*place); });
  return found == places_.end() ? nullptr : found->get();
}

bool ClusterWorld::agreed() {
  const ClusterPlace* chief = leader();
  if (chief == nullptr) return false;
  return std::all_of(places_.begin(), places_.end(), [&](const auto& place) {
    const ClusterProcess* process = place->process;
    return process != nullptr && process->leader() == chief->name && process->term() == chief->process->term() &&
           process->alive() == places_.size();
  });
}

Duration ClusterWorld::expect_agreement() {
  const Instant since = world_.now();
  const bool agree = run_until(kAgreeWithin, [&] { return agreed(); });
  if (!agree) fail("nothing is broken any more, and they do not agree after " + format_duration(kAgreeWithin));
  return world_.now() - since;
}

void ClusterWorld::expect_calm() {
  const uint32_t terms = run_.terms;
  if (!run_for(Duration::seconds(5))) return;
  if (run_.terms != terms) return fail("the leader changed although nothing was broken");
  if (!agreed()) fail("they do not agree any more although nothing was broken");
}

void ClusterWorld::expect_takeover() {
  ClusterPlace* chief = leader();
  const auto voters = std::count_if(places_.begin(), places_.end(), [&](const auto& place) {
    return place.get() != chief && place->process->takes_part();
  });
  // Who has lost its disk is as good as gone already.
  if (static_cast<std::size_t>(voters) < quorum::majority_of(places_.size())) return;
  const uint64_t term = chief->process->term();
  say(chief->name + " loses its power");
  node_of(*chief).lose_power();
  const Instant since = world_.now();
  const bool led = run_until(kTakeOverWithin, [&] {
    const ClusterPlace* next = leader();
    return next != nullptr && next->process->term() > term;
  });
  if (!run_.violation.empty()) return;
  if (!led) return fail("nobody has taken over after " + format_duration(kTakeOverWithin));
  run_.takeover = world_.now() - since;
  node_of(*chief).restart();
  run_.rejoined = expect_agreement();
}

// Where everybody stands at the end of a run that went wrong.
void ClusterWorld::tell_states() {
  for (const auto& place : places_) {
    const ClusterProcess* process = place->process;
    if (process == nullptr) {
      saw(*place, "does not run");
      continue;
    }
    saw(*place, std::string(leads(*place) ? "leads" : "follows '" + process->leader() + "'") + " in term " +
                    std::to_string(process->term()) + ", sees " + std::to_string(process->alive()) + " alive" +
                    (process->takes_part() ? "" : ", takes no part"));
  }
}

ClusterRun ClusterWorld::live() {
  for (std::size_t i = 0; i < world_.size(); ++i) start_later(world_.node(i));
  run_for(draw(Duration::seconds(1), Duration::seconds(6)));
  const auto faults = static_cast<int>(prng().between(kFaultsMin, kFaultsMax));
  for (int i = 0; i < faults && run_.violation.empty(); ++i) {
    something_goes_wrong();
    run_for(draw(Duration::millis(1), kLongestDrawn));
  }
  if (run_.violation.empty()) {
    make_whole();
    // A hand-over that was asked for is still under way.
    if (run_for(kHandOver)) run_.agreed = kHandOver + expect_agreement();
  }
  if (run_.violation.empty()) expect_calm();
  if (run_.violation.empty()) expect_takeover();
  if (!run_.violation.empty()) tell_states();
  run_.fingerprint = world_.fingerprint();
  run_.lived = world_.now() - Instant();
  for (const auto& place : places_) run_.starts += place->starts;
  return std::move(run_);
}

ClusterRun live_cluster(uint64_t seed, ClusterMistake mistake, bool trace) {
  return ClusterWorld(seed, mistake, trace).live();
}

}  // namespace bellwether::sim
