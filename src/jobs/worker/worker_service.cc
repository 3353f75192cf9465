#include "jobs/worker/worker_service.h"

#include <algorithm>
#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "load/plan/load.h"

namespace bellwether::node {

Result<PlanFacts> facts_of(std::string_view bytes) {
  BW_TRY(const auto bundle, dispatch::decode_bundle(bytes));
  BW_TRY(const auto plan, plan::plan_of(bundle));
  PlanFacts facts;
  facts.shape = {plan.steps.size(), plan.workflows.size(), plan.checks.size(), plan.series.size()};
  for (const plan::Workflow& workflow : plan.workflows) facts.graceful_stops.push_back(workflow.graceful_stop);
  return facts;
}

using runtime::task;
namespace event = dispatch::kernel_event;
namespace effect = dispatch::kernel_effect;

namespace {

constexpr Duration kMaxStopping = Duration::seconds(10);  // of processes at the end; the kernel kills them before

dispatch::WorkerKernelConfig kernel_config(const WorkerSettings& settings, uint64_t life) {
  check(!settings.cpus.empty(), "a worker runs on something");
  dispatch::WorkerKernelConfig config;
  config.cores = settings.cores == 0 ? static_cast<uint32_t>(settings.cpus.size()) : settings.cores;
  config.life = life;
  return config;
}

}  // namespace

WorkerService::WorkerService(runtime::Runtime& runtime, cluster::PeerLinks& links, cluster::MessageRouter& router,
                             Managers managers, Workers workers, AssignmentFactory& factory, WorkerSettings settings,
                             Note note)
    : runtime_(runtime),
      links_(links),
      router_(router),
      managers_(managers),
      workers_(workers),
      factory_(factory),
      settings_(std::move(settings)),
      note_(note),
      life_(std::max<uint64_t>(runtime.prng().next(), 1)),
      kernel_(kernel_config(settings_, life_)),
      reports_(runtime, links, managers_, *this),
      live_(runtime, links, callback_to<&WorkerService::live>(*this)) {
  loop_.begin();
  if (settings_.files != nullptr) fetches_.emplace(runtime_, links_, *settings_.files);
  router_.connect(cluster::message_type::kDispatch, *this);
  state_changed();
}

WorkerService::~WorkerService() { router_.disconnect(cluster::message_type::kDispatch); }

// --- its life --------------------------------------------------------------------------------------------------------

task<void> WorkerService::run(runtime::Cancellation* cancel) {
  const runtime::CancelCallback on_cancel(
      cancel, [](void* scope) { static_cast<runtime::Scope*>(scope)->cancel(); }, &scope_);
  scope_.spawn(reports_.run(scope_.cancellation()));
  scope_.spawn(live_.run(scope_.cancellation()));
  co_await loop_.keep_time(event::Tick{}, scope_.cancellation());
  for (const auto& [key, assignment] : assignments_) assignment->close();
  router_.disconnect(cluster::message_type::kDispatch);
  co_await scope_.join();
  if (fetches_) co_await fetches_->close();
  assignments_.clear();
}

task<Status> WorkerService::drain(Instant deadline, runtime::Cancellation* cancel) {
  states_.shut_down();
  state_changed();
  tell(event::Drain{});
  const Status done = co_await delivered(deadline, cancel);
  co_return done;
}

task<Status> WorkerService::leave(Instant deadline, runtime::Cancellation* cancel) {
  states_.shut_down();
  state_changed();
  tell(event::Leave{std::min(runtime_.read_clock() + settings_.hand_over, deadline)});
  const Status done = co_await delivered(deadline, cancel);
  // For others a worker that has left makes no load, and its parts move at once: so all ends first, even after
  // `cancel`.
  tell(event::Leave{runtime_.read_clock()});
  co_await settled_.wait(
      runtime_, [this] { return kernel_.unfinished() == 0; }, runtime_.read_clock() + kMaxStopping);
  co_return done;
}

task<Status> WorkerService::delivered(Instant deadline, runtime::Cancellation* cancel) {
  const bool done = co_await settled_.wait(
      runtime_, [this] { return idle_ && has_delivered(); }, deadline, cancel);
  if (done) co_return Status{};
  if (cancel != nullptr && cancel->cancelled())
    co_return fail(Errc::kCancelled, "waiting for the worker was cancelled");
  co_return fail(Errc::kTimeout,
                 idle_ ? "no manager has accepted all results of this worker"
                       : fmt::format("{} assignments are still running on this worker", kernel_.unfinished()));
}

bool WorkerService::has_delivered() const {
  return std::all_of(assignments_.begin(), assignments_.end(),
                     [](const auto& assignment) { return assignment.second->stream().delivered(); });
}

// --- the kernel
// --------------------------------------------------------------------------------------------------------

void WorkerService::tell(dispatch::KernelEvent event) { loop_.tell(std::move(event)); }

void WorkerService::carry_out(effect::Answer& effect) {
  const auto found = waiting_.find(effect.ticket);
  if (found == waiting_.end()) return;  // its connection has ended
  const Waiting waiting = found->second;
  waiting_.erase(found);
  const std::string body = dispatch::encode(effect.response);
  waiting.connection->respond(waiting.id, wire::ReplyStatus::kOk, as_bytes(body), true);
}

void WorkerService::carry_out(effect::Start& effect) {
  Result<PlanFacts> known = facts(effect.order.bundle, *effect.bundle);
  Result<ChildOrder> order = known.and_then([&](const PlanFacts& facts) { return order_for(effect, facts); });
  if (!order) {
    tell(event::NotPrepared{effect.assignment, order.error()});
    tell(event::Ended{effect.assignment, {dispatch::AssignmentOutcome::kFailed, order.error().message, 0, {}, {}}});
    return;
  }
  auto assignment = std::make_shared<WorkerAssignment>(runtime_, links_, *this, effect.assignment,
                                                       AssignmentStream(known->shape, settings_.stream_bytes_most),
                                                       known->graceful_stops[order->workflow]);
  assignments_[effect.assignment] = assignment;
  for (const auto& [key, one] : assignments_) {
    one->limit(std::min(settings_.stream_bytes_most, settings_.all_bytes_most / assignments_.size()));
  }
  assignment->start(factory_, std::move(*order));
  scope_.spawn(WorkerAssignment::deliver(assignment));
}

Result<ChildOrder> WorkerService::order_for(const effect::Start& effect, const PlanFacts& facts) const {
  const dispatch::AssignmentOrder& from = effect.order;
  if (from.workflow >= facts.graceful_stops.size()) {
    return fail(Errc::kInvalid, "the order is for workflow {}, but the plan has {} workflows", from.workflow,
                facts.graceful_stops.size());
  }
  if (from.parts.count > kMaxAssignmentThreads) {
    return fail(Errc::kTooLarge, "the order has {} parts for one process; the limit is {}", from.parts.count,
                kMaxAssignmentThreads);
  }
  ChildOrder order;
  order.bundle = *effect.bundle;
  order.workflow = from.workflow;
  order.first = from.parts.first;
  order.count = from.parts.count;
  order.of = from.parts.of;
  order.seed = from.seed;
  order.given = from.given;
  order.iterations = from.iterations;
  order.vus = from.vus;
  order.trusted = settings_.trusted;
  for (const FileRef& file : from.files) {
    if (settings_.files == nullptr || !settings_.files->is_whole(file)) {
      return fail(Errc::kExhausted, "the data file {} has made room for others", file.sha256.substr(0, 12));
    }
    order.files.push_back({file.sha256, settings_.files->path(file)});
  }
  if (!settings_.pin) return order;
  for (const uint32_t core : effect.core_of_part) order.cpus.push_back(settings_.cpus[core % settings_.cpus.size()]);
  return order;
}

// Several assignments of a job use one bundle, and often in a row.
Result<PlanFacts> WorkerService::facts(const std::string& hash, const std::string& bundle) {
  const auto found = facts_.find(hash);
  if (found != facts_.end()) return found->second;
  if (bundle.size() > kMaxBundleBytes) return fail(Errc::kTooLarge, "the bundle is too large for one process");
  auto made = facts_of(bundle);
  if (!made) return made;
  if (facts_.size() >= kMaxFacts) facts_.erase(facts_.begin());
  facts_[hash] = *made;
  return made;
}

WorkerAssignment* WorkerService::find(const dispatch::AssignmentKey& key) const {
  const auto found = assignments_.find(key);
  return found == assignments_.end() ? nullptr : found->second.get();
}

void WorkerService::carry_out(const effect::Begin& effect) {
  if (WorkerAssignment* assignment = find(effect.assignment)) assignment->begin(effect);
}
void WorkerService::carry_out(const effect::Scale& effect) {
  if (WorkerAssignment* assignment = find(effect.assignment)) assignment->scale(effect.vus);
}
void WorkerService::carry_out(const effect::HandOver& effect) {
  if (WorkerAssignment* assignment = find(effect.assignment)) assignment->hand_over(effect);
}
void WorkerService::carry_out(const effect::Stop& effect) {
  if (WorkerAssignment* assignment = find(effect.assignment)) assignment->stop(effect.how);
}
void WorkerService::carry_out(const effect::Kill& effect) {
  if (WorkerAssignment* assignment = find(effect.assignment)) assignment->kill();
}
void WorkerService::carry_out(const effect::Permit& effect) {
  WorkerAssignment* const assignment = find(effect.assignment);
  if (assignment == nullptr) return;
  const Instant boot = runtime_.boot_now();  // before the other clock: a permit must not grow between the two
  assignment->permit(boot + (effect.until - runtime_.read_clock()));
}
void WorkerService::carry_out(const effect::AskWitnesses& effect) {
  for (const dispatch::Witness& witness : effect.witnesses) {
    auto address = workers_(witness.worker);
    if (!address || !renewing_.insert({effect.job, witness.life}).second) continue;
    scope_.spawn(renew(this, std::move(*address), {effect.job, witness.life, life_, effect.first, effect.permit}));
  }
}
task<void> WorkerService::renew(WorkerService* self, cluster::PeerAddress witness, dispatch::RenewMessage message) {
  const Instant asked = self->runtime_.boot_now();
  std::string body = dispatch::encode(message);
  const auto answer =
      co_await self->links_.request(std::move(witness), cluster::message_type::kDispatch, wire::Priority::kControl,
                                    std::move(body), message.permit * 2 / 3, self->scope_.cancellation());
  self->renewing_.erase({message.job, message.life});
  if (!answer) co_return;  // the links have logged it
  const auto response = dispatch::decode_response(*answer);
  if (!response || !std::holds_alternative<dispatch::Noted>(*response)) co_return;  // the load stops without it
  self->tell(event::WitnessAnswered{message.job, message.life, self->on_steady_clock(asked) + message.permit});
}
void WorkerService::carry_out(const effect::AskForTime& effect) {
  using Reason = resilience::ExtensionRequest::Reason;
  const auto found = assignments_.find(effect.assignment);
  if (found == assignments_.end()) return;
  const Reason reason = states_.state() == health::WorkerState::kHealthy ? Reason::kLongWorkflow : Reason::kContention;
  scope_.spawn(WorkerAssignment::ask_for_time(found->second, effect.left, reason));
}
void WorkerService::carry_out(const effect::Warn& effect) {
  if (WorkerAssignment* assignment = find(effect.assignment)) assignment->save();
}
void WorkerService::carry_out(const effect::TellEnd& effect) {
  if (WorkerAssignment* assignment = find(effect.assignment)) assignment->tell_end(effect.end);
}
void WorkerService::carry_out(const effect::Resume& effect) {
  if (WorkerAssignment* assignment = find(effect.assignment)) assignment->resume(effect.applied);
}
void WorkerService::carry_out(const effect::Discard& effect) {
  if (WorkerAssignment* assignment = find(effect.assignment)) assignment->discard();
}
void WorkerService::carry_out(const effect::Follow& effect) {
  for (const auto& [key, assignment] : assignments_) {
    if (key.job == effect.job) assignment->follow();
  }
}
void WorkerService::carry_out(const effect::Forget& effect) {
  const auto found = assignments_.find(effect.assignment);
  if (found == assignments_.end()) return;
  found->second->close();
  assignments_.erase(found);
}
void WorkerService::carry_out(const effect::Report&) { reports_.changed(); }
void WorkerService::carry_out(const effect::Idle&) { idle_ = true; }
void WorkerService::carry_out(const effect::Note& effect) { note(effect.warning, effect.text); }

// --- managers --------------------------------------------------------------------------------------------------------

void WorkerService::on_request(link::Connection& connection, const wire::Inbound& request) {
  // The router has checked which messages of other workers may come: a worker asks its witnesses.
  const wire::Role role = connection.peer().identity.role;
  if (role != wire::Role::kManager && role != wire::Role::kWorker) {
    connection.respond(request.id, wire::ReplyStatus::kNotPermitted, {});
    return;
  }
  waiting_[++ticket_] = {&connection, request.id};
  const auto refuse = [&](std::string why) {
    effect::Answer answer{ticket_, dispatch::refusal(dispatch::Refusal::Kind::kInvalid, std::move(why))};
    carry_out(answer);
  };
  auto message = dispatch::decode_message(as_text(request.body));
  if (!message) return refuse(message.error().message);
  const auto* bundle = std::get_if<dispatch::BundleMessage>(&*message);
  if (bundle != nullptr && dispatch::bundle_hash(bundle->bytes) != bundle->hash) {
    return refuse(fmt::format("the bytes of bundle {} do not match its hash", bundle->hash));
  }
  if (const auto* offer = std::get_if<dispatch::Offer>(&*message)) {
    if (auto answered = fetch(offer->order)) {
      effect::Answer answer{ticket_, std::move(*answered)};
      return carry_out(answer);
    }
  }
  if (const auto* wanted = std::get_if<dispatch::FetchKept>(&*message)) {
    dispatch::Kept kept;
    std::size_t room = dispatch::kMaxKeptBytes;
    for (const auto& [key, assignment] : assignments_) {
      if (key.job != wanted->job || kept.ends.size() == dispatch::kMaxHeldAssignments) continue;
      const auto known =
          std::ranges::find(wanted->streams, key.assignment, &dispatch::AdoptMessage::Stream::assignment);
      assignment->add_kept(known == wanted->streams.end() ? 0 : known->applied, kept, room);
    }
    effect::Answer answer{ticket_, std::move(kept)};
    return carry_out(answer);
  }
  tell(event::Asked{ticket_, connection.peer().identity.node, std::move(*message)});
}

std::optional<dispatch::Response> WorkerService::fetch(const dispatch::AssignmentOrder& order) {
  if (order.files.empty()) return std::nullopt;
  const auto refuse = [](std::string why) {
    return dispatch::refusal(dispatch::Refusal::Kind::kUnavailable, std::move(why));
  };
  if (!fetches_) return refuse("this worker keeps no data files");
  dispatch::FileState state;
  bool all = true;
  for (const FileRef& file : order.files) {
    auto have = fetches_->want(file, ways(order.job));
    if (!have) return refuse(std::move(have.error().message));
    state.have += *have;
    all = all && settings_.files->is_whole(file);
  }
  if (all) return std::nullopt;
  return state;
}

void WorkerService::on_closed(link::Connection& connection) {
  std::erase_if(waiting_, [&](const auto& one) { return one.second.connection == &connection; });
}

std::vector<cluster::PeerAddress> WorkerService::ways(const std::string& job) const {
  std::vector<cluster::PeerAddress> all = managers_();
  const std::string owner = kernel_.owner_of(job);
  const auto is_owner = [&](const cluster::PeerAddress& one) { return one.name == owner; };
  const auto others = std::stable_partition(all.begin(), all.end(), is_owner);
  if (others != all.begin()) return all;
  if (auto address = reports_.address_of(owner)) all.push_back(std::move(*address));
  return all;
}

bool WorkerService::may_own(const std::string& job, const std::string& manager) const {
  const std::string owner = kernel_.owner_of(job);
  if (owner.empty() || owner == manager) return true;
  const std::vector<cluster::PeerAddress> all = managers_();
  return std::none_of(all.begin(), all.end(), [&](const cluster::PeerAddress& one) { return one.name == owner; });
}

dispatch::WorkerReport WorkerService::report() {
  if (states_.takes_work() && noted_ + settings_.unknown_after < runtime_.now()) {
    states_.unregistered();
    state_changed();
  }
  dispatch::WorkerReport made = kernel_.report();
  made.life = life_;
  for (dispatch::WorkerReport::Held& held : made.held) {
    WorkerAssignment* const assignment =
        held.phase == dispatch::AssignmentPhase::kRunning ? find({held.job, held.assignment}) : nullptr;
    if (assignment != nullptr) held.headway = assignment->headway(runtime_.now());
  }
  made.takes_work = made.takes_work && states_.takes_work();
  made.healthy = states_.state() == health::WorkerState::kHealthy;
  made.state = to_string(states_.state());
  made.reason = states_.reason();
  return made;
}

void WorkerService::on_report_noted(const std::string& manager, Instant asked, const dispatch::Noted& answer) {
  noted_ = runtime_.now();
  states_.registered();
  state_changed();
  tell(event::ReportNoted{manager});
  for (const dispatch::Noted::Permit& permit : answer.permits) {
    tell(event::PermitGiven{permit.job, manager, permit.fence, on_steady_clock(asked), permit.denied, permit.witnesses,
                            permit.witnesses_since});
  }
}

// The time since then counts whole, also while the machine slept.
Instant WorkerService::on_steady_clock(Instant boot) {
  const Instant now = runtime_.read_clock();
  return now - (runtime_.boot_now() - boot);
}

std::vector<LiveRound::JobMessage> WorkerService::live() const {
  std::vector<LiveRound::JobMessage> messages;
  const Instant at = runtime_.now();
  const auto apart = [at](const resilience::Pacer& pacer) { return pacer.interval(at, LiveRound::kApart); };
  for (const cluster::PeerAddress& manager : managers_()) {
    const resilience::Pacer pacer = reports_.pacer(manager.name);
    if (!pacer.may_send(at, resilience::Pacer::Kind::kBatch)) continue;
    messages.push_back({manager, {}, apart(pacer)});
  }
  for (const auto& [key, assignment] : assignments_) {
    const auto now = assignment->live(at);
    if (!now) continue;
    const std::string owner = kernel_.owner_of(key.job);
    const auto to = std::find_if(messages.begin(), messages.end(),
                                 [&](const LiveRound::JobMessage& one) { return one.to.name == owner; });
    if (to == messages.end()) continue;
    to->message.assignments.push_back(*now);
    to->apart = std::max(to->apart, apart(assignment->pacer()));
  }
  return messages;
}

// --- its state -------------------------------------------------------------------------------------------------------

void WorkerService::sample(const cluster::ResourceUsage& signs, int health_score) {
  health::WorkerSample sample;
  // Assignments have separate processes: this process uses its CPU time for the control plane only.
  const double spare = signs.cores - static_cast<double>(kernel_.cores() - kernel_.free_cores());
  sample.control_cpu = signs.cpu_ratio * signs.cores / std::max(spare, 1.0);
  sample.loop_lag = Duration::from_seconds_f(signs.loop_lag * cluster::kLoopBeat.seconds_f());
  sample.run_delay = signs.run_delay;
  sample.memory = signs.memory_ratio();
  sample.descriptors = signs.descriptor_ratio();
  sample.health_score = health_score;
  for (const auto& [key, assignment] : assignments_) {
    const double kept = static_cast<double>(assignment->stream().bytes());
    sample.queue = std::max(sample.queue, kept / static_cast<double>(settings_.stream_bytes_most));
  }
  states_.sample(sample, kernel_.unfinished() > 0);
  state_changed();
}

void WorkerService::state_changed() {
  std::pair<health::WorkerState, std::string> now(states_.state(), states_.reason());
  if (now == told_state_) return;
  told_state_ = std::move(now);
  const std::string why = std::string(to_string(told_state_.first)) +
                          (told_state_.second.empty() ? std::string() : ", " + told_state_.second);
  tell(event::Willing{states_.takes_work(), why});
  reports_.changed();
}

}  // namespace bellwether::node
