#include "jobs/manager/manager_service.h"

#include <algorithm>
#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/bytes.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/manager/cluster_view.h"

namespace bellwether::node {
namespace {

constexpr Duration kOwnJudgedEvery = Duration::seconds(1);

}  // namespace

void OwnProgress::look(Instant now, Seen seen) {
  health_.answered(now);
  if (now - judged_ < kOwnJudgedEvery) return;
  judged_ = now;
  // Assignments that already waited at the last judgement. One that was placed a moment ago is not held up.
  const auto held_up = static_cast<uint64_t>(std::count_if(
      seen.waiting.begin(), seen.waiting.end(), [this](const auto& one) { return before_.waiting.contains(one); }));
  health::ManagerReport report;
  report.has_quorum = seen.has_quorum;
  report.accepting_jobs = seen.accepting_jobs;
  report.active_workers = seen.workers;
  report.jobs = seen.jobs;
  report.dispatches.done = seen.dispatched - std::min(seen.dispatched, before_.dispatched);
  report.dispatches.possible = report.dispatches.done + held_up;
  health_.reported(now, health::report_of(report));
  before_ = std::move(seen);
}

using dispatch::Refusal;
using dispatch::refusal;
using runtime::task;

namespace {

constexpr Duration kShareOutEvery = Duration::millis(500);
constexpr Duration kSweepFilesEvery = Duration::minutes(1);
constexpr Duration kMaxRetire = Duration::seconds(2);
constexpr std::size_t kMaxCallers = 16'384;
constexpr Duration kLookEvery = Duration::millis(200);
constexpr Duration kMaxClaim = Duration::seconds(10);

// The handle of a job that is held to be retired: its loss does no harm.
class Deaf final : public jobs::JobHandle::Listener {
  void on_lost(const jobs::LostJob&) override {}
};

bool is_of_worker(const dispatch::JobMessage& message) {
  return std::holds_alternative<dispatch::WorkerReport>(message) ||
         std::holds_alternative<dispatch::WindowMessage>(message) ||
         std::holds_alternative<dispatch::EndMessage>(message) ||
         std::holds_alternative<dispatch::ExtendMessage>(message);
}

}  // namespace

ManagerService::ManagerService(Parts parts, ManagerSettings settings)
    : parts_(parts),
      settings_(settings),
      known_(parts.runtime, parts.view, parts.cluster_view, {settings.claim_stagger, settings.result_retention}),
      registry_(settings.workers),
      progress_(parts.runtime.now()) {
  parts_.router.connect(cluster::message_type::kDispatch, *this);
}

ManagerService::~ManagerService() { parts_.router.disconnect(cluster::message_type::kDispatch); }

task<void> ManagerService::run(runtime::Cancellation* cancel) {
  scope_.spawn(look_for_jobs(this));
  while (!cancel->cancelled()) {
    look_around();
    // Another manager continues the jobs of one that keeps jobs no longer.
    if (!parts_.cluster_view.keeps_jobs()) {
      for (const auto& [id, coordinator] : coordinators_) drop(id);
    }
    share_out_now();
    look_at_itself();
    sweep();
    co_await parts_.runtime.sleep(kShareOutEvery, cancel);
  }
  closing_ = true;
  leave();
  for (const std::shared_ptr<JobCoordinator>& coordinator : claiming_) coordinator->abandon();
  for (const auto& [id, coordinator] : coordinators_) drop(id);
  jobs_changed_.changed();
  co_await jobs_changed_.wait(
      parts_.runtime, [this] { return coordinators_.empty() && busy_.empty(); }, Instant::never());
  scope_.cancel();
  co_await scope_.join();
  co_await files_.close();
}

// --- incoming messages -----------------------------------------------------------------------------------------------

void ManagerService::on_request(link::Connection& connection, const wire::Inbound& request) {
  const Caller caller{&connection, request.id, connection.peer().identity.node, connection.peer().identity.role};
  auto message = dispatch::decode_message(as_text(request.body));
  if (!message) {
    const auto kind =
        message.error().code == Errc::kUnsupported ? Refusal::Kind::kUnavailable : Refusal::Kind::kInvalid;
    return respond(parts_.router, connection, request.id, refusal(kind, message.error().message));
  }
  if (closing_)
    return respond(parts_.router, connection, request.id,
                   refusal(Refusal::Kind::kUnavailable, "this manager is leaving"));
  if (handle_file_message(caller, *message)) return;
  const bool from_worker = caller.role == wire::Role::kWorker;
  if (from_worker != is_of_worker(*message)) {
    return respond(parts_.router, connection, request.id,
                   refusal(Refusal::Kind::kInvalid, "a manager does not handle this message from this role"));
  }
  if (from_worker) return respond(parts_.router, connection, request.id, of_worker(caller, *message));
  if (!parts_.cluster_view.keeps_jobs() && coordinators_.empty()) {
    return respond(parts_.router, connection, request.id,
                   refusal(Refusal::Kind::kUnavailable,
                           "this manager keeps no jobs: ask one that does "
                           "(bellwether cluster managers)"));
  }
  handle_client_message(caller, std::move(*message));
}

// Counters for screens may be lost: errors in them are ignored.
void ManagerService::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  const wire::Identity& from = connection.peer().identity;
  if (closing_ || from.role != wire::Role::kWorker) return;
  const auto message = dispatch::decode_message(as_text(inbound.body));
  const auto* live = message ? std::get_if<dispatch::LiveMessage>(&*message) : nullptr;
  if (live == nullptr) return;
  const Instant now = parts_.runtime.now();
  const bool is_dated = live->collected > Instant();
  const Instant collected = is_dated ? clocks_[&connection].heard(now, live->collected) : now;
  for (const dispatch::LiveMessage::Assignment& one : live->assignments) {
    if (JobCoordinator* const coordinator = owned(one.job)) coordinator->live(from.node, collected, live->number, one);
  }
}

