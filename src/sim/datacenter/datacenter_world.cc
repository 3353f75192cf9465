#include "sim/datacenter/datacenter_world.h"

#include <algorithm>

#include "base/units.h"
#include "cluster/jobs/job_content.h"
#include "dispatch/codec/sheet_codec.h"
#include "sim/datacenter/datacenter_checker.h"
#include "sim/datacenter/datacenter_run.h"
#include "sim/datacenter/scenarios.h"
#include "sim/datacenter/sim_client.h"
#include "sim/datacenter/sim_manager.h"
#include "sim/datacenter/sim_worker.h"

namespace bellwether::sim {
namespace {

std::vector<std::string> keys_of(const jobs::JobKeeper& keeper) {
  std::vector<std::string> keys;
  keeper.for_each_key([&](const std::string& key) { keys.push_back(key); });
  return keys;
}

constexpr uint16_t kPort = 7400;
constexpr int64_t kVusOfFew = 40;  // at most, of a workflow
constexpr int64_t kVusOfMany = 400;
constexpr Duration kLookEvery = Duration::millis(250);
constexpr Duration kLongestDrawn = Duration::seconds(4);  // between faults
// A share that nobody can be found for fails its workflow after five minutes, and a worker of which the owner of a job
// does not hear keeps what it has for two more.
constexpr Duration kRestWithin = Duration::minutes(15);
constexpr Duration kAnswerWithin = Duration::seconds(30);

}  // namespace

std::string_view to_string(DatacenterMistake mistake) {
  switch (mistake) {
    case DatacenterMistake::kNone: return "none";
    case DatacenterMistake::kCopiesNotDurable: return "copies-not-durable";
    case DatacenterMistake::kTellsTwice: return "tells-twice";
    case DatacenterMistake::kLosesSecond: return "loses-second";
    case DatacenterMistake::kLosesValues: return "loses-values";
    case DatacenterMistake::kNeverDies: return "never-dies";
  }
  return "?";
}

DatacenterWorld::DatacenterWorld(uint64_t seed, DatacenterMistake mistake, bool trace, DatacenterSize size)
    : tracing_(trace), large_(size == DatacenterSize::kLarge), world_(seed) {
  stage_.mistake = mistake;
  stage_.watcher = this;
  const std::size_t share = prng().below(100);
  managers_ = share < 60 ? 3 : 3 + prng().below(3);
  workers_ = large_       ? 41 + prng().below(160)
             : share < 70 ? 1 + prng().below(5)
             : share < 97 ? 4 + prng().below(9)
                          : 13 + prng().below(28);
  gentle_ = prng().chance(0.3);
  stage_.shares_fail = !gentle_ && prng().chance(0.3);
  for (std::size_t i = 0; i < managers_; ++i) add_place(Kind::kManager, "m" + std::to_string(i + 1));
  for (std::size_t i = 0; i < workers_; ++i) add_place(Kind::kWorker, "w" + std::to_string(i + 1));
  add_place(Kind::kClient, "client");
  add_jobs();
  run_.managers = static_cast<uint32_t>(managers_);
  run_.workers = static_cast<uint32_t>(workers_);
  run_.jobs = static_cast<uint32_t>(stage_.jobs.size());
}

void DatacenterWorld::add_place(Kind kind, const std::string& name) {
  Node& node = world_.add_node(name);
  auto place = std::make_unique<DatacenterPlace>();
  place->index = node.index();
  place->name = name;
  place->at = {node.address(), kPort};
  place->stage = &stage_;
  place->founds = places_.empty();
  if (kind == Kind::kManager) {
    for (StoredKeys** disk : {&place->votes, &place->copies}) {
      stored_.push_back(std::make_unique<StoredKeys>(prng(), node.disk()));
      *disk = stored_.back().get();
    }
    const HostPort at{node.address().to_string(), kPort};
    if (stage_.seeds.size() < 3) stage_.seeds.push_back(at);
    stage_.managers.push_back(at);
    stage_.voters.push_back(name);
  }
  if (kind == Kind::kWorker) place->cores = static_cast<uint32_t>(1 + prng().below(4));
  places_.push_back(std::move(place));
}

void DatacenterWorld::add_jobs() {
  const uint64_t jobs = prng().chance(0.5) ? 1 : 2 + prng().below(3);
  for (uint64_t i = 0; i < jobs; ++i) {
    auto job = draw_job(prng(), i, large_ ? kVusOfMany : kVusOfFew);
    job->submit_after = draw(Duration::zero(), Duration::seconds(8));
    if (prng().chance(0.2)) {
      job->cancel_after = draw(Duration::zero(), Duration::seconds(20));
      job->cancel_how = prng().chance(0.5) ? dispatch::StopHow::kGraceful : dispatch::StopHow::kAtOnce;
    }
    stage_.jobs.push_back(std::move(job));
  }
}

// Processes end while what they stand on is still there.
DatacenterWorld::~DatacenterWorld() {
  for (std::size_t i = 0; i < world_.size(); ++i) world_.node(i).lose_power();
}

DatacenterWorld::Kind DatacenterWorld::kind_of(std::size_t index) const {
  if (index < managers_) return Kind::kManager;
  return index < managers_ + workers_ ? Kind::kWorker : Kind::kClient;
}

void DatacenterWorld::start(DatacenterPlace& place) {
  Node& node = node_of(place);
  if (node.is_running()) return;
  switch (kind_of(place.index)) {
    case Kind::kManager: return node.start(&run_manager_process, &place);
    case Kind::kWorker: return node.start(&run_worker_process, &place);
    case Kind::kClient: return node.start(&run_client_process, &place);
  }
}

void DatacenterWorld::say(const std::string& text) {
  if (tracing_) run_.trace += format_duration(world_.now() - Instant()) + "  " + text + "\n";
}

void DatacenterWorld::saw(const DatacenterPlace& place, const std::string& text) {
  if (tracing_) say(place.name + "." + std::to_string(place.starts) + "  " + text);
}

void DatacenterWorld::fail(const std::string& text) {
  if (run_.violation.empty()) run_.violation = text + " (at " + format_duration(world_.now() - Instant()) + ")";
}

// --- what must always hold -------------------------------------------------------------------------------------------

void DatacenterWorld::look() {
  if (!stage_.violation.empty()) fail(stage_.violation);
  look_at_registers();
}

void DatacenterWorld::look_at_registers() {
  for (std::size_t i = 0; i < managers_; ++i) {
    SimManager* const manager = places_[i]->process == nullptr ? nullptr : places_[i]->process->manager();
    if (manager == nullptr) continue;
    for (const std::string& job : keys_of(manager->keeper())) {
      const dispatch::JobRecord* record = manager->keeper().find(job);
      auto& looked_at = looked_at_[{i, job}];
      if (record == nullptr || record->accepted == looked_at) continue;
      looked_at = record->accepted;
      const auto content = jobs::parse_content(record->value);
      if (!content || !content->value) continue;
      const auto sheet = dispatch::read_sheet(*content->value);
      if (!sheet) return fail("the register of job '" + job + "' cannot be read: " + sheet.error().message);
      if (std::string wrong = fault_of(*sheet); !wrong.empty()) return fail(wrong);
    }
  }
}

bool DatacenterWorld::run_for(Duration span) {
  const Instant end = world_.now() + span;
  while (world_.now() < end && run_.violation.empty()) {
    world_.run_until(std::min(end, world_.now() + kLookEvery));
    look();
    start_what_ended();
  }
  return run_.violation.empty();
}

// --- what must come to hold ------------------------------------------------------------------------------------------

// What is still to be done; empty: everything is at rest.
std::string DatacenterWorld::unrest() {
  for (const auto& job : stage_.jobs) {
    if (!job->refused.empty()) return "job '" + job->id + "' is refused: " + job->refused;
    if (!job->acknowledged) return "job '" + job->id + "' is not acknowledged";
    if (!job->followed) return "job '" + job->id + "' is " + std::string(to_string(job->sheet.state));
  }
  for (std::size_t i = 0; i < managers_ + workers_; ++i) {
    DatacenterPlace& place = *places_[i];
    if (place.process == nullptr || place.process->leaves()) return "'" + place.name + "' does not run";
    const std::size_t seen = place.process->alive();
    if (seen != managers_ + workers_) return "'" + place.name + "' knows of " + format_count(seen, "living member");
    SimManager* const manager = place.process->manager();
    if (manager != nullptr && manager->service().jobs() > 0) return "'" + place.name + "' has jobs in hand";
    if (manager != nullptr) continue;
    SimWorker* const worker = place.process->worker();
    if (worker == nullptr) return "'" + place.name + "' has not found its cluster";
    if (std::string business = worker->business(); !business.empty()) return "'" + place.name + "': " + business;
    if (place.children > 0) return "a process of a share is left on '" + place.name + "'";
  }
  return {};
}

void DatacenterWorld::expect_rest() {
  const Instant since = world_.now();
  std::string left = unrest();
  while (!left.empty() && world_.now() - since < kRestWithin) {
    if (!run_for(Duration::seconds(1))) return;
    left = unrest();
  }
  run_.settled = world_.now() - since;
  if (!left.empty()) fail("nothing is broken any more, and after " + format_duration(kRestWithin) + ": " + left);
}

void DatacenterWorld::hold_inquest(const JobStory& job) {
  Inquest inquest;
  inquest.job = job.id;
  DatacenterPlace& place = any_manager();
  inquest.manager = place.process->manager();
  node_of(place).runtime().post(
      [](void* context) {
        auto& held = *static_cast<Inquest*>(context);
        held.manager->hold(&held);
      },
      &inquest);
  world_.run_while_waiting(kAnswerWithin, [&] { return inquest.answered; });
  if (!inquest.answered) return fail("the account of job '" + job.id + "' is not told");
  if (!inquest.trouble.empty()) return fail("the account of job '" + job.id + "': " + inquest.trouble);
  CountedSeconds seconds;
  const std::string wrong = fault_of(job, inquest.account, seconds);
  run_.seconds += seconds.counted;
  run_.lost += seconds.lost;
  if (!wrong.empty()) return fail(wrong);
  if (!gentle_) return;
  if (std::string lost = loss_of(job); !lost.empty()) return fail(lost);
  if (seconds.lost > 0) fail(std::to_string(seconds.lost) + " seconds of job '" + job.id + "' were lost");
}

// A majority of the managers has the sheet that the client was shown.
void DatacenterWorld::expect_kept(const JobStory& job) {
  std::size_t have = 0;
  for (std::size_t i = 0; i < managers_; ++i) {
    const dispatch::JobRecord* record = places_[i]->process->manager()->keeper().find(job.id);
    if (record == nullptr) continue;
    const auto content = jobs::parse_content(record->value);
    if (!content || !content->value) continue;
    const auto sheet = dispatch::read_sheet(*content->value);
    if (sheet && *sheet == job.sheet) ++have;
  }
  if (have * 2 <= managers_) fail("a minority of the managers has the last sheet of job '" + job.id + "'");
}

// A job of which its client was told that its id is used up, or nothing at all, does not run.
void DatacenterWorld::expect_no_others() {
  for (std::size_t i = 0; i < managers_; ++i) {
    const jobs::JobKeeper& keeper = places_[i]->process->manager()->keeper();
    for (const std::string& id : keys_of(keeper)) {
      const auto content = jobs::parse_content(keeper.find(id)->value);
      if (!content || !content->value) continue;
      const auto followed = [&id](const auto& job) { return job->id == id; };
      if (std::any_of(stage_.jobs.begin(), stage_.jobs.end(), followed)) continue;
      return fail("'" + places_[i]->name + "' keeps a job '" + id + "' that nobody was told of");
    }
  }
}

// Where everything stands at the end of a run that went wrong.
void DatacenterWorld::tell_states() {
  say("VIOLATED: " + run_.violation);
  for (const auto& job : stage_.jobs) {
    say("job '" + job->id + "' is " + std::string(to_string(job->sheet.state)) + " for its client");
    for (const dispatch::ShareSheet& share : job->sheet.shares) {
      say("  share " + std::to_string(share.id.value()) + ", workflow " + std::to_string(share.workflow) + ", '" +
          share.worker + "', " + std::to_string(share.parts.count) + " parts from " +
          std::to_string(share.parts.first) + ": " + std::string(to_string(share.state)) +
          (share.streams ? ", from second " + std::to_string(share.from) : std::string()) +
          (share.end ? ", " + std::string(to_string(share.end->outcome)) + " at number " +
                           std::to_string(share.end->last_number)
                     : std::string()));
    }
    for (const dispatch::JobEvent& event : job->sheet.events) {
      say("  " + format_duration(event.at) + " of the run: " + event.kind + ": " + event.detail);
    }
    for (const plan::Loss& loss : job->sheet.losses) {
      say("  lost from " + format_duration(loss.from) + " to " + format_duration(loss.to) + ": " + loss.cause);
    }
  }
  for (const auto& place : places_) {
    SimWorker* const worker = place->process == nullptr ? nullptr : place->process->worker();
    if (worker != nullptr) saw(*place, worker->business());
  }
}

DatacenterRun DatacenterWorld::live() {
  for (const auto& place : places_) start_later(*place);
  run_for(draw(Duration::seconds(1), Duration::seconds(6)));
  const int64_t faults = prng().chance(0.05) ? 0 : prng().between(2, 16);
  for (int64_t i = 0; i < faults && run_.violation.empty(); ++i) {
    for (int64_t n = large_ ? prng().between(1, 5) : 1; n > 0; --n) something_goes_wrong();
    run_for(draw(Duration::millis(1), kLongestDrawn));
  }
  if (run_.violation.empty()) {
    make_whole();
    expect_rest();
  }
  for (const auto& job : stage_.jobs) {
    if (run_.violation.empty()) hold_inquest(*job);
    if (run_.violation.empty()) expect_kept(*job);
  }
  if (run_.violation.empty()) expect_no_others();
  if (!run_.violation.empty()) tell_states();
  run_.fingerprint = world_.fingerprint();
  run_.lived = world_.now() - Instant();
  run_.owners = stage_.owners + run_.jobs;
  for (const auto& place : places_) run_.starts += place->starts;
  return std::move(run_);
}

DatacenterRun live_datacenter(uint64_t seed, DatacenterMistake mistake, bool trace, DatacenterSize size) {
  return DatacenterWorld(seed, mistake, trace, size).live();
}

}  // namespace bellwether::sim
