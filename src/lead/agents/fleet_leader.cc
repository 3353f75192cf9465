#include "lead/agents/fleet_leader.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "election/lease_record.h"
#include "election/store/environment.h"
#include "lead/agents/task_work.h"
#include "lead/run/candidate_host.h"
#include "lead/run/evidence_sources.h"

namespace bellwether::lead {
namespace {

constexpr int kExitTasksFailed = 1;

using election::EndReason;
using election::Epoch;
using runtime::task;

LeadOptions evidence_options(const FleetOptions& options) {
  LeadOptions lead;
  lead.key = options.key;
  lead.timing = options.timing;
  lead.health_command = options.health_command;
  lead.health_every = options.health_every;
  return lead;
}

class FleetLeader final : public CandidateHost {
 public:
  FleetLeader(runtime::EpollRuntime& runtime, const FleetOptions& options, Journal& journal)
      : CandidateHost(runtime, journal, options.adaptive, options.timing.lease),
        options_(options),
        figures_(options.key, {}),
        registry_(runtime, options.registry, options.ages),
        queue_(runtime, options.queue, QueueFile::Who::kLeader),
        evidence_options_(evidence_options(options)) {}

  task<int> run();
  const LeaseFigures& figures() const { return figures_; }

  void on_elected(const election::TermOfOffice& term) override;
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) override;
  void on_store_error(bool renewal, const std::string& why) override;

 private:
  task<Status> prepare();
  task<Result<election::ElectorConfig>> configure();
  task<void> campaign();
  task<void> serve(Epoch epoch);
  task<void> kill_late(uint64_t term, runtime::Cancellation* cancel);
  task<void> leave_a_healthy_leader(runtime::Cancellation* cancel);
  task<void> listen_to_signals(runtime::Cancellation* cancel);
  void deadlines_moved(Instant ends);
  void finish(int exit_code, const std::string& cause);
  void finish(const TaskWork::Over& over);
  void tell(std::string_view event, const std::string& text, Epoch epoch, const Journal::Fields& more = {});

  const FleetOptions& options_;
  LeaseFigures figures_;
  RegistryFile registry_;
  QueueFile queue_;
  LeadOptions evidence_options_;
  std::string id_;
  std::unique_ptr<FleetMember> member_;
  std::unique_ptr<TaskWork> work_;
  std::unique_ptr<EvidenceSources> evidence_;
  std::unique_ptr<runtime::Signals> signals_;

  bool serving_ = false;
  uint64_t term_ = 0;
  HealthyLeader healthy_leader_;
  bool signalled_ = false;
  bool finishing_ = false;
  int exit_code_ = 0;
};

void FleetLeader::tell(std::string_view event, const std::string& text, Epoch epoch, const Journal::Fields& more) {
  Journal::Fields fields{{"key", options_.key}, {"holder", id_}, {"epoch", static_cast<int64_t>(epoch.value())}};
  fields.insert(fields.end(), more.begin(), more.end());
  journal_.transition(runtime_.wall_now(), event, text, fields);
}

// --- events of the candidate -----------------------------------------------------------------------------------------

void FleetLeader::deadlines_moved(Instant ends) {
  work_->set_deadlines(ends, ends + candidate_->elector().stop_grace());
}

void FleetLeader::on_elected(const election::TermOfOffice& term) {
  ++term_;
  figures_.elected(term, runtime_.boot_now());
  deadlines_moved(term.end->ends_at());
  tell("elected", fmt::format("leads the fleet, epoch {}", term.epoch.value()), term.epoch);
  if (evidence_ != nullptr) evidence_->work_begins();
  member_->lead(term.epoch);
  serving_ = true;
  scope_->spawn(serve(term.epoch));
}

task<void> FleetLeader::serve(Epoch epoch) {
  co_await work_->serve(epoch);
  serving_ = false;
  member_->lead(std::nullopt);
  // A wish to resign keeps us back for a lease: two leases for one queue are not to take it from each other all the
  // time.
  if (const auto& over = work_->over()) finish(*over);
  if (work_->was_refused() && !finishing_)
    candidate_->resign({.cause = "the queue belongs to another leader", .heir = {}});
  candidate_->work_stopped();
}

void FleetLeader::on_renewed(Instant ends, Duration took) {
  deadlines_moved(ends);
  if (took == Duration::zero()) return;  // a lease that shrinks, not an answer
  figures_.renewed(runtime_.boot_now(), took);
  store_answered(took);
}

void FleetLeader::on_drain(const std::string& cause) {
  journal_.detail(runtime_.wall_now(), "stopping the work: " + cause);
  work_->stop();
  scope_->spawn(kill_late(term_, scope_->cancellation()));
}

task<void> FleetLeader::kill_late(uint64_t term, runtime::Cancellation* cancel) {
  const bool passed = co_await runtime_.sleep(options_.grace, cancel);
  if (passed && term == term_) work_->kill();
}

void FleetLeader::on_term_ended(const election::TermEnded& ended) {
  figures_.term_ended();
  member_->lead(std::nullopt);
  const bool resigned = ended.reason == EndReason::kResigned;
  tell(resigned ? "resigned" : "deposed",
       (resigned ? "no longer leads: " : fmt::format("lost the leadership ({}): ", election::to_string(ended.reason))) +
           ended.why,
       ended.epoch);
  if (!ended.work_runs) return;
  if (!serving_) {
    candidate_->work_stopped();
    return;
  }
  const Instant now = runtime_.boot_now();
  work_->set_deadlines(std::min(now, ended.stop_by), ended.stop_by);
  work_->lose();
}

void FleetLeader::on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) {
  figures_.leader_changed(record, candidate_->elector().last_failover());
  if (record.held() && record.holder != id_) {
    tell("follower",
         fmt::format("follows '{}', the leader under epoch {}", printable(record.holder), record.epoch.value()),
         record.epoch, {{"leader", record.holder}});
  } else if (!record.held()) {
    journal_.detail(runtime_.wall_now(), "no leader: " + evidence);
  }
}

