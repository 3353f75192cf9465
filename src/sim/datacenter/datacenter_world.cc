#include "sim/datacenter/datacenter_world.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "cluster/node/node_admin.h"
#include "cluster/register/small.h"
#include "core/base/units.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "sim/datacenter/datacenter_checker.h"
#include "sim/datacenter/datacenter_place.h"
#include "sim/datacenter/loss_report.h"
#include "sim/datacenter/sim_assignments.h"
#include "sim/datacenter/sim_client.h"
#include "sim/datacenter/sim_contexts.h"
#include "sim/datacenter/worker_faults.h"
#include "sim/harness/machine_world.h"

namespace bellwether::sim {
namespace {

std::vector<std::string> keys_of(const jobs::RegisterReplica& replica) {
  std::vector<std::string> keys;
  replica.for_each_key([&](const std::string& key) { keys.push_back(key); });
  return keys;
}

constexpr int64_t kVusOfFew = 40;  // at most, of a workflow
constexpr int64_t kVusOfMany = 400;
constexpr Duration kLookEvery = Duration::millis(250);
// An assignment without a worker fails its workflow after five minutes. A worker without a message of the job's owner
// keeps its assignments for two more.
constexpr Duration kRestWithin = Duration::minutes(15);
constexpr Duration kAnswerWithin = Duration::seconds(30);
constexpr Duration kRunsWithin = Duration::seconds(60);
// Of two faults at once, beyond their sum: another owner takes over (5 s), and reaches a worker whose links were silent
// as long. Beyond that, nobody counts what a worker has sent while the job had no owner.
constexpr Duration kForAnotherOwner = Duration::seconds(10);
constexpr Duration kWithoutOwner = Duration::seconds(5);
constexpr Duration kFaultsLast = Duration::seconds(26);  // and their effects

struct DatacenterWorld : MachineWorld {
  using Kind = DatacenterPlace::Kind;

  enum class Size : uint8_t { kUsual, kLarge, kFence };

  DatacenterWorld(const RunSettings& settings, Size size)
      : MachineWorld(settings),
        large_(size == Size::kLarge),
        is_fence_(size == Size::kFence),
        arrivals_once_(is_fence_) {
    stage_.mistake = settings.mistake;
    const std::size_t assignment = prng().below(100);
    managers_ = assignment < 60 ? 3 : 3 + prng().below(3);
    workers_ = large_                 ? 41 + prng().below(160)
               : size == Size::kFence ? 4 + prng().below(4)
               : assignment < 70      ? 1 + prng().below(5)
               : assignment < 97      ? 4 + prng().below(9)
                                      : 13 + prng().below(28);
    gentle_ = chance(0.3) && size != Size::kFence;
    stage_.assignments_fail = !gentle_ && chance(0.3) && size != Size::kFence;
    for (std::size_t i = 0; i < managers_; ++i) add_place(Kind::kManager, fmt::format("m{}", i + 1));
    for (std::size_t i = 0; i < workers_; ++i) add_place(Kind::kWorker, fmt::format("w{}", i + 1));
    add_place(Kind::kClient, "client");
    introduce();
    if (size == Size::kFence) {
      stage_.jobs.push_back(draw_steady_job(prng()));
    } else {
      add_jobs();
      add_contexts();
    }
  }
  ~DatacenterWorld() override { end_processes(); }

  void add_place(Kind kind, const std::string& name) {
    Node& node = world_.add_node(name);
    auto place = std::make_unique<DatacenterPlace>(node, *this, stage_, kind);
    if (kind == Kind::kWorker) place->cores = static_cast<uint32_t>(1 + prng().below(4));
    if (kind == Kind::kManager) stage_.managers.push_back(place->options.config.listen);
    places_.push_back(std::move(place));
  }
  // The operators' settings of all nodes.
  void introduce() {
    places_.front()->founds = true;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < managers_; ++i) names.push_back(places_[i]->name);
    for (const auto& place : places_) {
      cluster::NodeConfig& config = place->options.config;
      config.seeds.assign(stage_.managers.begin(), stage_.managers.begin() + 3);
      if (place->kind == Kind::kManager) config.voters = config.replicas = names;
    }
  }
  void add_jobs() {
    const uint64_t jobs = chance(0.5) ? 1 : 2 + prng().below(3);
    for (uint64_t i = 0; i < jobs; ++i) {
      auto job = draw_job(prng(), i, large_ ? kVusOfMany : kVusOfFew);
      job->submit_after = draw(Duration::zero(), Duration::seconds(8));
      if (chance(0.2)) {
        job->cancel_after = draw(Duration::zero(), Duration::seconds(20));
        job->cancel_how = chance(0.5) ? dispatch::StopHow::kGraceful : dispatch::StopHow::kAtOnce;
        if (job->spec.size() > 1 && chance(0.5)) job->cancel_only = {job->spec[prng().below(job->spec.size())].name};
      }
      stage_.jobs.push_back(std::move(job));
    }
  }