void ManagerService::on_closed(link::Connection& connection) {
  std::erase_if(callers_, [&](const auto& one) { return one.second.connection == &connection; });
  clocks_.erase(&connection);
  for (const auto& [id, coordinator] : coordinators_) coordinator->forget(connection);
}

// A caller that gets its answer later, unless its connection ends first.
ManagerService::Ticket ManagerService::keep(const Caller& caller) {
  if (callers_.size() >= kMaxCallers) {
    respond(parts_.router, *caller.connection, caller.id,
            refusal(Refusal::Kind::kBusy, "too many requests to this manager are waiting"));
    return 0;
  }
  callers_.emplace(++ticket_, caller);
  return ticket_;
}

void ManagerService::answer(Ticket ticket, const dispatch::Response& response) {
  const auto at = callers_.find(ticket);
  if (at == callers_.end()) return;
  const Caller caller = at->second;
  callers_.erase(at);
  respond(parts_.router, *caller.connection, caller.id, response);
}

JobCoordinator* ManagerService::owned(const std::string& job) {
  const auto at = coordinators_.find(job);
  return at == coordinators_.end() || !at->second->ready() ? nullptr : at->second.get();
}

Refusal ManagerService::not_mine(const std::string& job) {
  Refusal out = refusal(Refusal::Kind::kNotOwner, fmt::format("this manager does not own job '{}'", job));
  out.owner = known_.owner_of(job);
  if (const auto* record = parts_.view.find(job)) out.fence = record->accepted.fence;
  return out;
}

// --- workers ---------------------------------------------------------------------------------------------------------

dispatch::Response ManagerService::of_worker(const Caller& caller, const dispatch::JobMessage& message) {
  if (const auto* told = std::get_if<dispatch::WorkerReport>(&message)) return report(caller.name, *told);
  const auto* window = std::get_if<dispatch::WindowMessage>(&message);
  const auto* end = std::get_if<dispatch::EndMessage>(&message);
  const auto* extend = std::get_if<dispatch::ExtendMessage>(&message);
  const std::string& job = window != nullptr ? window->job : end != nullptr ? end->job : extend->job;
  JobCoordinator* const coordinator = owned(job);
  if (coordinator == nullptr || (!coordinator->owned() && !coordinator->over())) return not_mine(job);
  const dispatch::AssignmentId assignment = window != nullptr ? window->assignment
                                            : end != nullptr  ? end->assignment
                                                              : extend->assignment;
  const std::string* const holder = coordinator->holder(assignment);
  if (holder == nullptr || *holder != caller.name) {
    if (holder != nullptr) {
      parts_.router.refuse(*caller.connection, wire::Refusal::kSender,
                           fmt::format("it reports assignment {} of job '{}', which belongs to worker '{}'",
                                       assignment.value(), job, *holder));
    }
    return refusal(Refusal::Kind::kUnknown, fmt::format("job '{}' has no such assignment on '{}'", job, caller.name));
  }
  if (extend != nullptr) return coordinator->more_time(caller.name, *extend);
  if (window == nullptr) return coordinator->end(*end);
  dispatch::Response answer = coordinator->window(caller.name, *window);
  if (auto* applied = std::get_if<dispatch::Applied>(&answer)) {
    applied->pressure = std::max(applied->pressure, pressure());
  }
  return answer;
}