void FleetLeader::on_store_error(bool renewal, const std::string& why) {
  journal_.detail(runtime_.wall_now(), "store: " + why);
  if (!renewal) return;
  figures_.renewal_failed();
  store_failed();
}

// --- the agent -------------------------------------------------------------------------------------------------------

void FleetLeader::finish(int exit_code, const std::string& cause) {
  if (finishing_) return;
  finishing_ = true;
  exit_code_ = exit_code;
  candidate_->resign({.cause = cause, .heir = {}, .stay_out = true});
}

void FleetLeader::finish(const TaskWork::Over& over) {
  if (over.trouble) {
    journal_.error(runtime_.wall_now(), over.trouble->message);
    finish(over.trouble->code == Errc::kNotFound ? kExitNotFound : kExitCannotExecute, "the command cannot be started");
  } else if (over.failed == 0) {
    finish(0, "every task is done");
  } else {
    finish(kExitTasksFailed, fmt::format("all tasks have ended, but {} failed", format_count(over.failed, "task")));
  }
}

task<void> FleetLeader::leave_a_healthy_leader(runtime::Cancellation* cancel) {
  const Duration look = std::min(options_.timing.retry / 4, Duration::seconds(1));
  while (!cancel->cancelled() && !finishing_) {
    if (healthy_leader_.is_seen_by(candidate_->elector(), runtime_.wall_now())) {
      const election::LeaseRecord record = candidate_->elector().seen().record;
      tell("left",
           fmt::format("'{}' is the leader under epoch {} and healthy: this agent ends because of --exit-if-follower",
                       printable(record.holder), record.epoch.value()),
           record.epoch, {{"leader", record.holder}});
      finish(0, "a follower leaves");
    }
    co_await runtime_.sleep(look, cancel);
  }
}

task<void> FleetLeader::listen_to_signals(runtime::Cancellation* cancel) {
  while (true) {
    const int number = co_await signals_->next(cancel);
    if (number == 0) co_return;
    if (std::exchange(signalled_, true)) work_->kill();
    finish(0, fmt::format("signal {}", number));
  }
}

task<Result<election::ElectorConfig>> FleetLeader::configure() {
  election::ElectorConfig config;
  config.key = options_.key;
  config.claim.holder = id_;
  config.claim.region = options_.region;
  config.claim.cross_region_wait = options_.cross_region_wait;
  config.claim.trust_empty = options_.trust_empty;
  config.timing = options_.timing;
  config.traits = store_->traits();
  if (options_.back_off) config.backoff = election::BackoffSettings{};
  const Duration shortest = options_.adaptive ? options_.adaptive->lease_min : config.timing.lease;
  if (shortest < config.traits.lease_min) {
    co_return fail(Errc::kInvalid, "the lease is {}, but {} needs at least {}", format_duration(shortest),
                   store_->describe(), format_duration(config.traits.lease_min));
  }
  BW_CO_TRY(config.floor, co_await recall_epoch(options_.key));
  // The queue knows of epochs that a lease file which was lost does not.
  const auto queue = co_await queue_.read();
  if (queue) {
    config.floor = std::max(config.floor, queue->fence());
  } else {
    journal_.warn(runtime_.wall_now(), queue.error().message + ". The next leader renames the file");
  }
  co_return config;
}

