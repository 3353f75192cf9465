#include "lead/context_driver/context_driver.h"

#include <algorithm>

#include "cluster/net/message_classes.h"
#include "cluster/replication/job_store.h"
#include "cluster/wire/crypto.h"
#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::cluster {

using namespace context_lead;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject
using runtime::task;

namespace {

constexpr std::size_t kMaxSteps = 32;
const std::string kRegister = std::string(1, jobs::kNotOfJobs) + "context";

vote::NodeId node_id(const std::string& name) { return vote::NodeId(member_id(name).value()); }

DutyConfig config_of(const ContextDriverSettings& settings) {
  DutyConfig config;
  config.self = node_id(settings.self);
  for (const std::string& name : settings.members) config.members.push_back(node_id(name));
  config.settings = settings.duties;
  config.digest = &wire::sha256;
  return config;
}

}  // namespace

ContextDriver::ContextDriver(const Parts& parts, ContextDriverSettings settings, uint64_t seed)
    : parts_(parts),
      settings_(std::move(settings)),
      kernel_{parts.runtime, DutyLeader(config_of(settings_), seed)},
      loop_(parts.runtime, kernel_, *this),
      register_(parts.runtime, *this),
      jobs_(parts.runtime, parts.blobs, register_, {settings_.duties.coordination_timeout, settings_.keep_results}) {
  for (const std::string& name : settings_.members) names_[node_id(name)] = name;
  parts_.router.connect(message_type::kContext, *this);
}

ContextDriver::~ContextDriver() { parts_.router.disconnect(message_type::kContext); }

Result<std::unique_ptr<ContextDriver>> ContextDriver::make(const Parts& parts, ContextDriverSettings settings,
                                                           uint64_t seed) {
  std::unique_ptr<ContextDriver> out(new ContextDriver(parts, std::move(settings), seed));
  BW_RETURN_IF_ERROR(out->register_.open(parts.store, kRegister));
  return out;
}

Status ContextDriver::register_manager(std::unique_ptr<ContextManager> manager) {
  if (const ContextManager* there = jobs_.manager()) {
    return fail(Errc::kExists, "the context manager '{}' is registered; a node has one", there->config().name);
  }
  BW_RETURN_IF_ERROR(manager->config().validate());
  jobs_.set_manager(std::move(manager));
  tell(ManagerRegistered{jobs_.manager()->config()});
  return {};
}

// --- the kernel's effects --------------------------------------------------------------------------------------------

// Executes each effect of the kernel.
struct ContextDriver::Hands {
  ContextDriver& self;

  // --- the register, payloads and jobs
  void operator()(TakeRegister& wish) const { self.register_.ask(std::move(wish)); }
  void operator()(WriteRegister& wish) const { self.register_.ask(std::move(wish)); }
  void operator()(ReleaseRegister& wish) const { self.register_.ask(wish); }
  void operator()(KeepPayload& wish) const {
    self.scope_->spawn(tell_later(&self, self.jobs_.keep(std::move(wish), self.scope_->cancellation())));
  }
  void operator()(FetchPayload& wish) const {
    self.scope_->spawn(tell_later(&self, self.jobs_.fetch(wish, self.scope_->cancellation())));
  }
  void operator()(DropPayload& wish) const { self.scope_->spawn(drop_copies(&self, wish.id)); }
  void operator()(RunJob& wish) const { self.scope_->spawn(run_job(&self, std::move(wish))); }
  void operator()(CancelJob& wish) const { self.jobs_.cancel(wish); }
  void operator()(Answered& answered) const { self.answer_ticket(answered.ticket, answered.status); }
  void operator()(TellOutcome& outcome) const { self.jobs_.on_told(outcome.finished.id); }
  void operator()(CompletionRefused& refused) const {
    self.say("context_completion_refused", fmt::format("the end of {} of request {} does not count: {}",
                                                       to_string(refused.fence), to_string(refused.id), refused.why));
  }

  // --- the election, and other nodes
  void operator()(CheckHealth&) const {
    HealthReport report;
    for (const auto& [name, health] : self.parts_.node_healths()) report.nodes[node_id(name)] = health;
    self.tell(std::move(report));
  }
  void operator()(Send& said) const {
    const std::string to = self.name_of(said.to);
    if (std::holds_alternative<StateOffer>(said.message)) self.note_step(fmt::format("the state is sent to '{}'", to));
    self.send(to, std::visit([](const auto& one) { return ContextMessage(one); }, said.message));
  }
  void operator()(HandOver& given) const {
    const std::string to = self.name_of(given.target);
    self.note_step(fmt::format("the office is given to '{}'", to));
    const Status begun = self.parts_.leadership.hand_over("the leadership of contexts is transferred", to);
    if (!begun) self.tell(HandOverRefused{begun.error().message});
  }
  void operator()(TakeBack&) const {
    self.note_step("the office is taken back");
    Leadership& leadership = self.parts_.leadership;
    // Without other voters, a candidate elects itself.
    if (!leadership.leads(self.parts_.runtime.boot_now())) static_cast<void>(leadership.call_election(true));
  }
  void operator()(StepDown& down) const {
    self.say("context_steps_down", "gives up the leadership: " + down.why, true);
    // Refused: it does not lead any more, or hands over already.
    static_cast<void>(self.parts_.leadership.hand_over(down.why, {}));
  }

