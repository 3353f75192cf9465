#include "sim/datacenter/datacenter_world.h"

#include <algorithm>

#include "cluster/node/node_admin.h"
#include "core/base/units.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "sim/datacenter/datacenter_checker.h"
#include "sim/datacenter/sim_assignments.h"
#include "sim/datacenter/sim_client.h"

namespace bellwether::sim {
namespace {

std::vector<std::string> keys_of(const jobs::RegisterReplica& replica) {
  std::vector<std::string> keys;
  replica.for_each_key([&](const std::string& key) { keys.push_back(key); });
  return keys;
}

constexpr int64_t kVusOfFew = 40;  // at most, of a workflow
constexpr int64_t kVusOfMany = 400;
constexpr int64_t kVusOfSteady = 12;
constexpr int64_t kVusOfThousand = 2'000;
// An assignment without a worker fails its workflow after five minutes. A worker without a message of the job's owner
// keeps its assignments for two more.
constexpr Duration kRestWithin = Duration::minutes(15);
constexpr Duration kAnswerWithin = Duration::seconds(30);

}  // namespace

DatacenterWorld::DatacenterWorld(const RunSettings& settings, Size size)
    : MachineWorld(settings),
      is_large_(size == Size::kLarge || size == Size::kThousand),
      is_fence_(size == Size::kFence),
      arrivals_once_(is_fence_) {
  stage_.mistake = settings.mistake;
  const std::size_t assignment = prng().below(100);
  const bool is_thousand = size == Size::kThousand;
  managers_ = is_thousand ? 5 : assignment < 60 ? 3 : 3 + prng().below(3);
  workers_ = is_thousand       ? 1'000
             : is_large_       ? 41 + prng().below(160)
             : is_fence_       ? 4 + prng().below(4)
             : assignment < 70 ? 1 + prng().below(5)
             : assignment < 97 ? 4 + prng().below(9)
                               : 13 + prng().below(28);
  gentle_ = chance(0.3) && !is_fence_;
  stage_.assignments_fail = !gentle_ && chance(0.3) && !is_fence_;
  for (std::size_t i = 0; i < managers_; ++i) add_place(Kind::kManager, fmt::format("m{}", i + 1));
  for (std::size_t i = 0; i < workers_; ++i) add_place(Kind::kWorker, fmt::format("w{}", i + 1));
  add_place(Kind::kClient, "client");
  introduce();
  if (is_fence_) {
    stage_.jobs.push_back(draw_steady_job(prng(), kVusOfSteady));
  } else if (is_thousand) {
    stage_.jobs.push_back(draw_steady_job(prng(), kVusOfThousand));
    stage_.jobs.back()->submit_after = draw(Duration::seconds(10), Duration::seconds(30));
  } else {
    add_jobs();
    add_contexts();
  }
}

void DatacenterWorld::add_place(Kind kind, const std::string& name) {
  Node& node = world_.add_node(name);
  auto place = std::make_unique<DatacenterPlace>(node, *this, stage_, kind);
  if (kind == Kind::kWorker) place->cores = static_cast<uint32_t>(1 + prng().below(4));
  if (kind == Kind::kManager) stage_.managers.push_back(place->options.config.listen);
  places_.push_back(std::move(place));
}

void DatacenterWorld::introduce() {
  places_.front()->founds = true;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < managers_; ++i) names.push_back(places_[i]->name);
  for (const auto& place : places_) {
    cluster::NodeConfig& config = place->options.config;
    config.seeds.assign(stage_.managers.begin(), stage_.managers.begin() + 3);
    if (place->kind == Kind::kManager) config.voters = config.replicas = names;
  }
}

void DatacenterWorld::add_jobs() {
  const uint64_t jobs = chance(0.5) ? 1 : 2 + prng().below(3);
  for (uint64_t i = 0; i < jobs; ++i) {
    auto job = draw_job(prng(), i, is_large_ ? kVusOfMany : kVusOfFew);
    job->submit_after = draw(Duration::zero(), Duration::seconds(8));
    if (chance(0.2)) {
      job->cancel_after = draw(Duration::zero(), Duration::seconds(20));
      job->cancel_how = chance(0.5) ? dispatch::StopHow::kGraceful : dispatch::StopHow::kAtOnce;
      if (job->spec.size() > 1 && chance(0.5)) job->cancel_only = {job->spec[prng().below(job->spec.size())].name};
    }
    stage_.jobs.push_back(std::move(job));
  }
}

void DatacenterWorld::add_contexts() {
  const uint64_t contexts = chance(0.3) ? 0 : 1 + prng().below(12);
  for (uint64_t i = 0; i < contexts; ++i) stage_.contexts.push_back({.payload = fmt::format("request {}", i)});
}

// --- processes

void DatacenterWorld::start(Node& node) {
  DatacenterPlace* place = places_[node.index()].get();
  if (place->kind == Kind::kClient) return node.start(&run_client_process, place);
  node.start(&run_node, static_cast<NodePlace*>(place));
}

bool DatacenterWorld::leaves(const Node& node) const {
  const node::ClusterNode* process = places_[node.index()]->process;
  return process != nullptr && process->leaves();
}

