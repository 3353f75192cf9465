#include <algorithm>
#include <map>
#include <set>

#include "core/base/units.h"
#include "sim/all_worlds.h"
#include "sim/datacenter/datacenter_world.h"
#include "sim/datacenter/sim_target.h"

namespace bellwether::sim {
namespace {

constexpr Duration kRunsWithin = Duration::seconds(60);
// Of two faults at once, beyond their sum: another owner takes over (5 s), and reaches a worker whose links were silent
// as long. Beyond that, nobody counts what a worker has sent while the job had no owner.
constexpr Duration kForAnotherOwner = Duration::seconds(10);
constexpr Duration kWithoutOwner = Duration::seconds(5);
constexpr Duration kFaultsLast = Duration::seconds(26);  // and their effects

template <DatacenterWorld::Size kSize>
struct DatacenterWorldOf final : DatacenterWorld {
  explicit DatacenterWorldOf(const RunSettings& settings) : DatacenterWorld(settings, kSize) {}
};

// One job with steady load, and one fault while it runs: the report must not lose more than the fault explains.
struct FenceWorld : DatacenterWorld {
  explicit FenceWorld(const RunSettings& settings) : DatacenterWorld(settings, Size::kFence) {}

  // Of each part, the target lacks at most `most` of the load if this fault is carried out. A job that began when its
  // manager knew of one or two workers has a single witness for a moment, which waits for itself.
  bool most(Duration most, bool struck) {
    if (!struck) return false;
    const dispatch::JobRecord& record = stage_.jobs.front()->record;
    most_ += most;
    is_settled_ = is_settled_ && record.witnesses.size() >= witnesses_ && record.witnesses_before.empty();
    return true;
  }
  bool strike_owner(bool (MachineWorld::*fault)(Node&)) {
    DatacenterPlace* const place = workers_break_.owner();
    return place != nullptr && (this->*fault)(place->machine);
  }

  Pace pace() const override { return {.least_faults = 1, .most_faults = 1, .after = kFaultsLast}; }
  void begin() override {
    DatacenterWorld::begin();
    const Instant end = now() + kRunsWithin;
    while (holds() && !runs() && now() < end) run_for(kLookEvery);
    if (!runs()) return fail("I13: nothing is broken, but the job does not run");
    run_for(draw(Duration::seconds(1), Duration::seconds(12)));
  }
  bool runs() const {
    const std::map<uint32_t, AssignmentStory>& all = stage_.jobs.front()->assignments;
    return !all.empty() &&
           std::all_of(all.begin(), all.end(), [](const auto& one) { return !one.second.sent.empty(); });
  }
  void expect_recovery() override {
    DatacenterWorld::expect_recovery();
    const JobStory& job = *stage_.jobs.front();
    if (!holds() || runners_of(job) < runners_) return;
    if (job.record.state != dispatch::JobState::kCompleted) {
      return fail(
          fmt::format("ST-10: after the faults the job is {}: {}", to_string(job.record.state), job.record.why));
    }
    if (!is_settled_) return;
    expect_at_most(most_, most_missing(job), "that the target lacks of a part");
    if (holds()) expect_at_most(most_ + unreported_, reported_lost(job), "of the run that the report calls lost");
  }
  // The workers that have run it from its begin.
  static std::size_t runners_of(const JobStory& job) {
    std::set<std::string> names;
    for (const dispatch::AssignmentRecord& one : job.record.assignments) {
      if (one.streams && one.from == job.record.workflows[one.workflow].base_second) names.insert(one.worker);
    }
    return names.size();
  }
  void expect_at_most(Duration most, Duration span, const char* what) {
    if (span <= most + kClocksApart) return;
    fail(fmt::format("ST-10: {} {}, but its faults explain {}", format_duration(span), what, format_duration(most)));
  }

  Duration most_;
  // Of the losses in the report, beyond that: the second in which a worker fails does not arrive.
  Duration unreported_ = Duration::seconds(1);
  std::size_t witnesses_ = 3;  // a majority of so many survives the faults
  bool is_settled_ = true;     // it had them at each fault
  std::size_t runners_ = 1;    // of so many one survives, and can tell the next owner the clock of the run
};

// The same with two faults at once, or soon after each other.
struct PairWorld final : FenceWorld {
  explicit PairWorld(const RunSettings& settings) : FenceWorld(settings) {
    most_ = kForAnotherOwner;
    unreported_ = kWithoutOwner;
    witnesses_ = 5;
    runners_ = 3;
    arrivals_once_ = false;
  }