  void add_contexts() {
    const uint64_t contexts = chance(0.3) ? 0 : 1 + prng().below(12);
    for (uint64_t i = 0; i < contexts; ++i) stage_.contexts.push_back({.payload = fmt::format("request {}", i)});
  }

  // --- processes
  DatacenterPlace& any_manager() { return *places_[prng().below(managers_)]; }
  DatacenterPlace& any_worker() { return *places_[managers_ + prng().below(workers_)]; }
  void start(Node& node) override {
    DatacenterPlace* place = places_[node.index()].get();
    if (place->kind == Kind::kClient) return node.start(&run_client_process, place);
    node.start(&run_node, static_cast<NodePlace*>(place));
  }
  bool leaves(const Node& node) const override {
    const node::ClusterNode* process = places_[node.index()]->process;
    return process != nullptr && process->leaves();
  }
  // An operator restarts processes that have ended by themselves, or cannot use their disk any more.
  void start_what_ended() {
    for (const auto& place : places_) {
      Node& node = place->machine;
      if (is_starting(node) || node.is_paused() || now() < place->joins) continue;
      if (place->disk_is_broken()) {
        say(fmt::format("the disk of {} is seen to", place->name));
        node.kill();
      }
      const bool done = place->kind == Kind::kClient && node.ended() > 0;
      if (!node.is_running() && !done) start_later(node);
    }
  }

  // --- rules that always hold
  void look() {
    ++events_;
    if (!stage_.violation.empty()) fail(stage_.violation);
    look_at_contexts();
    look_at_registers();
  }
  void look_at_contexts() {
    const DatacenterPlace* acting = nullptr;
    for (std::size_t i = 0; i < managers_; ++i) {
      const DatacenterPlace& place = *places_[i];
      if (place.maker == nullptr || !place.maker->may_act(place.machine.clock().boot(now()))) continue;
      if (acting != nullptr) fail(fmt::format("I2: {} and {} may generate contexts at once", acting->name, place.name));
      acting = &place;
    }
  }
  void look_at_registers() {
    for (std::size_t i = 0; i < managers_; ++i) {
      if (places_[i]->registers == nullptr) continue;
      const jobs::RegisterReplica& replica = places_[i]->registers->replica();
      for (const std::string& job : keys_of(replica)) {
        const registers::RegisterRecord* kept = replica.find(job);
        auto& looked_at = looked_at_[{i, job}];
        if (kept == nullptr || looked_at == std::pair(kept->accepted, kept->unsettled)) continue;
        looked_at = {kept->accepted, kept->unsettled};
        const auto content = registers::parse_content(kept->value);
        if (!content || !content->value) continue;
        const auto record = dispatch::read_record(*content->value);
        if (!record)
          return fail(fmt::format("the register of job '{}' cannot be read: {}", job, record.error().message));
        if (std::string wrong = fault_of(*record); !wrong.empty()) return fail(wrong);
        if (kept->unsettled || !dispatch::is_final(record->state)) continue;
        if (ends_.try_emplace(job, *record).first->second != *record) {
          return fail(fmt::format("managers show two final states of job '{}'", job));
        }
      }
    }
  }
  bool run_for(Duration span) override {
    const Instant end = now() + span;
    while (now() < end && holds()) {
      world_.run_until(std::min(end, now() + kLookEvery));
      look();
      start_what_ended();
    }
    return holds();
  }