std::size_t ManagerService::waiting_bytes() const {
  std::size_t sum = 0;
  for (const auto& [id, coordinator] : coordinators_) sum += coordinator->waiting_bytes();
  return sum;
}

dispatch::Response ManagerService::report(const std::string& worker, const dispatch::WorkerReport& told) {
  const WorkerRegistry::Entry* before = registry_.find(worker);
  const bool is_new = before == nullptr || before->report.life != told.life;
  const bool changed = is_new || before->report.free != told.free || before->report.takes_work != told.takes_work;
  const Instant now = parts_.runtime.now();
  if (!registry_.heard(now, worker, told)) {
    return refusal(Refusal::Kind::kBusy, "this manager cannot register more workers");
  }
  if (is_new) {
    said_stuck_.erase(worker);
    parts_.job_says({}, "worker_registered",
                    fmt::format("worker '{}' has {}", worker, format_count(told.cores, "core")), false);
  }
  look_at_progress(worker);
  std::vector<dispatch::Noted::Permit> permits;
  for (const auto& [id, coordinator] : coordinators_) {
    if (auto permit = coordinator->reported(worker, told)) permits.push_back(std::move(*permit));
  }
  for (const auto& one : told.held) {
    // Of a job that has ended, and whose manager may have died before it could report the end.
    const KnownJobs::Known* record =
        parts_.cluster_view.leads() && !coordinators_.contains(one.job) ? known_.find(one.job) : nullptr;
    if (record == nullptr || !record->ended()) continue;
    const auto at = parts_.cluster_view.find(worker);
    if (!at) continue;
    const dispatch::JobFence fence = std::max(one.fence, parts_.view.find(one.job)->promised.fence);
    scope_.spawn(retire(this, *at, {one.job, fence}));
  }
  // Before so many have reported it would see nothing new, and the members are many.
  if (is_new && !closing_ && registry_.size() >= awaited_) look_around();
  if (changed) on_cores_changed();
  return dispatch::Noted{pressure(), std::move(permits)};
}

// The next report shows whether the worker received it.
task<void> ManagerService::retire(ManagerService* self, cluster::PeerAddress worker, dispatch::RetireMessage message) {
  const auto answer = co_await ask(self->parts_.links, worker, message, kMaxRetire, self->scope_.cancellation());
  static_cast<void>(answer);
}

// Only the owner of a job takes its assignments away from a worker; to others such a worker gets no new work.
void ManagerService::look_at_progress(const std::string& worker) {
  const Instant now = parts_.runtime.now();
  const WorkerProgress& seen = registry_.find(worker)->progress;
  const bool is_stuck = seen.progress(now) == health::Progress::kStuck;
  if (is_stuck != said_stuck_.contains(worker)) {
    if (is_stuck) {
      said_stuck_.insert(worker);
    } else {
      said_stuck_.erase(worker);
    }
    parts_.job_says({}, is_stuck ? "worker_stuck" : "worker_moves",
                    fmt::format("worker '{}' {}", worker,
                                is_stuck ? "makes no progress and gets no new work" : "makes progress again"),
                    is_stuck);
    on_cores_changed();
  }
  const std::string why = fmt::format("stuck for {}", format_duration(settings_.workers.drain_limit));
  for (const WorkerProgress::Stuck& one : seen.to_evict(now)) {
    if (JobCoordinator* const coordinator = owned(one.job)) coordinator->evict(worker, one.assignment, why);
  }
}

void ManagerService::on_worker_gone(const std::string& name, const std::string& why) {
  registry_.gone(name);
  said_stuck_.erase(name);
  for (const auto& [id, coordinator] : coordinators_) coordinator->doubted(name, why);
  on_cores_changed();
}

void ManagerService::on_process_ended(const std::string& name, const std::string& why) {
  const auto life = registry_.ended_life(name);
  if (!life) return;
  registry_.gone(name);
  for (const auto& [id, coordinator] : coordinators_) coordinator->worker_gone(name, *life, why);
  on_cores_changed();
}