task<Status> FleetLeader::prepare() {
  // Before the registry has our name: a process that a signal ends must remove it.
  BW_CO_TRY(signals_, runtime::Signals::collect(runtime_, {SIGINT, SIGTERM, SIGHUP}));
  BW_CO_RETURN_IF_ERROR(co_await open_key(options_.via, options_.key));
  BW_CO_RETURN_IF_ERROR(co_await key_->prepare());
  id_ = options_.id.empty() ? store::given_instance_id(&store::own_environment) : options_.id;
  if (id_.empty()) id_ = own_name();
  BW_CO_TRY(auto config, co_await configure());

  FleetMember::Settings membership{.id = id_, .role = options_.role, .heartbeat = options_.heartbeat};
  member_ = std::make_unique<FleetMember>(runtime_, registry_, queue_, journal_, std::move(membership));
  BW_CO_RETURN_IF_ERROR(co_await member_->join());
  TaskWorkSettings settings{
      .agent = id_,
      .leader = fmt::format("{}@{}/{}", id_, runtime_.self().host, election::make_token(runtime_.prng())),
      .key = options_.key,
      .command = options_.command,
      .parallel = options_.parallel,
      .tries_most = options_.tries_most,
      .retry_after = options_.retry_after,
      .poll = options_.poll,
      .until_done = options_.until_done};
  work_ = std::make_unique<TaskWork>(runtime_, queue_, *key_, std::move(settings), journal_);
  if (EvidenceSources::wanted(evidence_options_)) {
    evidence_ = std::make_unique<EvidenceSources>(runtime_, evidence_options_);
    evidence_->require(config.evidence);
  }
  candidate_ = std::make_unique<Candidate>(runtime_, *key_, std::move(config), runtime_.prng().next(), *this);
  co_return Status();
}

task<void> FleetLeader::campaign() {
  runtime::Scope helpers;
  scope_ = &helpers;
  helpers.spawn(listen_to_signals(helpers.cancellation()));
  helpers.spawn(member_->beat(helpers.cancellation()));
  if (options_.exit_if_follower) helpers.spawn(leave_a_healthy_leader(helpers.cancellation()));
  if (evidence_ != nullptr) {
    evidence_->start(helpers, {callback_to<&Candidate::good_evidence>(*candidate_),
                               callback_to<&Candidate::bad_evidence>(*candidate_)});
  }
  co_await candidate_->run(nullptr);
  helpers.cancel();
  co_await helpers.join();
  scope_ = nullptr;
}

task<int> FleetLeader::run() {
  for (const std::string& warning : options_.timing.warnings()) journal_.warn(runtime_.wall_now(), warning);
  const Status ready = co_await prepare();
  if (!ready) {
    journal_.error(runtime_.wall_now(), ready.error().message);
    co_return kExitWrong;
  }
  tell("registered", fmt::format("agent '{}' is registered as {}", printable(id_), printable(options_.role)), Epoch());
  co_await campaign();
  co_await member_->leave();
  candidate_.reset();
  co_return exit_code_;
}

}  // namespace

using election::Elector;
using election::HolderSight;
using election::Verdict;

bool HealthyLeader::is_seen_by(const Elector& elector, WallTime now) {
  const election::Observation& seen = elector.seen();
  const election::LeaseRecord& record = seen.record;
  // An earlier process of this agent has left a record with our name behind.
  const bool another = record.held() && record.holder != elector.config().claim.holder;
  const bool follows = elector.state() == Elector::State::kFollowing && another;
  if (!follows || elector.verdict().kind != Verdict::Kind::kHeld || seen.sight == HolderSight::kDead) return false;
  if (seen.sight == HolderSight::kAlive) return true;
  if (version_.empty() || record.token != token_) {
    token_ = record.token;
    version_ = seen.version;
  }
  if (seen.version != version_) return true;
  if (seen.left) return *seen.left > Duration::zero();
  return now.unix_ns - record.renewed_at.unix_ns < record.lease.ns();
}

int run_fleet_leader(runtime::EpollRuntime& runtime, const FleetOptions& options) {
  Journal journal(options.verbosity, options.json, "agents lead");
  if (!journal.open_audit(runtime.wall_now(), options.audit_file)) return kExitWrong;
  FleetLeader leader(runtime, options, journal);
  const FiguresPage page = serve_figures(options.metrics_at, {&leader.figures()}, runtime.wall_now(), journal);
  if (!page.good) return kExitWrong;
  return runtime.run(leader.run());
}