  Pace pace() const override {
    return {.least_faults = 2, .most_faults = 2, .gap = Duration::seconds(6), .after = kFaultsLast};
  }
};

using OfWorkers = WorkerFaults;
template <auto kFault>
bool strike_worker(DatacenterWorld& w) {
  return w.strike(kFault);
}
constexpr auto kDatacenterFaults = joined(
    kMachineFaults<DatacenterWorld>,
    std::to_array<Fault<DatacenterWorld>>({
        {3, "all managers lose their power", [](DatacenterWorld& w) { return w.strike_all_managers(); }},
        {6, "a manager is cut off from the other managers", [](DatacenterWorld& w) { return w.cut_among_managers(); }},
        {7, "a node is asked to leave", [](DatacenterWorld& w) { return w.ask_to_leave(w.any_to_leave()); }},
        {3, "a worker is drained", [](DatacenterWorld& w) { return w.drain(w.any_worker()); }},
        {4, "a worker is short of memory", [](DatacenterWorld& w) { return w.press(w.any_worker()); }},
        {4, "the process of a worker is stopped", &strike_worker<&OfWorkers::stop_process>},
        {2, "the machine of a worker stands still", &strike_worker<&OfWorkers::stop_machine>},
        {3, "a worker is slow", &strike_worker<&OfWorkers::slow_down>},
        {2, "the process of an assignment is killed", &strike_worker<&OfWorkers::kill_child>},
        {2, "a worker is cut off", &strike_worker<&OfWorkers::cut_off>},
        {1, "nothing reaches a worker", &strike_worker<&OfWorkers::cut_its_inputs>},
        {1, "nothing leaves a worker", &strike_worker<&OfWorkers::cut_its_outputs>},
        {3, "a worker and the owner of a job are cut off from each other", &strike_worker<&OfWorkers::cut_from_owner>},
        {2, "a worker is cut off from the other workers", &strike_worker<&OfWorkers::cut_from_workers>},
    }));

// Load that may be missing of a part, in milliseconds.
constexpr int64_t kNothing = 0;
constexpr int64_t kLostOfChild = 1500;
constexpr int64_t kLostOfDead = 3000;
constexpr int64_t kLostOfSilent = 5000;
constexpr int64_t kLostWithOwner = kForAnotherOwner.ns() / 1'000'000;  // nobody tells the follower to go
template <int64_t kMaxMillis, auto kFault>
bool strike_alone(FenceWorld& w) {
  return w.most(Duration::millis(kMaxMillis), w.strike(kFault));
}
// What it does until its permit ends it does not report: it waits for an answer to its last report.
bool deafen_alone(FenceWorld& w) {
  if (!strike_alone<kLostOfSilent, &OfWorkers::cut_its_inputs>(w)) return false;
  w.unreported_ += dispatch::JobRules().silence;
  return true;
}
bool strike_owner_alone(FenceWorld& w) {
  return w.most({}, w.strike_owner(w.now().ns() % 2 == 0 ? &MachineWorld::kill : &MachineWorld::pause));
}
constexpr auto kFenceFaults = std::to_array<Fault<FenceWorld>>({
    {2, "the process of a worker is killed", &strike_alone<kLostOfDead, &OfWorkers::kill_process>},
    {1, "a worker loses its power", &strike_alone<kLostOfSilent, &OfWorkers::lose_power>},
    {2, "the process of a worker is stopped", &strike_alone<kLostOfSilent, &OfWorkers::stop_process>},
    {2, "a slow process of a worker is stopped", &strike_alone<kLostOfSilent, &OfWorkers::slow_down_and_stop>},
    {2, "the machine of a worker stands still", &strike_alone<kLostOfSilent, &OfWorkers::stop_machine>},
    {1, "a worker is slow", &strike_alone<kLostOfSilent, &OfWorkers::slow_down>},
    {1, "the process of an assignment is killed", &strike_alone<kLostOfChild, &OfWorkers::kill_child>},
    {2, "a worker is cut off", &strike_alone<kLostOfSilent, &OfWorkers::cut_off>},
    {1, "nothing reaches a worker", &deafen_alone},
    {1, "nothing leaves a worker", &strike_alone<kLostOfSilent, &OfWorkers::cut_its_outputs>},
    {2, "a worker and the owner of its job are cut off from each other",
     &strike_alone<kLostOfSilent, &OfWorkers::cut_from_owner>},
    {1, "a worker is cut off from the other workers", &strike_alone<kNothing, &OfWorkers::cut_from_workers>},
    {4, "a worker leaves, and one is cut off from the owner", &strike_alone<kLostOfSilent, &OfWorkers::leave_and_cut>},
    {2, "a worker leaves, and the owner is killed meanwhile",
     &strike_alone<kLostWithOwner, &OfWorkers::leave_and_kill_owner>},
    {2, "the owner of a job is killed or paused", &strike_owner_alone},
    {1, "all managers lose their power", [](FenceWorld& w) { return w.most({}, w.strike_all_managers()); }},
});

}  // namespace

std::span<const WorldRow> datacenter_worlds() {
  static constexpr std::array kRows{
      world_row<DatacenterWorldOf<DatacenterWorld::Size::kUsual>, kDatacenterMistakes, kDatacenterFaults>(
          "datacenter", "managers, workers and a client with jobs"),
      world_row<DatacenterWorldOf<DatacenterWorld::Size::kLarge>, kDatacenterMistakes, kDatacenterFaults>(
          "datacenter-large", "the same, with 41 to 200 workers"),
      world_row<DatacenterWorldOf<DatacenterWorld::Size::kThousand>, kDatacenterMistakes, kDatacenterFaults>(
          "datacenter-thousand", "the same, with 5 managers, 1,000 workers and one job"),
      world_row<FenceWorld, kDatacenterMistakes, kFenceFaults>("datacenter-fence",
                                                               "one fault while a job runs, and what its target gets"),
      world_row<PairWorld, kDatacenterMistakes, kFenceFaults>("datacenter-pair", "two faults at once while a job runs"),
  };
  return kRows;
}

}  // namespace bellwether::sim
