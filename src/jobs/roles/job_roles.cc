#include "jobs/roles/job_roles.h"

#include <algorithm>
#include <sched.h>
#include <utility>

#include "cluster/node/cluster_node.h"
#include "cluster/node/node_election.h"
#include "cluster/node/node_format.h"
#include "cluster/node/node_members.h"
#include "cluster/node/secrets.h"
#include "cluster/replication/etcd_job_store.h"
#include "cluster/replication/quorum_job_store.h"
#include "core/base/units.h"

namespace bellwether::node {

namespace {

using runtime::task;

// Another manager continues a job this long after the last sign of its owner.
constexpr jobs::JobSettings kJobs{Duration::seconds(3)};
constexpr Duration kMaxClose = Duration::seconds(1);
// Of the load fence, where messages and processes are slow (profile wan).
constexpr Duration kSlowPermit = Duration::seconds(10);
constexpr Duration kSlowSilence = Duration::seconds(6);

blobs::BlobReplicaSettings keeping(bool first_start) {
  blobs::BlobReplicaSettings settings;
  settings.first_start = first_start;
  return settings;
}

FileStoreSettings files_of(const cluster::NodeConfig& config) {
  return {config.data.empty() ? std::string() : config.data + "/files", config.data_files << 30};
}

std::vector<Figure> figures_of(const FileStore& files) {
  return {{"bellwether_files_bytes",
           kGauge,
           "Bytes of data files of jobs on the disk of this node.",
           {},
           static_cast<double>(files.bytes())},
          {"bellwether_files_received_bytes_total",
           kCounter,
           "Bytes of data files of jobs that this node received.",
           {},
           static_cast<double>(files.received())},
          {"bellwether_files_sent_bytes_total",
           kCounter,
           "Bytes of data files of jobs that this node sent.",
           {},
           static_cast<double>(files.sent())}};
}

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

}  // namespace

runtime::task<Status> RegisterRole::prepare(const NodeTools& tools) {
  const cluster::NodeConfig& config = tools.options.config;
  lines_ =
      std::make_unique<registers::Lines>(tools.port.links(), tools.port.router(),
                                         callback_to<&NodeMembers::find>(tools.members), config.name, config.replicas);
  jobs::ReplicaSettings keeping;
  keeping.first_start = tools.options.first_start;
  replica_ = std::make_unique<jobs::RegisterReplica>(tools.runtime, *tools.supplies.kv, *lines_, keeping,
                                                     callback_to<&NodeLog::note>(tools.log));
  co_return Status();
}

void RegisterRole::describe(QuorumView& view) const {
  if (replica_ == nullptr) return;
  view.jobs = replica_->jobs();
  view.jobs_unable = replica_->unable();
}

// --- its life --------------------------------------------------------------------------------------------------------

ManagerRole::Work::Work(const NodeTools& of_node, ManagerRole& role, std::unique_ptr<jobs::JobStore> registers,
                        std::unique_ptr<jobs::EtcdJobView> seen)
    : tools(of_node),
      around(tools, role),
      own_lines(role.registers_ != nullptr
                    ? nullptr
                    : std::make_unique<registers::Lines>(tools.port.links(), tools.port.router(),
                                                         callback_to<&NodeMembers::find>(tools.members),
                                                         tools.options.config.name, tools.options.config.replicas)),
      lines(own_lines != nullptr ? *own_lines : role.registers_->lines()),
      blob_replica(tools.runtime, *role.kv_, lines, keeping(tools.options.first_start),
                   callback_to<&NodeLog::note>(tools.log)),
      blobs(tools.runtime, lines, {}, tools.runtime.prng().next()),
      store(std::move(registers)),
      etcd(std::move(seen)),
      view(etcd != nullptr ? static_cast<const jobs::JobView&>(*etcd) : role.registers_->replica()),
      changes({tools.runtime, lines, *store, view, callback_to<&ManagerRole::live_managers>(role),
               callback_to<&ManagerRole::moves_replicas>(role), callback_to<&ManagerRole::voters>(role),
               callback_to<&NodeLog::note>(tools.log)},
              tools.options.config.replicas),
      files(tools.runtime, files_of(tools.options.config)),
      service({tools.runtime, tools.port.links(), tools.port.router(), around, *store, view, blobs,
               callback_to<&ManagerRole::on_job_says>(role), files},
              role.settings_) {}

task<Status> ManagerRole::prepare(const NodeTools& tools) {
  const cluster::NodeConfig& config = tools.options.config;
  const uint64_t seed = tools.runtime.prng().next();
  if (config.profile == "wan") {
    settings_.coordinator.rules.permit = kSlowPermit;
    settings_.coordinator.rules.silence = kSlowSilence;
  }
  std::unique_ptr<jobs::JobStore> store;
  std::unique_ptr<jobs::EtcdJobView> view;
  if (registers_ != nullptr) {
    store = std::make_unique<jobs::QuorumJobStore>(tools.runtime, registers_->lines(), kJobs, seed);
  } else {
    const std::string group = fmt::format("{}/{}", config.cluster, config.environment);
    std::string url = config.jobs;
    auto opened = co_await jobs::open_etcd_job_store(tools.runtime, url, group, config.name, kJobs, seed);
    if (!opened) co_return fail(opened.error().code, "jobs: " + opened.error().message);
    auto seen =
        co_await jobs::open_etcd_job_view(tools.runtime, std::move(url), group, callback_to<&NodeLog::note>(tools.log));
    if (!seen) co_return fail(seen.error().code, "jobs: " + seen.error().message);
    store = std::move(*opened);
    view = std::move(*seen);
  }
  if (registers_ != nullptr) registers_->lines().expect(2);  // also the one of blobs
  work_ = std::make_unique<Work>(tools, *this, std::move(store), std::move(view));
  stores_ = {work_->store.get(), &work_->blobs};
  BW_CO_RETURN_IF_ERROR(co_await work_->files.open());
  co_return Status();
}

task<void> ManagerRole::run(runtime::Cancellation* cancel) {
  runtime::Scope keeping;
  keeping.spawn(work_->blob_replica.run(keeping.cancellation()));
  if (work_->etcd != nullptr) keeping.spawn(work_->etcd->run(keeping.cancellation()));
  runtime::Scope changing;
  changing.spawn(work_->changes.run(changing.cancellation()));
  {
    const runtime::CancelCallback on_cancel(
        cancel, [](void* self) { static_cast<ManagerRole*>(self)->winding_up_.cancel(); }, this);
    co_await work_->service.run(&winding_up_);
  }
  ended_ = true;
  ended_changed_.changed();
  changing.cancel();
  co_await changing.join();
  co_await work_->store->close(kMaxClose);
  co_await work_->blobs.close();
  keeping.cancel();
  co_await keeping.join();
  co_await work_->lines.close();
}

// Other managers get its jobs at once, while the lines are still open.
task<void> ManagerRole::wind_up(Instant deadline, runtime::Cancellation* cancel) {
  work_->service.leave();
  winding_up_.cancel();
  const auto ended = [this] { return ended_; };
  co_await ended_changed_.wait(work_->tools.runtime, ended, deadline, cancel);
}

// --- its view of the cluster -----------------------------------------------------------------------------------------

std::optional<cluster::PeerAddress> ManagerRole::Around::find(const std::string& name) const {
  return tools_.members.find(name);
}

std::string ManagerRole::Around::self() const { return tools_.options.config.name; }
std::string ManagerRole::Around::leader_name() const { return tools_.election.leader(); }
bool ManagerRole::Around::leads() const { return tools_.election.leads(); }
bool ManagerRole::Around::keeps_jobs() const { return role_.work_->lines.keeps(); }
std::vector<std::string> ManagerRole::Around::keepers() const { return role_.work_->lines.set().all(); }
bool ManagerRole::Around::is_gone(const std::string& name) const { return tools_.members.is_gone(name); }
bool ManagerRole::Around::is_suspect(const std::string& name) const { return tools_.members.is_suspect(name); }

std::vector<std::string> ManagerRole::Around::manager_names() const {
  std::vector<std::string> out;
  tools_.members.for_each([&](const NodeMembers::Member& member) {
    if (member.role() == wire::Role::kManager && !member.gone()) out.push_back(member.name);
  });
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<ClusterView::Neighbour> ManagerRole::Around::neighbours() const {
  std::vector<Neighbour> out;
  tools_.members.for_each([&](const NodeMembers::Member& member) {
    if (member.role() != wire::Role::kManager && member.role() != wire::Role::kWorker) return;
    const bool stuck = member.name == self() ? role_.work_->service.progress() == health::Progress::kStuck
                                             : member.said != nullptr && member.said->stuck;
    out.push_back({member.name, read_meta(member.profile.meta).datacenter, member.role() == wire::Role::kManager,
                   !member.gone(), stuck});
  });
  return out;
}

void ManagerRole::on_ended(const std::string& name, const std::string& why) {
  work_->service.on_process_ended(name, why);
}

void ManagerRole::on_gone(const std::string& name, const std::string& why) { work_->service.on_worker_gone(name, why); }

void ManagerRole::on_there(const std::string& name) { work_->service.on_worker_back(name); }

// --- the managers that keep jobs -------------------------------------------------------------------------------------

// The leader, if it is a manager; else the first manager that keeps jobs.
bool ManagerRole::moves_replicas() const {
  const std::vector<std::string> managers = live_managers();
  const std::string leader = work_->around.leader_name();
  const std::string self = work_->around.self();
  if (leader.empty()) return false;
  if (std::ranges::binary_search(managers, leader)) return leader == self;
  const auto first = std::ranges::find_if(managers, [&](const auto& one) { return work_->lines.set().has(one); });
  return first != managers.end() && *first == self;
}

// Where the votes of a quorum decide the leader, the voters keep the jobs. Nothing while they change.
std::optional<std::vector<std::string>> ManagerRole::voters() const {
  const cluster::NodeConfig& config = work_->tools.options.config;
  const cluster::Leadership* const leadership = work_->tools.election.leadership();
  if (leadership == nullptr || config.delegates() || config.votes_by_score()) return std::nullopt;
  const cluster::Leadership::View seen = leadership->view();
  std::vector<std::string> names;
  for (const cluster::Leadership::Voter& voter : seen.voters) {
    if (voter.name.empty() || voter.joining || voter.leaving || seen.changing) return std::nullopt;
    names.push_back(voter.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void ManagerRole::describe(ManagersView& view) const {
  if (work_ == nullptr) return;
  const registers::ReplicaSet& set = work_->lines.set();
  for (const std::string& name : set.all()) {
    ManagerView& one = view.managers.emplace_back(ManagerView{.name = name, .keeps = true});
    one.joining = !std::ranges::binary_search(set.names, name);
    one.leaving = set.joint() && !std::ranges::binary_search(set.next, name);
    one.read = work_->changes.has_read(name);
  }
  view.number = set.number;
  view.changing = work_->changes.under_way();
  view.doing = work_->changes.doing();
}

Status ManagerRole::change_managers(bool add, const std::string& name) {
  if (work_ == nullptr) return fail(Errc::kRefused, "this node has just begun");
  return work_->changes.want({add ? name : std::string(), add ? std::string() : name});
}

// --- its log ---------------------------------------------------------------------------------------------------------

void ManagerRole::on_job_says(const std::string& job, const std::string& event, const std::string& text, bool warning) {
  Journal::Fields fields{{"job", job}};
  if (warning) fields.emplace_back("level", "warning");
  work_->tools.log.say(event, text, std::move(fields));
}

std::string ManagerRole::obstacle() const {
  if (work_ == nullptr) return {};
  if (!work_->blob_replica.unable().empty()) return work_->blob_replica.unable();
  const std::string trouble = work_->etcd != nullptr ? work_->etcd->trouble() : std::string();
  return trouble.empty() ? trouble : "the job registers cannot be read: " + trouble;
}

void ManagerRole::describe(QuorumView& view) const {
  if (work_ == nullptr) return;
  const health::ManagerStates& states = work_->service.states();
  view.state = std::string(to_string(states.state()));
  if (states.state() == health::ManagerState::kSyncing && !states.reason().empty())
    view.state += ": " + states.reason();
  if (work_->service.quorum_breaker() == resilience::BreakerState::kOpen) {
    view.submissions = fmt::format("{}, the next attempt is in {}", kQuorumCircuitOpen,
                                   format_duration(work_->service.quorum_again()));
  }
}

std::string ManagerRole::progress() const {
  return work_ == nullptr ? std::string() : std::string(to_string(work_->service.progress()));
}

std::vector<Figure> ManagerRole::figures() const {
  if (work_ == nullptr) return {};
  const ManagerService& service = work_->service;
  std::vector<Figure> figures{
      {"bellwether_jobs_progress",
       "gauge",
       "Progress of dispatch (dispatched assignments compared with those that could be): 0 idle, 1 normal, 2 slow, "
       "3 degraded, 4 stuck.",
       {},
       static_cast<double>(service.progress())},
      {"bellwether_jobs_quorum_breaker",
       "gauge",
       "State of the circuit breaker for quorum writes of new jobs: 0 closed, 1 open, 2 half open.",
       {},
       static_cast<double>(service.quorum_breaker())},
      {"bellwether_jobs_waiting_bytes",
       "gauge",
       "Bytes of workers' reports that are not counted yet or have no copy on another manager.",
       {},
       static_cast<double>(service.waiting_bytes())},
      {"bellwether_jobs_backpressure",
       "gauge",
       "Backpressure on workers, of all jobs together: 0 none, 1 throttle, 2 batch, 3 reject.",
       {},
       static_cast<double>(service.pressure())}};
  std::ranges::copy(figures_of(work_->files), std::back_inserter(figures));
  return figures;
}

Result<WorkerSettings> local_worker_settings(const cluster::NodeConfig& config) {
  WorkerSettings settings;
  settings.cpus = usable_cpus();
  settings.cores = config.cores;
  settings.pin = config.pin;
  settings.hand_over = config.hand_over;
  if (config.cores > settings.cpus.size()) {
    return fail(Errc::kInvalid, "'cores' is {}, but this process may use {}; lower it, or remove it to use all of them",
                config.cores, format_count(settings.cpus.size(), "processor"));
  }
  if (!config.trust_keys.empty()) {
    auto keys = read_keyring(config.trust_keys);
    if (!keys) return fail(keys.error().code, "'trust_keys': " + keys.error().message);
    settings.trusted = std::move(*keys);
  }
  return settings;
}

std::vector<cluster::PeerAddress> WorkerRole::managers() const {
  std::vector<cluster::PeerAddress> out;
  members_->for_each([&](const NodeMembers::Member& member) {
    if (member.role() != wire::Role::kManager || member.gone()) return;
    out.push_back({member.name, cluster::to_runtime(member.profile.endpoint)});
  });
  return out;
}

task<Status> WorkerRole::prepare(const NodeTools& tools) {
  members_ = &tools.members;
  files_ = std::make_unique<FileStore>(tools.runtime, files_of(tools.options.config));
  BW_CO_RETURN_IF_ERROR(co_await files_->open());
  settings_.files = files_.get();
  service_ = std::make_unique<WorkerService>(
      tools.runtime, tools.port.links(), tools.port.router(), callback_to<&WorkerRole::managers>(*this),
      callback_to<&NodeMembers::find>(tools.members), *assignments_, settings_, callback_to<&NodeLog::note>(tools.log));
  co_return Status();
}

std::vector<Figure> WorkerRole::figures() const {
  return files_ == nullptr ? std::vector<Figure>() : figures_of(*files_);
}

task<void> WorkerRole::wind_up(Instant deadline, runtime::Cancellation* cancel) {
  const Status left = co_await service_->leave(deadline, cancel);
  static_cast<void>(left);
}

task<bool> WorkerRole::drain(runtime::Cancellation* cancel) {
  const Status drained = co_await service_->drain(Instant::never(), cancel);
  co_return drained.has_value();
}

}  // namespace bellwether::node
