#include "sim/datacenter/sim_manager.h"

#include <utility>

namespace bellwether::sim {

using runtime::task;

namespace {

// As `bellwether node` has them (node/cluster/manager_role.cc).
constexpr jobs::JobSettings kJobs{Duration::seconds(3)};
constexpr Duration kCloseMost = Duration::seconds(1);
constexpr Duration kLook = Duration::millis(5);
constexpr Duration kInquestMost = Duration::seconds(10);

cluster::ElectionSettings election_of(const DatacenterPlace& place) {
  cluster::ElectionSettings settings;
  settings.key = kDatacenterCluster;
  settings.self = place.name;
  settings.voters = place.stage->voters;
  settings.timing = quorum::QuorumTiming::lan();
  // A person says it again as long as nothing has ever been written, and so nothing said.
  settings.first_start = !place.votes->has(kVotes);
  return settings;
}

jobs::KeeperSettings keeper_of(const DatacenterPlace& place) {
  jobs::KeeperSettings settings;
  settings.first_start = !place.votes->has("jobs-kept-with");
  return settings;
}

copies::CopyKeeperSettings copy_keeper_of(const DatacenterPlace& place) {
  copies::CopyKeeperSettings settings;
  settings.first_start = !place.copies->has("copies-kept-with");
  return settings;
}

// Jobs that have ended are asked of the disks soon; whoever is stuck is not waited for as long as in life, where jobs
// take longer.
node::ManagerSettings service_settings() {
  node::ManagerSettings settings;
  settings.tracking = Duration::seconds(20);
  settings.tracking_failed = Duration::seconds(20);
  settings.workers.drain_limit = Duration::seconds(5);
  return settings;
}

}  // namespace

std::unique_ptr<MemberRole> make_manager(const MemberParts& parts) { return std::make_unique<SimManager>(parts); }

SimManager::SimManager(const MemberParts& parts)
    : parts_(parts),
      votes_(parts.runtime, *parts.place.votes, false),
      kept_(parts.runtime, *parts.place.copies, false),
      election_(parts.runtime, votes_, parts.links, parts.switchboard, parts.surroundings, election_of(parts.place),
                parts.runtime.prng().next(), *this),
      job_lines_(parts.links, parts.switchboard, parts.surroundings, parts.place.name, parts.place.stage->voters),
      job_keeper_(parts.runtime, votes_, job_lines_, keeper_of(parts.place), *this),
      copy_lines_(parts.runtime, parts.links, parts.switchboard, parts.surroundings, parts.place.name,
                  parts.place.stage->voters),
      copy_keeper_(parts.runtime, kept_, copy_lines_, copy_keeper_of(parts.place), *this),
      copies_(parts.runtime, copy_lines_, {}, parts.runtime.prng().next()),
      store_(parts.runtime, job_lines_, kJobs, parts.runtime.prng().next()),
      service_({parts.runtime, parts.links, parts.switchboard, parts.surroundings, store_, job_keeper_, copies_, *this},
               service_settings()) {}

task<void> SimManager::work(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  scope.spawn(election_.run(scope.cancellation()));
  scope.spawn(job_keeper_.run(scope.cancellation()));
  co_await serve(scope.cancellation());
  co_await scope.join();
}

// The service ends before what it stands on.
task<void> SimManager::serve(runtime::Cancellation* cancel) {
  runtime::Scope keeping;
  keeping.spawn(copy_keeper_.run(keeping.cancellation()));
  {
    const runtime::CancelCallback on_cancel(
        cancel, [](void* self) { static_cast<SimManager*>(self)->winding_up_.cancel(); }, this);
    co_await service_.run(&winding_up_);
  }
  co_await store_.close(kCloseMost);
  co_await copies_.close();
  keeping.cancel();
  co_await keeping.join();
  co_await copy_lines_.close();
}

task<void> SimManager::wind_up(Instant deadline, runtime::Cancellation* cancel) {
  winding_up_.cancel();
  runtime::Runtime& runtime = parts_.runtime;
  while (service_.jobs() > 0 && runtime.read_clock() < deadline) co_await runtime.sleep(kLook, cancel);
  if (!leads()) co_return;
  election_.leave("leaves");
  while ((leader_.empty() || leader_ == parts_.place.name) && runtime.read_clock() < deadline) {
    co_await runtime.sleep(kLook, cancel);
  }
}

bool SimManager::leads() const { return term_.valid_for(parts_.runtime.boot_now()) > Duration::zero(); }

void SimManager::hold(Inquest* inquest) { scope_.spawn(answer(this, inquest)); }

task<void> SimManager::answer(SimManager* self, Inquest* inquest) {
  const copies::CopyKey key{inquest->job, node::kAccountCopy};
  const auto copy = co_await self->copies_.get(key, {}, self->parts_.runtime.read_clock() + kInquestMost,
                                               self->scope_.cancellation());
  inquest->answered = true;
  if (!copy) {
    inquest->trouble = copy.error().message;
  } else if (*copy) {
    inquest->account = (*copy)->bytes;
  }
}

// --- what its parts say ----------------------------------------------------------------------------------------------

void SimManager::on_suspected(const std::string& name) {
  if (name == leader_) election_.suspect(name);
}

void SimManager::on_elected(const election::TermOfOffice& term) {
  term_ = term;
  say("leads, term " + std::to_string(term.epoch.value()));
}

void SimManager::on_drain(const std::string&) { election_.work_stopped(); }

void SimManager::on_term_ended(const election::TermEnded& ended) {
  term_ = {};
  say("leads no more: " + ended.why);
  if (ended.work_runs) election_.work_stopped();
}

void SimManager::on_leader_changed(const std::string& leader, election::Term, const std::string&) {
  leader_ = leader;
  if (!leader.empty()) election_.synced();
}

void SimManager::on_note(bool warning, const std::string& text) { say((warning ? "warns: " : "notes: ") + text); }

void SimManager::on_job_says(const std::string& job, const std::string& event, const std::string& text, bool warning) {
  if (event == "job_taken_over") ++parts_.place.stage->owners;
  say((warning ? "warns of job '" : "job '") + job + "': " + event + ": " + text);
}

}  // namespace bellwether::sim