  // --- effects that inform others
  void operator()(BecameLeader& became) const {
    self.note_step("this node has taken the register");
    self.say("context_leader",
             fmt::format("leads contexts, epoch {}, the leader's term number {}", became.epoch.value(), became.terms));
  }
  void operator()(LostLeadership&) const {
    self.jobs_.forget_told();
    self.say("context_lost", "no longer leads contexts");
  }
  void operator()(LeaderChanged& changed) const {
    const std::string who =
        changed.new_leader == vote::kNobody ? "nobody" : fmt::format("'{}'", self.name_of(changed.new_leader));
    self.say("context_leader_changed", fmt::format("{} leads contexts, epoch {}", who, changed.epoch.value()));
  }
  void operator()(GenerationStarted&) const {
    self.note_step("the generation is started");
    // This ends a take-over that was announced before; later ones are another take-over.
    if (auto& failover = self.failover_; failover && failover->to == self.settings_.self) {
      failover->steps.insert(failover->steps.end(), self.steps_.begin(), self.steps_.end());
    }
    self.steps_.clear();
    self.say("context_generation_started", "generates contexts");
    self.broadcast(GenerationBegun{self.epoch_});
  }
  void operator()(GenerationStopped& stopped) const {
    self.note_step("the generation is stopped");
    self.say("context_generation_stopped", "does not generate contexts: " + stopped.reason);
    self.broadcast(GenerationEnded{self.epoch_, stopped.reason});
  }
  void operator()(FailedOver& over) const {
    const std::string from = self.name_of(over.old_leader);
    const std::string to = self.name_of(over.new_leader);
    self.say("context_failover",
             fmt::format("'{}' leads contexts after '{}', {}", to, from, format_duration(over.duration)));
    self.failover_ = {from, to, over.duration, true, {}, std::exchange(self.steps_, {})};
    ++self.failovers_;
    self.failover_time_ += over.duration;
  }
  void operator()(TransferBegun& begun) const {
    const std::string to = fmt::format("'{}'", self.name_of(begun.target));
    self.steps_.clear();
    self.note_step(fmt::format("the transfer to {} begins", to));
    self.failover_.reset();
    self.say("context_transfer", fmt::format("{} transfers the leadership to {}", printable(begun.source), to));
  }
  void operator()(TransferEnded& ended) const {
    if (ended.ok) return;  // FailedOver follows
    self.failover_ = {self.settings_.self,   self.name_of(ended.target),    Duration::zero(), false,
                      self.named(ended.why), std::exchange(self.steps_, {})};
  }
  void operator()(Restored& restored) const {
    self.note_step("the state of the former leader is restored");
    for (const StateIssue& one : restored.state.dropped) {
      self.say("context_recovered", fmt::format("{} is not restored: {}", to_string(one.field), printable(one.text)),
               true);
    }
  }
  void operator()(DutyError& error) const {
    self.say("context_trouble", error.text, error.severity != Severity::kInfo);
  }
};

// Must precede the code that runs the loop, which is in this file alone.
template <class Effect>
void ContextDriver::carry_out(Effect& effect) {
  Hands{*this}(effect);
}

void ContextDriver::tell(Event event) { loop_.tell(std::move(event)); }

template <class Told>
task<void> ContextDriver::tell_later(ContextDriver* self, task<Told> told) {
  self->tell(co_await std::move(told));
}

task<void> ContextDriver::run_job(ContextDriver* self, RunJob wish) {
  self->jobs_.set_term_end(self->term_.end != nullptr ? self->term_.end->ends_at() : Instant());
  // The job may arrive after the order to stop.
  const bool stops = self->owes_stop_ || self->left_;
  const JobEnded end = co_await self->jobs_.run(std::move(wish), stops);
  self->jobs_.ended(end);
  self->tell(end);
}

task<void> ContextDriver::drop_copies(ContextDriver* self, RequestId id) {
  if (co_await self->jobs_.drop(id, self->scope_->cancellation())) self->tell(PayloadDropped{id});
}

task<void> ContextDriver::look_after_told(ContextDriver* self, runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const auto over = co_await self->jobs_.wait_until_over(cancel);
    if (over) self->tell(OutcomeTold{*over});
  }
}

// Reports to the election that the work has stopped, if it asked for that and no job runs.
void ContextDriver::settled() {
  if (!owes_stop_ || !jobs_.none()) return;
  const Duty duty = kernel_.leader.duty();
  if (duty == Duty::kStarting || duty == Duty::kGenerating || duty == Duty::kPaused || duty == Duty::kStopping) return;
  owes_stop_ = false;
  parts_.leadership.work_stopped();
}