void DatacenterWorld::start_what_ended() {
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

void DatacenterWorld::look() {
  ++events_;
  if (!stage_.violation.empty()) fail(stage_.violation);
  look_at_contexts();
  look_at_registers();
}

void DatacenterWorld::look_at_contexts() {
  const DatacenterPlace* acting = nullptr;
  for (std::size_t i = 0; i < managers_; ++i) {
    const DatacenterPlace& place = *places_[i];
    if (place.maker == nullptr || !place.maker->may_act(place.machine.clock().boot(now()))) continue;
    if (acting != nullptr) fail(fmt::format("I2: {} and {} may generate contexts at once", acting->name, place.name));
    acting = &place;
  }
}

void DatacenterWorld::look_at_registers() {
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
      if (!record) return fail(fmt::format("the register of job '{}' cannot be read: {}", job, record.error().message));
      if (std::string wrong = fault_of(*record); !wrong.empty()) return fail(wrong);
      if (kept->unsettled || !dispatch::is_final(record->state)) continue;
      if (ends_.try_emplace(job, *record).first->second != *record) {
        return fail(fmt::format("managers show two final states of job '{}'", job));
      }
    }
  }
}

bool DatacenterWorld::run_for(Duration span) {
  const Instant end = now() + span;
  while (now() < end && holds()) {
    world_.run_until(std::min(end, now() + kLookEvery));
    look();
    start_what_ended();
  }
  return holds();
}

// --- faults

Node& DatacenterWorld::victim() {
  if (gentle_ || chance(0.4)) return any_manager().machine;
  return chance(0.75) ? any_worker().machine : any_node();
}

void DatacenterWorld::lose_power(Node& node) {
  node.lose_power();
  if (stage_.is("blobs-not-durable")) places_[node.index()]->blobs.replace();
}

bool DatacenterWorld::strike_all_managers() {
  for (std::size_t i = 0; i < managers_; ++i) lose_power_for_a_while(world_.node(i));
  return true;
}

bool DatacenterWorld::cut_among_managers() {
  const DatacenterPlace& one = any_manager();
  say(one.name + " is cut off from the other managers");
  for (std::size_t i = 0; i < managers_; ++i) {
    if (i != one.index) world_.network().block_both_ways(one.machine, world_.node(i));
  }
  heal_later();
  return true;
}

bool DatacenterWorld::press(DatacenterPlace& place) {
  if (gentle_) return false;
  say(place.name + " is short of memory");
  place.pressed = true;
  world_.after(draw(Duration::seconds(1), Duration::seconds(10)), [&place] { place.pressed = false; });
  return true;
}

bool DatacenterWorld::let_clocks_drift(Node& node) {
  if (SimAssignments* const running = places_[node.index()]->assignments) running->advance();
  return MachineWorld::let_clocks_drift(node);
}

bool DatacenterWorld::drain(DatacenterPlace& place) {
  if (gentle_ || place.process == nullptr || place.machine.is_paused()) return false;
  say(place.name + " is drained");
  place.post_drain();
  return true;
}

void DatacenterWorld::make_whole() {
  workers_break_.end();
  heal();
  for (const auto& place : places_) place->pressed = false;
  start_what_ended();
}

// --- phases

FaultyWorld::Pace DatacenterWorld::pace() const {
  return {.least_faults = 0,
          .most_faults = is_large_ ? 48 : 16,
          .gap = is_large_ ? Duration::millis(1300) : Duration::seconds(4)};
}

void DatacenterWorld::begin() {
  for (const auto& place : places_) {
    const bool late = place->kind == Kind::kWorker && !is_fence_ && chance(0.25);
    if (late) place->joins = now() + draw(Duration::seconds(5), Duration::seconds(25));
    if (!late) start_later(place->machine);
  }
  run_for(draw(Duration::seconds(1), Duration::seconds(6)));
}

void DatacenterWorld::expect_recovery() {
  expect_no_excess();
  if (holds()) expect_rest();
  if (holds()) expect_no_excess();
  for (const auto& job : stage_.jobs) {
    if (holds()) hold_inquest(*job);
    if (holds()) expect_kept(*job);
  }
  if (holds()) expect_no_others();
}

std::string DatacenterWorld::unrest() {
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

void DatacenterWorld::expect_no_excess() {
  for (const auto& place : places_) {
    if (place->assignments != nullptr) place->assignments->advance();
  }
  for (const auto& job : stage_.jobs) {
    if (std::string wrong = excess_of(*job, arrivals_once_); !wrong.empty()) return fail(wrong);
  }
}

void DatacenterWorld::expect_rest() {
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

void DatacenterWorld::hold_inquest(const JobStory& job) {
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

void DatacenterWorld::expect_kept(const JobStory& job) {
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

void DatacenterWorld::expect_no_others() {
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

void DatacenterWorld::tell_states() {
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

std::vector<Run::Count> DatacenterWorld::counts() const {
  uint64_t starts = 0;
  for (const auto& place : places_) starts += place->starts;
  return {{"owners", stage_.owners + stage_.jobs.size()},
          {"starts", starts},
          {"seconds of load that count", seconds_},
          {"that do not", lost_}};
}

}  // namespace bellwether::sim