using runtime::task;

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + printable(name);
  return out;
}

}  // namespace

task<Status> FleetMember::join() {
  const runtime::ProcessIdentity self = runtime_.self();
  const auto known = co_await registry_.read();
  // The change below sets an unreadable registry aside.
  const std::vector<Agent> agents = known ? known->agents() : std::vector<Agent>();
  for (const Agent& agent : agents) {
    const bool other = agent.id == settings_.id && agent.host == self.host && agent.pid != self.pid && agent.pid > 1;
    if (!other || status_of(agent, runtime_.wall_now(), registry_.ages()) != AgentStatus::kActive) continue;
    if (runtime_.look_at_process(agent.pid).state != runtime::ProcessSight::State::kAlive) continue;
    co_return fail(Errc::kRefused,
                   "process {} is agent '{}' already. Give this agent another --id, end that process, or deregister "
                   "it: bellwether agents deregister",
                   agent.pid, printable(agent.id));
  }
  Status done = co_await registry_.add(settings_.id, settings_.role, self.host, self.pid);
  tell_once(done);
  co_return done;
}

task<void> FleetMember::beat(runtime::Cancellation* cancel) {
  while (true) {
    const Duration most = settings_.heartbeat;
    const Duration wait = Duration::nanos(runtime_.prng().between(most.ns() * 8 / 10, most.ns()));
    const bool due = co_await runtime_.sleep(wait, cancel);
    if (!due) co_return;
    const Status how = co_await beat_once();
    if (!cancel->cancelled()) tell_once(how);
  }
}

task<Status> FleetMember::beat_once() {
  Status heard = co_await registry_.heartbeat(settings_.id);
  if (!heard && heard.error().code == Errc::kNotFound) {
    const runtime::ProcessIdentity self = runtime_.self();
    heard = co_await registry_.add(settings_.id, settings_.role, self.host, self.pid);
    if (heard) journal_.warn(runtime_.wall_now(), "this agent was missing in the registry and is registered again");
  }
  if (!heard || !epoch_) co_return heard;
  const election::Epoch epoch = *epoch_;
  Status cleaned = co_await clean_up(epoch);
  co_return cleaned;
}

task<Status> FleetMember::clean_up(election::Epoch epoch) {
  BW_CO_TRY(const auto cleanup, co_await registry_.clean(settings_.id));
  if (cleanup.changed()) {
    journal_.transition(
        runtime_.wall_now(), "cleaned",
        fmt::format("agents: stale {}; removed {}", cleanup.stale.empty() ? "none" : joined(cleanup.stale),
                    cleanup.reaped.empty() ? "none" : joined(cleanup.reaped)),
        {{"stale", joined(cleanup.stale)},
         {"forgotten", joined(cleanup.reaped)},
         {"epoch", static_cast<int64_t>(epoch.value())}});
  }
  BW_CO_TRY(const auto registry, co_await registry_.read());
  std::vector<std::string> living{settings_.id};
  for (const Agent& agent : registry.agents()) {
    if (agent.status == AgentStatus::kActive) living.push_back(agent.id);
  }
  auto handed_back = co_await queue_.hand_back(std::move(living), epoch);
  // A leader that came after us, or the queue is not taken over yet.
  if (!handed_back && handed_back.error().code == Errc::kRefused) co_return Status();
  BW_CO_TRY(const auto back, std::move(handed_back));
  if (back > 0) {
    journal_.transition(runtime_.wall_now(), "handed_back",
                        format_count(back, "task") + " of silent agents handed back to the queue",
                        {{"tasks", static_cast<int64_t>(back)}, {"epoch", static_cast<int64_t>(epoch.value())}});
  }
  co_return Status();
}

task<void> FleetMember::leave() {
  const Status left = co_await registry_.remove(settings_.id);
  if (!left && left.error().code != Errc::kNotFound) tell_once(left);
}

void FleetMember::tell_once(const Status& how) {
  std::string trouble = how ? std::string() : "the registry or the queue: " + how.error().message;
  if (trouble.empty() && registry_.quarantined()) {
    trouble = "the registry was torn or foreign, and its file was renamed; agents register again";
  }
  if (!trouble.empty() && trouble != trouble_) journal_.warn(runtime_.wall_now(), trouble);
  trouble_ = trouble;
}

}  // namespace bellwether::lead