  // --- faults
  bool links_break() const override { return !gentle_; }
  Node& victim() override {
    if (gentle_ || chance(0.4)) return any_manager().machine;
    return chance(0.75) ? any_worker().machine : any_node();
  }
  DatacenterPlace& any_to_leave() { return gentle_ || chance(0.4) ? any_manager() : any_worker(); }
  void lose_power(Node& node) override {
    node.lose_power();
    if (stage_.is("blobs-not-durable")) places_[node.index()]->blobs.replace();
  }
  bool strike(bool (WorkerFaults::*fault)()) { return !gentle_ && (workers_break_.*fault)(); }
  bool strike_all_managers() {
    for (std::size_t i = 0; i < managers_; ++i) lose_power_for_a_while(world_.node(i));
    return true;
  }
  bool cut_among_managers() {
    const DatacenterPlace& one = any_manager();
    say(one.name + " is cut off from the other managers");
    for (std::size_t i = 0; i < managers_; ++i) {
      if (i != one.index) world_.network().block_both_ways(one.machine, world_.node(i));
    }
    heal_later();
    return true;
  }
  bool press(DatacenterPlace& place) {
    if (gentle_) return false;
    say(place.name + " is short of memory");
    place.pressed = true;
    world_.after(draw(Duration::seconds(1), Duration::seconds(10)), [&place] { place.pressed = false; });
    return true;
  }
  // In place of MachineWorld's: what was due before is sent by the clocks of before.
  bool let_clocks_drift(Node& node) {
    if (SimAssignments* const running = places_[node.index()]->assignments) running->advance();
    return MachineWorld::let_clocks_drift(node);
  }
  bool drain(DatacenterPlace& place) {
    if (gentle_ || place.process == nullptr || place.machine.is_paused()) return false;
    say(place.name + " is drained");
    place.post_drain();
    return true;
  }
  void make_whole() override {
    workers_break_.end();
    heal();
    for (const auto& place : places_) place->pressed = false;
    start_what_ended();
  }