// --- its life --------------------------------------------------------------------------------------------------------

task<void> ContextDriver::run(runtime::Cancellation* cancel) {
  runtime::Cancellation registering;  // outlives its waiters, also where a process ends in the middle
  runtime::Scope scope;
  scope_ = &scope;
  scope.spawn(register_.run(&registering));
  scope.spawn(look_after_told(this, scope.cancellation()));
  loop_.begin();
  co_await loop_.keep_time(Tick{}, cancel);
  loop_.end();
  left_ = true;
  jobs_.kill_all();
  scope_ = nullptr;
  scope.cancel();
  registering.cancel();
  co_await scope.join();
}

task<void> ContextDriver::wind_up(Instant deadline) {
  left_ = true;
  tell(StopGeneration{0, "this node leaves"});
  jobs_.stop_all();
  co_await jobs_.wait_for_none(deadline);
  jobs_.kill_all();
  if (term_.end != nullptr) tell(LeadershipLost{term_.epoch, "this node leaves"});
}

// --- events of the election ------------------------------------------------------------------------------------------

void ContextDriver::on_elected(const election::TermOfOffice& term) {
  term_ = term;
  epoch_ = term.epoch.value();
  if (left_) return;
  jobs_.set_term_end(term.end->ends_at());
  steps_.clear();
  note_step(fmt::format("elected, term {}", term.epoch.value()));
  tell(Elected{term.epoch});
}

void ContextDriver::on_drain(const std::string& cause) {
  owes_stop_ = true;
  // Refused when nothing is generated, or it is being stopped already.
  tell(StopGeneration{0, cause});
  jobs_.stop_all();
  settled();
}

void ContextDriver::on_term_ended(const election::TermEnded& ended) {
  owes_stop_ = ended.work_runs;
  jobs_.set_term_end(std::min(ended.stop_by, parts_.runtime.boot_now()));
  term_ = {};
  tell(LeadershipLost{ended.epoch, ended.why});
  settled();
}

void ContextDriver::on_leader_changed(const std::string& leader, election::Term term) {
  if (!leader.empty() && leader != settings_.self && !steps_.empty()) note_step(fmt::format("'{}' leads", leader));
  tell(LeaderSeen{leader.empty() ? vote::kNobody : node_id(leader), Epoch(term.value())});
}

// --- reports ---------------------------------------------------------------------------------------------------------

std::string ContextDriver::name_of(vote::NodeId node) const {
  const auto found = names_.find(node);
  return found == names_.end() ? std::string() : found->second;
}

std::optional<vote::NodeId> ContextDriver::member(const std::string& name) const {
  const auto one = std::ranges::find(names_, name, [](const auto& known) { return known.second; });
  return one == names_.end() ? std::nullopt : std::optional(one->first);
}

void ContextDriver::say(const char* event, const std::string& text, bool warning) {
  parts_.says(event, named(text), warning);
}

void ContextDriver::note_step(std::string text) {
  if (steps_.size() < kMaxSteps) steps_.push_back({std::move(text), parts_.runtime.wall_now()});
}

void ContextDriver::send(const std::string& to, const ContextMessage& message) {
  const auto peer = parts_.addresses(to);
  if (!peer) return;  // as if it had been lost: the kernel repeats important messages
  std::string bytes = message::encode(message);
  if (parts_.seal != nullptr) bytes = parts_.seal->seal(std::move(bytes), VoteSeal::About::kContext);
  parts_.links.send(*peer, message_type::kContext, wire::Priority::kLeadership, std::move(bytes),
                    settings_.duties.coordination_timeout);
}

void ContextDriver::broadcast(const ContextMessage& message) {
  for (const std::string& name : settings_.members) {
    if (name != settings_.self) send(name, message);
  }
}

ContextView ContextDriver::view() const {
  const DutyStatus status = this->status();
  ContextView view;
  view.answered_by = settings_.self;
  if (status.leader != vote::kNobody) {
    view.leader = name_of(status.leader);
    view.epoch = status.epoch.value();
  }
  if (kernel_.leader.is_leader()) {
    view.terms = status.terms;
    view.leads_for = parts_.runtime.boot_now() - status.since;
  }
  view.duty = to_string(status.duty);
  view.why = named(status.why);
  if (jobs_.manager() != nullptr) view.manager = jobs_.manager()->config().name;
  view.queued = status.queued;
  view.active = status.active;
  view.completed = status.completed;
  view.failed = status.failed;
  view.oldest_waiting = status.oldest_waiting;
  const ContextClusterHealth& health = kernel_.leader.health();
  view.checked = kernel_.leader.is_leader() && health.total_nodes > 0;
  if (view.checked) {
    view.health = std::clamp(health.overall, 0.0, 1.0);
    for (const auto& [node, score] : health.node_healths) view.nodes.push_back({name_of(node), score});
  }
  view.jobs = jobs_.view();
  view.failovers = failovers_;
  view.failover = failover_;
  view.fitness = parts_.fitness(work());
  return view;
}

}  // namespace bellwether::cluster
