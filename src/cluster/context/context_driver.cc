#include "cluster/context/context_driver.h"

#include <algorithm>

#include "base/check.h"
#include "base/printable.h"
#include "base/units.h"
#include "cluster/message_types.h"
#include "wire/crypto.h"

namespace bellwether::cluster {

using namespace context_lead;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject
using runtime::task;

namespace {

// Renewals reach the commands that run so soon, which is several times in the shortest term.
constexpr Duration kWatchEvery = Duration::millis(50);
constexpr std::size_t kMostSteps = 32;
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
    : parts_(parts), settings_(std::move(settings)), kernel_(config_of(settings_), seed) {
  for (const std::string& name : settings_.members) names_[node_id(name)] = name;
  parts_.switchboard.connect(message_type::kContext, *this);
}

ContextDriver::~ContextDriver() { parts_.switchboard.disconnect(message_type::kContext); }

Result<std::unique_ptr<ContextDriver>> ContextDriver::make(const Parts& parts, ContextDriverSettings settings,
                                                           uint64_t seed) {
  std::unique_ptr<ContextDriver> out(new ContextDriver(parts, std::move(settings), seed));
  auto opened = ContextRegister::open(parts.runtime, parts.store, kRegister, *out);
  if (!opened) return tl::unexpected(opened.error());
  out->register_ = std::move(*opened);
  return out;
}

Status ContextDriver::register_manager(std::unique_ptr<ContextManager> manager) {
  const Status registered =
      ask([&](Effects& out) { return kernel_.register_manager(moment(), manager->config(), out); });
  if (registered) manager_ = std::move(manager);
  return registered;
}

// --- its life --------------------------------------------------------------------------------------------------------

Moment ContextDriver::moment() const { return {parts_.runtime.boot_now(), parts_.runtime.wall_now()}; }

task<void> ContextDriver::run(runtime::Cancellation* cancel) {
  runtime::Cancellation registering;  // outlives what waits with it, also where a process ends in the middle
  runtime::Scope scope;
  scope_ = &scope;
  scope.spawn(register_->run(&registering));
  scope.spawn(keep_watch(this, cancel));
  co_await keep_time(cancel);
  left_ = true;
  for (auto& [key, job] : jobs_) job.kill.cancel();
  scope_ = nullptr;
  scope.cancel();
  registering.cancel();
  co_await scope.join();
}

task<void> ContextDriver::keep_time(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    runtime::Cancellation nap(cancel);
    nap_ = &nap;
    const bool due = co_await parts_.runtime.sleep_until_boot(kernel_.wake(), &nap);
    nap_ = nullptr;
    if (due) tell(Tick{});
  }
}

task<void> ContextDriver::keep_watch(ContextDriver* self, runtime::Cancellation* cancel) {
  while (true) {
    const bool passed = co_await self->parts_.runtime.sleep(kWatchEvery, cancel);
    if (!passed) co_return;
    if (self->manager_ != nullptr && self->term_.end != nullptr) {
      self->manager_->set_term_end(self->term_.end->ends_at());
    }
    self->look_after_told();
  }
}

task<void> ContextDriver::wind_up(Instant deadline) {
  left_ = true;
  stop_generation("this node leaves");
  while (!jobs_.empty() && parts_.runtime.read_clock() < deadline) {
    co_await parts_.runtime.sleep(Duration::millis(5));
  }
  for (auto& [key, job] : jobs_) job.kill.cancel();
  if (term_.end != nullptr) tell(LeadershipLost{term_.epoch, "this node leaves"});
}

void ContextDriver::tell(Event event) {
  if (scope_ == nullptr) return;
  inbox_.push_back(std::move(event));
  work_off();
}

void ContextDriver::carry_out_all(Effects& effects) {
  check(!busy_, "nobody asks from within a step");
  busy_ = true;
  for (Effect& effect : effects) carry_out(effect);
  busy_ = false;
  work_off();
}

// Events that listeners cause wait until the effects of the one before have been carried out.
void ContextDriver::work_off() {
  if (std::exchange(busy_, true)) return;
  while (!inbox_.empty()) {
    const Event next = std::move(inbox_.front());
    inbox_.pop_front();
    Effects effects;
    kernel_.step(moment(), next, effects);
    for (Effect& effect : effects) carry_out(effect);
  }
  busy_ = false;
  settle();
  if (nap_ != nullptr) nap_->cancel();  // the time to wake at may be another one now
}

// The election is told that the work has stopped when it asked for that, and nothing runs any more.
void ContextDriver::settle() {
  if (!owes_stop_ || !jobs_.empty()) return;
  const Duty duty = kernel_.duty();
  if (duty == Duty::kStarting || duty == Duty::kGenerating || duty == Duty::kPaused || duty == Duty::kStopping) return;
  owes_stop_ = false;
  parts_.leadership.work_stopped();
}

void ContextDriver::stop_generation(const std::string& why) {
  if (scope_ == nullptr) return;
  // Refused: nothing is generated, or it is being stopped already.
  static_cast<void>(ask([&](Effects& out) { return kernel_.stop_generation(moment(), why, out); }));
  stop_jobs();
}

// --- what the election says ------------------------------------------------------------------------------------------

void ContextDriver::on_elected(const election::TermOfOffice& term) {
  term_ = term;
  epoch_ = term.epoch.value();
  if (left_) return;
  if (manager_ != nullptr) manager_->set_term_end(term.end->ends_at());
  steps_.clear();
  note_step("elected, term " + std::to_string(term.epoch.value()));
  tell(Elected{term.epoch});
}

void ContextDriver::on_drain(const std::string& cause) {
  owes_stop_ = true;
  if (busy_) {
    // From within a step, which hands the leadership over: nothing runs then.
    stop_jobs();
  } else {
    stop_generation(cause);
  }
  settle();
}

void ContextDriver::on_term_ended(const election::TermEnded& ended) {
  owes_stop_ = ended.work_runs;
  if (manager_ != nullptr) manager_->set_term_end(std::min(ended.stop_by, parts_.runtime.boot_now()));
  term_ = {};
  tell(LeadershipLost{ended.epoch, ended.why});
  settle();
}

void ContextDriver::on_leader_changed(const std::string& leader, election::Term term) {
  if (!leader.empty() && leader != settings_.self && !steps_.empty()) note_step("'" + leader + "' leads");
  tell(LeaderSeen{leader.empty() ? vote::kNobody : node_id(leader), Epoch(term.value())});
}

// --- the kernel's effects --------------------------------------------------------------------------------------------

std::string ContextDriver::name_of(vote::NodeId node) const {
  const auto found = names_.find(node);
  return found == names_.end() ? std::string() : found->second;
}

void ContextDriver::say(const char* event, const std::string& text, bool warning) {
  parts_.listener.on_context_says(event, named(text), warning);
}

void ContextDriver::note_step(std::string text) {
  if (steps_.size() < kMostSteps) steps_.push_back({std::move(text), parts_.runtime.wall_now()});
}

void ContextDriver::send(const std::string& to, const ContextMessage& message) {
  const auto peer = parts_.addresses.find(to);
  if (!peer) return;  // as if it had been lost: the kernel says again what matters
  std::string bytes = encode_context_message(message);
  if (parts_.seal != nullptr) bytes = parts_.seal->seal(std::move(bytes), VoteSeal::About::kContext);
  parts_.links.send(*peer, message_type::kContext, wire::Priority::kLeadership, std::move(bytes),
                    settings_.duties.coordination_timeout);
}

void ContextDriver::broadcast(const ContextMessage& message) {
  for (const std::string& name : settings_.members) {
    if (name != settings_.self) send(name, message);
  }
}

void ContextDriver::ended_failover(const std::string& from, const std::string& to, Duration took, bool ok,
                                   const std::string& why) {
  failover_ = {from, to, took, ok, why, std::exchange(steps_, {})};
  if (!ok) return;
  ++failovers_;
  failover_time_ += took;
}

void ContextDriver::carry_out(Effect& effect) {
  if (const auto* take = std::get_if<TakeRegister>(&effect)) {
    register_->take(*take);
  } else if (const auto* write = std::get_if<WriteRegister>(&effect)) {
    register_->write(*write);
  } else if (std::holds_alternative<ReleaseRegister>(effect)) {
    register_->release();
  } else if (const auto* said = std::get_if<Send>(&effect)) {
    if (std::holds_alternative<StateOffer>(said->message))
      note_step("the state is sent to '" + name_of(said->to) + "'");
    send(name_of(said->to), std::visit([](const auto& one) { return ContextMessage(one); }, said->message));
  } else if (const auto* given = std::get_if<HandOver>(&effect)) {
    note_step("the office is given to '" + name_of(given->target) + "'");
    const Status begun =
        parts_.leadership.hand_over("the leadership of contexts is transferred", name_of(given->target));
    if (!begun) tell(HandOverRefused{begun.error().message});
  } else if (std::holds_alternative<TakeBack>(effect)) {
    note_step("the office is taken back");
    // Where nobody can be asked to elect, whoever stands is elected by itself.
    if (!parts_.leadership.leads(parts_.runtime.boot_now())) static_cast<void>(parts_.leadership.call_election(true));
  } else if (const auto* down = std::get_if<StepDown>(&effect)) {
    say("context_steps_down", "gives the leadership up: " + down->why, true);
    // Refused: it leads no more, or hands over already.
    static_cast<void>(parts_.leadership.hand_over(down->why, {}));
  } else if (std::holds_alternative<CheckHealth>(effect)) {
    HealthReport report;
    for (const auto& [name, health] : parts_.surroundings.node_healths()) report.nodes[node_id(name)] = health;
    tell(std::move(report));
  } else {
    carry_out_work(effect);
    tell_people(effect);
  }
}

void ContextDriver::carry_out_work(Effect& effect) {
  if (auto* keep = std::get_if<KeepPayload>(&effect)) {
    scope_->spawn(keep_payload(this, std::move(*keep)));
  } else if (const auto* fetch = std::get_if<FetchPayload>(&effect)) {
    scope_->spawn(fetch_payload(this, *fetch));
  } else if (const auto* drop = std::get_if<DropPayload>(&effect)) {
    scope_->spawn(drop_payload(this, drop->id));
  } else if (auto* run = std::get_if<RunJob>(&effect)) {
    begin_job(*run);
  } else if (const auto* cancel = std::get_if<CancelJob>(&effect)) {
    cancel_job(*cancel);
  } else if (const auto* answered = std::get_if<SubmitAnswered>(&effect)) {
    answer_ticket(answered->ticket, answered->status);
  } else if (const auto* outcome = std::get_if<TellOutcome>(&effect)) {
    told_.try_emplace(outcome->finished.id, Told{parts_.runtime.now() + settings_.keep_results});
  }
}

void ContextDriver::tell_people(const Effect& effect) {
  const auto epoch_of = [](Epoch epoch) { return "epoch " + std::to_string(epoch.value()); };
  if (const auto* became = std::get_if<BecameLeader>(&effect)) {
    note_step("the register is taken");
    say("context_leader",
        "leads contexts, " + epoch_of(became->epoch) + ", the leader's term number " + std::to_string(became->terms));
  } else if (std::holds_alternative<LostLeadership>(effect)) {
    told_.clear();
    say("context_lost", "no longer leads contexts");
  } else if (const auto* changed = std::get_if<LeaderChanged>(&effect)) {
    const std::string who = changed->new_leader == vote::kNobody ? "nobody" : "'" + name_of(changed->new_leader) + "'";
    say("context_leader_changed", who + " leads contexts, " + epoch_of(changed->epoch));
  } else if (std::holds_alternative<GenerationStarted>(effect)) {
    note_step("the generation is started");
    // With it a take-over is at its end, which was told before; what comes later belongs to another one.
    if (failover_ && failover_->to == settings_.self) {
      failover_->steps.insert(failover_->steps.end(), steps_.begin(), steps_.end());
    }
    steps_.clear();
    say("context_generation_started", "generates contexts");
    broadcast(GenerationBegun{epoch_});
  } else if (const auto* stopped = std::get_if<GenerationStopped>(&effect)) {
    note_step("the generation is stopped");
    say("context_generation_stopped", "generates no contexts: " + stopped->reason);
    broadcast(GenerationEnded{epoch_, stopped->reason});
  } else if (const auto* over = std::get_if<FailedOver>(&effect)) {
    const std::string from = name_of(over->old_leader);
    const std::string to = name_of(over->new_leader);
    say("context_failover", "'" + to + "' leads contexts after '" + from + "', " + format_duration(over->duration));
    ended_failover(from, to, over->duration, true, {});
  } else if (const auto* ended = std::get_if<TransferEnded>(&effect); ended != nullptr && !ended->ok) {
    ended_failover(settings_.self, name_of(ended->target), Duration::zero(), false, named(ended->why));
  } else if (const auto* restored = std::get_if<Restored>(&effect)) {
    note_step("the state of the leader before is taken over");
    for (const StateIssue& one : restored->state.dropped) {
      say("context_recovered", std::string(to_string(one.field)) + " is not taken over: " + printable(one.text), true);
    }
  } else if (const auto* refused = std::get_if<CompletionRefused>(&effect)) {
    say("context_completion_refused", "the end of " + to_string(refused->fence) + " at request " +
                                          to_string(refused->id) + " does not count: " + refused->why);
  } else if (const auto* error = std::get_if<DutyError>(&effect)) {
    say("context_trouble", error->text, error->severity != Severity::kInfo);
  }
}

ContextView ContextDriver::view() const {
  const Moment now = moment();
  const GenerationStatus status = kernel_.status();
  ContextView view;
  view.answered_by = settings_.self;
  if (const auto info = kernel_.leader_info()) {
    view.leader = name_of(info->leader);
    view.epoch = info->epoch.value();
    view.terms = info->terms;
    if (kernel_.is_leader()) view.leads_for = now.clock - info->since;
  }
  view.duty = to_string(status.duty);
  view.why = named(status.why);
  if (manager_ != nullptr) view.manager = manager_->config().name;
  view.queued = status.queued;
  view.active = status.active;
  view.completed = status.completed;
  view.failed = status.failed;
  const DutyMetrics metrics = kernel_.metrics(now.wall);
  view.oldest_waiting = std::max(metrics.oldest_waiting, Duration::zero());
  const ContextClusterHealth& health = kernel_.health();
  view.checked = kernel_.is_leader() && health.total_nodes > 0;
  if (view.checked) {
    view.health = std::clamp(health.overall, 0.0, 1.0);
    for (const auto& [node, score] : health.node_healths) view.nodes.push_back({name_of(node), score});
  }
  for (const auto& [key, job] : jobs_) {
    view.jobs.push_back({key.first, key.second.attempt, parts_.runtime.now() - job.since});
  }
  view.failovers = failovers_;
  view.failover = failover_;
  view.fitness = parts_.surroundings.fitness(work_);
  return view;
}

}  // namespace bellwether::cluster