  // --- phases
  Pace pace() const override {
    return {.least_faults = 0,
            .most_faults = large_ ? 48 : 16,
            .gap = large_ ? Duration::millis(1300) : Duration::seconds(4)};
  }
  void begin() override {
    for (const auto& place : places_) {
      const bool late = place->kind == Kind::kWorker && !is_fence_ && chance(0.25);
      if (late) place->joins = now() + draw(Duration::seconds(5), Duration::seconds(25));
      if (!late) start_later(place->machine);
    }
    run_for(draw(Duration::seconds(1), Duration::seconds(6)));
  }
  void expect_recovery() override {
    expect_no_excess();
    if (holds()) expect_rest();
    if (holds()) expect_no_excess();
    for (const auto& job : stage_.jobs) {
      if (holds()) hold_inquest(*job);
      if (holds()) expect_kept(*job);
    }
    if (holds()) expect_no_others();
  }
  // The open work; empty: everything is at rest.
  std::string unrest() {
    for (const auto& job : stage_.jobs) {
      if (!job->refused.empty()) return fmt::format("job '{}' is refused: {}", job->id, job->refused);
      if (!job->acknowledged) return fmt::format("job '{}' is not acknowledged", job->id);
      if (!job->followed) return fmt::format("job '{}' is {}", job->id, to_string(job->record.state));
    }
    for (const ContextStory& story : stage_.contexts) {
      if (!story.made) return fmt::format("the context of '{}' is not generated: {}", story.payload, story.trouble);
    }
    for (std::size_t i = 0; i < managers_ + workers_; ++i) {
      DatacenterPlace& place = *places_[i];
      if (place.process == nullptr || place.process->leaves()) return fmt::format("'{}' is not running", place.name);
      const std::size_t seen = place.alive();
      if (seen != managers_ + workers_)
        return fmt::format("'{}' knows of {}", place.name, format_count(seen, "living member"));
      if (place.sight == nullptr) return fmt::format("'{}' has not found its cluster", place.name);
      if (std::string why = place.process->admin().not_ready(); !why.empty())
        return fmt::format("'{}': {}", place.name, why);
      if (place.manager != nullptr && place.manager->service().jobs() > 0)
        return fmt::format("'{}' still owns jobs", place.name);
      if (place.manager != nullptr) continue;
      if (std::string business = place.business(); !business.empty())
        return fmt::format("'{}': {}", place.name, business);
      if (place.children > 0) return fmt::format("a process of an assignment is left on '{}'", place.name);
    }
    return {};
  }
  void expect_no_excess() {
    for (const auto& place : places_) {
      if (place->assignments != nullptr) place->assignments->advance();
    }
    for (const auto& job : stage_.jobs) {
      if (std::string wrong = excess_of(*job, arrivals_once_); !wrong.empty()) return fail(wrong);
    }
  }
  void expect_rest() {
    const Instant end = now() + kRestWithin;
    std::string left = unrest();
    while (!left.empty() && now() < end) {
      if (!run_for(Duration::seconds(1))) return;
      left = unrest();
    }
    if (!left.empty()) {
      fail(fmt::format("I13: all faults are repaired, but after {}: {}", format_duration(kRestWithin), left));
    }
  }
  void hold_inquest(const JobStory& job) {
    Inquest inquest;
    inquest.job = job.id;
    DatacenterPlace& place = any_manager();
    place.hold(inquest);
    world_.run_while_waiting(kAnswerWithin, [&] { return inquest.answered; });
    if (!inquest.answered) return fail(fmt::format("the statistics of job '{}' are missing in the answer", job.id));
    if (!inquest.trouble.empty()) return fail(fmt::format("the statistics of job '{}': {}", job.id, inquest.trouble));
    CountedSeconds seconds;
    const std::string wrong = fault_of(job, inquest.ingest, seconds);
    seconds_ += seconds.counted;
    lost_ += seconds.lost;
    if (!wrong.empty()) return fail(wrong);
    if (!gentle_) return;
    if (std::string lost = loss_of(job); !lost.empty()) return fail(lost);
    if (seconds.lost > 0) fail(fmt::format("{} seconds of job '{}' were lost", seconds.lost, job.id));
  }
  // A majority of the managers has the record that the client was shown.
  void expect_kept(const JobStory& job) {
    std::size_t have = 0;
    for (std::size_t i = 0; i < managers_; ++i) {
      const registers::RegisterRecord* kept = places_[i]->registers->replica().find(job.id);
      if (kept == nullptr) continue;
      const auto content = registers::parse_content(kept->value);
      if (!content || !content->value) continue;
      const auto record = dispatch::read_record(*content->value);
      if (record && *record == job.record) ++have;
    }
    if (have * 2 <= managers_) fail(fmt::format("a minority of the managers has the last record of job '{}'", job.id));
  }
  // A job does not run if its client got the answer that its id is used up, or no answer.
  void expect_no_others() {
    for (std::size_t i = 0; i < managers_; ++i) {
      const jobs::RegisterReplica& replica = places_[i]->registers->replica();
      for (const std::string& id : keys_of(replica)) {
        const auto content = registers::parse_content(replica.find(id)->value);
        if (!content || !content->value) continue;
        const auto followed = [&id](const auto& job) { return job->id == id; };
        if (std::any_of(stage_.jobs.begin(), stage_.jobs.end(), followed)) continue;
        return fail(fmt::format("'{}' has a job '{}' that was never acknowledged", places_[i]->name, id));
      }
    }
  }
  // The final states of a run that went wrong.
  void tell_states() override {
    for (const auto& job : stage_.jobs) {
      say(fmt::format("the client of job '{}' sees the state {}", job->id, to_string(job->record.state)));
      for (const dispatch::AssignmentRecord& assignment : job->record.assignments) {
        say(fmt::format(
            "  assignment {}, workflow {}, '{}', {} parts from {}: {}{}{}", assignment.id.value(), assignment.workflow,
            assignment.worker, assignment.parts.count, assignment.parts.first, to_string(assignment.state),
            assignment.streams ? fmt::format(", from second {}", assignment.from) : std::string(),
            assignment.end
                ? fmt::format(", {} at number {}", to_string(assignment.end->outcome), assignment.end->last_number)
                : std::string()));
      }
      for (const dispatch::JobEvent& event : job->record.events) {
        say(fmt::format("  {} of the run: {}: {}", format_duration(event.at), event.kind, event.detail));
      }
      for (const plan::Loss& loss : job->record.losses) {
        say(fmt::format("  lost from {} to {}: {}", format_duration(loss.from), format_duration(loss.to), loss.cause));
      }
    }
    for (const auto& place : places_) {
      if (place->worker != nullptr) place->say(place->business());
    }
  }
  std::vector<Run::Count> counts() const override {
    uint64_t starts = 0;
    for (const auto& place : places_) starts += place->starts;
    return {{"owners", stage_.owners + stage_.jobs.size()},
            {"starts", starts},
            {"seconds of load that count", seconds_},
            {"that do not", lost_}};
  }

  bool large_;
  bool is_fence_;       // one or two faults a run
  bool arrivals_once_;  // see excess_of()
  DatacenterStage stage_;
  std::vector<std::unique_ptr<DatacenterPlace>> places_;  // managers, workers, the client
  std::size_t managers_ = 0;
  std::size_t workers_ = 0;
  bool gentle_ = false;                                                                         // only managers break
  std::map<std::pair<std::size_t, std::string>, std::pair<registers::Place, bool>> looked_at_;  // by manager and job
  std::map<std::string, dispatch::JobRecord> ends_;  // of jobs, as managers may show them
  uint64_t seconds_ = 0;
  uint64_t lost_ = 0;
  WorkerFaults workers_break_{*this, world_, places_};
};

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
      world_row<FenceWorld, kDatacenterMistakes, kFenceFaults>("datacenter-fence",
                                                               "one fault while a job runs, and what its target gets"),
      world_row<PairWorld, kDatacenterMistakes, kFenceFaults>("datacenter-pair", "two faults at once while a job runs"),
  };
  return kRows;
}

}  // namespace bellwether::sim