// --- sharing out cores -----------------------------------------------------------------------------------------------

void ManagerService::on_cores_changed() {
  if (closing_ || std::exchange(sharing_out_, true)) return;
  scope_.spawn(share_out(this));
}

task<void> ManagerService::share_out(ManagerService* self) {
  co_await self->parts_.runtime.yield();
  self->sharing_out_ = false;
  if (!self->closing_) self->share_out_now();
}

// At its begin: have all live workers reported?
void ManagerService::look_around() {
  if (states_.state() != health::ManagerState::kSyncing) return;
  health::ManagerStates::Sight sight{.registers_read = parts_.view.has_read()};
  for (const ClusterView::Neighbour& one : parts_.cluster_view.neighbours()) {
    if (one.manager || !one.there) continue;
    ++sight.workers;
    if (registry_.find(one.name) == nullptr) ++sight.unheard;
  }
  awaited_ = sight.workers;
  if (!states_.look(parts_.runtime.now(), sight)) return;
  const std::string& without = states_.reason();
  parts_.job_says({}, "manager_active",
                  "this manager assigns cores from now on" + (without.empty() ? "" : ", though " + without),
                  sight.unheard > 0 || !sight.registers_read);
}

// The first in the queue gets the free cores; no job overtakes one that waits for more cores than are free.
void ManagerService::share_out_now() {
  std::vector<std::shared_ptr<JobCoordinator>> order;
  for (const auto& [id, coordinator] : coordinators_) {
    if (coordinator->ready() && coordinator->owned() && !coordinator->over()) order.push_back(coordinator);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a->record().submitted.unix_ns, a->id()) < std::pair(b->record().submitted.unix_ns, b->id());
  });
  // A worker that was repeatedly out of reach gets no offer before it has been tried again.
  std::set<std::string> left_alone;
  for (const resilience::Breakers::Status& one : parts_.links.breakers()) {
    if (one.state == resilience::BreakerState::kOpen) left_alone.insert(one.peer);
  }
  uint32_t position = 0;
  std::string why;
  const auto put_in_queue = [&](const std::shared_ptr<JobCoordinator>& coordinator) {
    if (!coordinator->wants_cores()) return coordinator->set_position(0, {});
    if (why.empty()) {
      why = states_.hands_out() ? why_waiting(registry_.lines(parts_.runtime.now()))
                                : "its manager is " + std::string(to_string(states_.state()));
    }
    coordinator->set_position(++position, why);
  };
  const bool any_waits =
      std::any_of(order.begin(), order.end(), [](const auto& coordinator) { return coordinator->wants_cores(); });
  bool somebody_waits = false;
  for (const std::shared_ptr<JobCoordinator>& coordinator : order) {
    // Running parts, too, must not move onto the workers that happened to report first.
    if (!states_.hands_out()) {
      put_in_queue(coordinator);
      continue;
    }
    std::map<std::string, uint32_t> asked;
    for (const std::shared_ptr<JobCoordinator>& one : order) one->add_cores(asked);
    std::vector<dispatch::WorkerSight> sights = registry_.sights(parts_.runtime.now(), asked, left_alone);
    // A worker that reports but is unknown to membership cannot be reached.
    std::erase_if(sights, [this](const auto& one) { return !parts_.cluster_view.find(one.name); });
    for (dispatch::WorkerSight& sight : sights) {
      sight.sought = any_waits;
      if (parts_.links.is_busy({sight.name, {}}, resilience::Operation::kDispatch)) sight.takes_work = false;
    }
    if (coordinator->wants_cores() && somebody_waits) {
      for (dispatch::WorkerSight& sight : sights) sight.free = 0;
    }
    coordinator->workers_changed(sights);
    put_in_queue(coordinator);
    somebody_waits = somebody_waits || coordinator->wants_cores();
  }
}

void ManagerService::look_at_itself() {
  OwnProgress::Seen seen;
  seen.has_quorum = !parts_.cluster_view.leader_name().empty();
  seen.accepting_jobs = quorum_breaker() != resilience::BreakerState::kOpen;
  seen.workers = static_cast<uint32_t>(registry_.size());
  seen.dispatched = dispatched_;
  for (const auto& [id, coordinator] : coordinators_) {
    seen.dispatched += coordinator->dispatched();
    if (!coordinator->ready() || !coordinator->owned() || coordinator->over()) continue;
    ++seen.jobs;
    for (const dispatch::AssignmentId assignment : coordinator->undispatched()) seen.waiting.emplace(id, assignment);
  }
  progress_.look(parts_.runtime.now(), std::move(seen));
}

// --- jobs without an owner -------------------------------------------------------------------------------------------

task<void> ManagerService::look_for_jobs(ManagerService* self) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  while (!cancel->cancelled()) {
    co_await self->parts_.runtime.sleep(kLookEvery, cancel);
    if (self->closing_ || cancel->cancelled()) co_return;
    if (!self->parts_.view.has_read() || !self->parts_.cluster_view.keeps_jobs()) continue;
    const auto in_hand = [self](const std::string& job) {
      return self->coordinators_.contains(job) || self->busy_.contains(job);
    };
    for (const auto& [job, due] : self->known_.due(in_hand)) {
      self->busy_.insert(job);
      self->scope_.spawn(due == KnownJobs::Due::kClaim ? claim(self, job) : forget(self, job));
    }
  }
}

task<void> ManagerService::claim(ManagerService* self, std::string job) {
  BW_PROBE("manager: a job is taken over");
  auto coordinator = std::make_shared<JobCoordinator>(self->coordinator_parts(), self->settings_.coordinator, job);
  self->claiming_.insert(coordinator);
  const Status taken = co_await coordinator->take_over(self->parts_.runtime.read_clock() + kMaxClaim);
  self->claiming_.erase(coordinator);
  self->known_.claimed(job);
  if (taken && !self->closing_) {
    self->parts_.job_says(job, "job_taken_over", fmt::format("this manager continues job '{}'", job), false);
    self->coordinators_[job] = coordinator;
    self->not_busy(job);
    self->share_out_now();
    co_return;
  }
  co_await coordinator->close();
  self->not_busy(job);
  if (!taken && !self->closing_) {
    self->parts_.job_says(job, "job_not_taken",
                          fmt::format("job '{}' was not taken over: {}", job, taken.error().message), true);
  }
  // Its owner, or a later pass, handles it.
  self->known_.not_claimed(job);
}

task<void> ManagerService::forget(ManagerService* self, std::string job) {
  Deaf deaf;
  const Instant deadline = self->parts_.runtime.read_clock() + kMaxClaim;
  runtime::Cancellation* cancel = self->scope_.cancellation();
  auto handle = self->parts_.store.open(job, deaf);
  if (handle) {
    const auto taken = co_await (*handle)->take(deadline, cancel);
    const Status dropped = co_await self->parts_.blobs.drop(job, deadline, cancel);
    if (taken && dropped) {
      const auto retired = co_await (*handle)->retire(deadline, cancel);
      static_cast<void>(retired);
    }
  }
  self->known_.forget(job);
  self->not_busy(job);
}

// --- jobs that end ---------------------------------------------------------------------------------------------------

void ManagerService::on_says(const JobCoordinator& job, const std::string& event, const std::string& text,
                             bool warning) {
  parts_.job_says(job.id(), event, text, warning);
}

void ManagerService::drop(const std::string& job) {
  const auto at = coordinators_.find(job);
  if (at == coordinators_.end() || !busy_.insert(job).second) return;
  scope_.spawn(end_coordinator(this, at->second));
}

task<void> ManagerService::end_coordinator(ManagerService* self, std::shared_ptr<JobCoordinator> coordinator) {
  const std::string id = coordinator->id();
  co_await self->parts_.runtime.yield();  // the caller may be iterating over all of them
  co_await coordinator->close();
  self->dispatched_ += coordinator->dispatched();
  self->coordinators_.erase(id);
  self->not_busy(id);
  self->on_cores_changed();
}

void ManagerService::sweep() {
  const Instant now = parts_.runtime.now();
  registry_.sweep(now);
  for (const auto& [id, coordinator] : coordinators_) {
    if (!coordinator->ready() || !coordinator->owned() || coordinator->over()) continue;
    for (const FileRef& file : coordinator->files()) files_.need(file);
  }
  if (now - swept_files_ >= kSweepFilesEvery) {
    swept_files_ = now;
    scope_.spawn(files_.sweep());
  }
  for (const auto& [id, coordinator] : coordinators_) {
    if (!coordinator->over()) continue;
    const bool completed = coordinator->record().state == dispatch::JobState::kCompleted;
    if (now - coordinator->over_since() > (completed ? settings_.tracking : settings_.tracking_failed)) drop(id);
  }
}

}  // namespace bellwether::node
