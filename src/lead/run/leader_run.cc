#include "lead/run/leader_run.h"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/units.h"
#include "lead/candidate.h"
#include "lead/epoch_memory.h"
#include "lead/metrics/metrics_server.h"
#include "lead/run/evidence_sources.h"
#include "lead/run/guarded_command.h"
#include "lead/run/hooks.h"
#include "lead/run/journal.h"
#include "runtime/scope.h"
#include "runtime/signals.h"
#include "store/host/instance_id.h"
#include "store/open_store.h"

namespace bellwether::lead {
namespace {

using election::EndReason;
using election::Epoch;
using election::Verdict;

constexpr int kExitWrong = 104;
constexpr std::size_t kMostShown = 200;

const char* variable(const char* name) { return std::getenv(name); }  // NOLINT(concurrency-mt-unsafe): at start

// A key may have any bytes; a terminal may not.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMostShown)) {
    const bool plain = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    out += plain ? c : '?';
  }
  return out;
}

class LeaderRun final : public CandidateListener {
 public:
  LeaderRun(runtime::EpollRuntime& runtime, const LeadOptions& options, Journal& journal)
      : runtime_(runtime), options_(options), journal_(journal), hooks_(runtime, journal), figures_(options.key, {}) {}

  runtime::task<int> run();
  const LeaseFigures& figures() const { return figures_; }

  void on_elected(const election::TermOfOffice& term) override;
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) override;
  void on_store_error(bool renewal, const std::string& why) override;
  void on_fail_open(bool open, const std::string& why) override;
  void on_floor(Epoch floor) override;
  void on_note(bool warning, const std::string& text) override;

 private:
  runtime::task<Result<election::ElectorConfig>> configure(store::LeaseStore& store);
  runtime::task<void> campaign(runtime::Scope& helpers);
  runtime::task<void> listen_to_signals(runtime::Cancellation* cancel);
  runtime::task<void> wait_at_most(Duration most, runtime::Cancellation* cancel);
  runtime::task<void> work(Epoch epoch);
  runtime::task<void> drain_at_most(Duration most, uint64_t term, runtime::Cancellation* cancel);
  runtime::task<void> keep_floor(Epoch floor);
  void work_is_over(const CommandEnd& end);
  void finish(int exit_code, const std::string& cause);
  void conflict(const std::string& why);
  Hooks::Environment environment(Epoch epoch) const;
  void tell(std::string_view event, const std::string& text, Epoch epoch, const Journal::Fields& more = {});
  Journal::Fields ends_of_term() const;

  runtime::EpollRuntime& runtime_;
  const LeadOptions& options_;
  Journal& journal_;
  Hooks hooks_;
  LeaseFigures figures_;
  std::string holder_;
  std::unique_ptr<store::StoreKey> key_;
  std::unique_ptr<Candidate> candidate_;
  std::unique_ptr<EpochMemory> memory_;
  std::unique_ptr<EvidenceSources> evidence_;
  runtime::Scope* scope_ = nullptr;

  std::unique_ptr<GuardedCommand> command_;
  bool working_ = false;
  bool stop_wanted_ = false;
  bool lost_ = false;  // the term ended before the command did
  uint64_t term_ = 0;
  Instant began_;
  Instant term_ends_;
  Instant kill_at_;
  bool ever_elected_ = false;
  int signal_ = 0;
  bool finishing_ = false;
  int exit_code_ = 0;
};

void LeaderRun::tell(std::string_view event, const std::string& text, Epoch epoch, const Journal::Fields& more) {
  Journal::Fields fields{{"key", options_.key}, {"holder", holder_}, {"epoch", static_cast<int64_t>(epoch.value())}};
  fields.insert(fields.end(), more.begin(), more.end());
  journal_.transition(runtime_.wall_now(), event, text, fields);
}

// By when the work is asked to stop, by when it is killed, and from when on another may take the key.
Journal::Fields LeaderRun::ends_of_term() const {
  const Instant lease_ends = term_ends_ - options_.timing.renew_deadline + options_.timing.lease;
  return {{"term_ends_boot_ns", term_ends_.ns()},
          {"kill_at_boot_ns", kill_at_.ns()},
          {"lease_ends_boot_ns", lease_ends.ns()}};
}

Hooks::Environment LeaderRun::environment(Epoch epoch) const {
  return {{"BELLWETHER_KEY", options_.key},
          {"BELLWETHER_HOLDER", holder_},
          {"BELLWETHER_EPOCH", std::to_string(epoch.value())}};
}

// --- what the candidate says -----------------------------------------------------------------------------------------

void LeaderRun::on_elected(const election::TermOfOffice& term) {
  ever_elected_ = true;
  ++term_;
  figures_.elected(term, runtime_.boot_now());
  term_ends_ = term.end->ends_at();
  kill_at_ = term_ends_ + options_.timing.stop_grace;
  working_ = true;
  stop_wanted_ = false;
  lost_ = false;
  tell("elected", "leading '" + shown(options_.key) + "', epoch " + std::to_string(term.epoch.value()), term.epoch,
       ends_of_term());
  hooks_.call(options_.on_elected, environment(term.epoch));
  if (evidence_ != nullptr) evidence_->work_begins();
  scope_->spawn(work(term.epoch));
}

void LeaderRun::on_renewed(Instant ends, Duration took) {
  figures_.renewed(runtime_.boot_now(), took);
  term_ends_ = ends;
  kill_at_ = ends + options_.timing.stop_grace;
  // Said before it becomes true, so that what is said never promises less time than the command has.
  journal_.step(runtime_.wall_now(), "renewed", "renewed in " + format_duration(took), ends_of_term());
  if (command_ != nullptr) command_->set_deadlines(term_ends_, kill_at_);
}

void LeaderRun::on_drain(const std::string& cause) {
  if (working_) journal_.detail(runtime_.wall_now(), "stopping the command: " + cause);
  stop_wanted_ = true;
  // A signal was handed on as it came; the command knows what to do with it.
  if (command_ != nullptr && signal_ == 0) command_->stop();
  if (options_.drain_most) scope_->spawn(drain_at_most(*options_.drain_most, term_, scope_->cancellation()));
}

runtime::task<void> LeaderRun::drain_at_most(Duration most, uint64_t term, runtime::Cancellation* cancel) {
  const bool passed = co_await runtime_.sleep(most, cancel);
  if (passed && term == term_ && command_ != nullptr) command_->kill();
}

void LeaderRun::on_term_ended(const election::TermEnded& ended) {
  figures_.term_ended();
  const std::string reason = to_string(ended.reason);
  if (ended.reason == EndReason::kResigned) {
    tell("resigned", "no longer leading: " + ended.why, ended.epoch);
  } else {
    tell("deposed", "lost the leadership (" + reason + "): " + ended.why, ended.epoch);
  }
  auto variables = environment(ended.epoch);
  variables.emplace_back("BELLWETHER_REASON", reason);
  hooks_.call(options_.on_deposed, std::move(variables));
  if (!ended.work_runs) return;
  lost_ = true;
  if (!working_) {
    candidate_->work_stopped();
    return;
  }
  stop_wanted_ = true;
  term_ends_ = std::min(term_ends_, runtime_.boot_now());
  kill_at_ = std::min(kill_at_, ended.stop_by);
  if (command_ == nullptr) return;
  command_->set_deadlines(term_ends_, kill_at_);
  command_->stop();
}

void LeaderRun::on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) {
  figures_.leader_changed(record, candidate_->elector().last_failover());
  const bool ours = record.holder == holder_;
  const std::string who = record.held() ? shown(record.holder) : "nobody";
  const std::string text = "leader of '" + shown(options_.key) + "': " + who +
                           (record.held() ? ", epoch " + std::to_string(record.epoch.value()) : " (" + evidence + ")");
  if (options_.observe) {
    tell("leader", text, record.epoch);
  } else if (!ours) {
    journal_.detail(runtime_.wall_now(), text);
  }
  auto variables = environment(record.epoch);
  variables.emplace_back("BELLWETHER_LEADER", record.holder);
  hooks_.call(options_.on_leader_changed, std::move(variables));

  const Verdict::Kind kind = candidate_->elector().verdict().kind;
  const bool free = kind == Verdict::Kind::kFree || kind == Verdict::Kind::kOurs;
  if (options_.nonblock && !free && !ever_elected_) conflict(candidate_->elector().verdict().why);
}

void LeaderRun::on_store_error(bool renewal, const std::string& why) {
  if (renewal) figures_.renewal_failed();
  // One slow answer does not say that somebody else leads.
  const bool patient = runtime_.boot_now() - began_ < options_.timing.renew_deadline;
  if (options_.nonblock && !ever_elected_ && !patient) conflict("the store did not answer: " + why);
}

void LeaderRun::on_fail_open(bool open, const std::string& why) {
  if (open) figures_.fell_open();
  tell("fail-open", open ? "acting without proof is permitted by policy: " + why : "proof is required again: " + why,
       candidate_->elector().floor());
}

void LeaderRun::on_floor(Epoch floor) {
  if (memory_ != nullptr) scope_->spawn(keep_floor(floor));
}

void LeaderRun::on_note(bool warning, const std::string& text) {
  if (warning) {
    journal_.warn(runtime_.wall_now(), text);
  } else {
    journal_.detail(runtime_.wall_now(), text);
  }
}

runtime::task<void> LeaderRun::keep_floor(Epoch floor) {
  const auto kept = co_await memory_->save(floor);
  if (!kept) journal_.warn(runtime_.wall_now(), "the epoch could not be remembered: " + kept.error().message);
}

// --- the command -----------------------------------------------------------------------------------------------------

runtime::task<void> LeaderRun::work(Epoch epoch) {
  CommandOptions options;
  options.command = options_.command;
  options.environment = environment(epoch);
  options.stop_signal = options_.stop_signal;
  options.lock_fd = key_->claim_descriptor();
  options.command_has_lock = !options_.close_lock;
  if (evidence_ != nullptr) evidence_->add_to(options);
  options.term_ends = term_ends_;
  options.kill_at = kill_at_;
  auto started = co_await GuardedCommand::start(runtime_, std::move(options));
  if (!started) {
    journal_.error(runtime_.wall_now(), started.error().message);
    working_ = false;
    finish(started.error().code == Errc::kNotFound ? kExitNotFound : kExitCannotExecute, "the command does not start");
    candidate_->work_stopped();
    co_return;
  }
  command_ = std::move(*started);
  command_->set_deadlines(term_ends_, kill_at_);
  if (signal_ != 0) command_->signal(signal_);
  if (stop_wanted_) command_->stop();
  const CommandEnd end = co_await command_->wait_until_gone();
  command_.reset();
  working_ = false;
  work_is_over(end);
  candidate_->work_stopped();
}

void LeaderRun::work_is_over(const CommandEnd& end) {
  const std::string how =
      end.signal != 0 ? "signal " + std::to_string(end.signal) : "exit code " + std::to_string(end.exit_code);
  journal_.detail(runtime_.wall_now(), "the command has ended: " + how);
  if (finishing_) {
    if (signal_ != 0) exit_code_ = end.shell_code();
    return;
  }
  if (!stop_wanted_ && !lost_ && !end.asked) {
    finish(end.shell_code(), "the command has ended");
  } else if (options_.once) {
    finish(kExitLostLeadership, "leadership was lost");
  }
}

void LeaderRun::finish(int exit_code, const std::string& cause) {
  if (finishing_) return;
  finishing_ = true;
  exit_code_ = exit_code;
  candidate_->resign({.cause = cause, .heir = {}, .stay_out = true});
}

void LeaderRun::conflict(const std::string& why) {
  if (finishing_) return;
  journal_.warn(runtime_.wall_now(), "not leading '" + shown(options_.key) + "': " + why);
  finish(options_.conflict_exit_code, why);
}

// --- beside it -------------------------------------------------------------------------------------------------------

runtime::task<void> LeaderRun::wait_at_most(Duration most, runtime::Cancellation* cancel) {
  const bool passed = co_await runtime_.sleep(most, cancel);
  if (passed && !ever_elected_) conflict("not elected within " + format_duration(most));
}

runtime::task<void> LeaderRun::listen_to_signals(runtime::Cancellation* cancel) {
  auto signals = runtime::Signals::collect(runtime_, {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH});
  if (!signals) co_return;
  while (true) {
    const int number = co_await (*signals)->next(cancel);
    if (number == 0) co_return;
    if (number == SIGUSR1 || number == SIGUSR2 || number == SIGWINCH) {
      if (command_ != nullptr) command_->signal(number);
      continue;
    }
    if (signal_ != 0) {
      if (command_ != nullptr) command_->kill();
      continue;
    }
    signal_ = number;
    if (command_ != nullptr) command_->signal(number);
    finish(128 + number, "signal " + std::to_string(number));
  }
}

runtime::task<Result<election::ElectorConfig>> LeaderRun::configure(store::LeaseStore& store) {
  election::ElectorConfig config;
  config.key = options_.key;
  config.claim.holder = holder_;
  config.claim.region = options_.region;
  config.claim.cross_region_wait = options_.cross_region_wait;
  config.claim.trust_empty = options_.trust_empty;
  config.timing = options_.timing;
  config.traits = store.traits();
  config.campaign = !options_.observe;
  if (options_.back_off) config.backoff = election::BackoffSettings{};
  if (config.timing.lease < config.traits.lease_min) {
    co_return fail(Errc::kInvalid, "--ttl " + format_duration(config.timing.lease) + ": " + store.describe() +
                                       " needs at least " + format_duration(config.traits.lease_min));
  }
  if (options_.keep_epochs && !options_.observe) {
    const std::string folder = default_epoch_folder();
    if (!folder.empty()) {
      memory_ = std::make_unique<EpochMemory>(runtime_, folder, store.describe(), options_.key);
      const auto kept = co_await memory_->load();
      if (!kept) co_return tl::unexpected(kept.error());
      config.floor = *kept;
    }
  }
  co_return config;
}

runtime::task<void> LeaderRun::campaign(runtime::Scope& helpers) {
  if (options_.wait_most) helpers.spawn(wait_at_most(*options_.wait_most, helpers.cancellation()));
  helpers.spawn(listen_to_signals(helpers.cancellation()));
  helpers.spawn(hooks_.run(helpers.cancellation()));
  if (evidence_ != nullptr) evidence_->start(helpers, *candidate_);
  co_await candidate_->run(nullptr);
}

runtime::task<int> LeaderRun::run() {
  began_ = runtime_.boot_now();
  for (const std::string& warning : options_.timing.warnings()) journal_.warn(runtime_.wall_now(), warning);
  auto store = co_await store::open_store(runtime_, options_.via);
  if (!store) {
    journal_.error(runtime_.wall_now(), store.error().message);
    co_return kExitWrong;
  }
  auto key = (*store)->open(options_.key);
  if (!key) {
    journal_.error(runtime_.wall_now(), key.error().message);
    co_return kExitWrong;
  }
  key_ = std::move(*key);
  const runtime::ProcessIdentity self = runtime_.self();
  holder_ = options_.holder.empty() ? store::given_instance_id(&variable) : options_.holder;
  if (holder_.empty()) holder_ = self.host + ":" + std::to_string(self.pid);
  auto config = co_await configure(**store);
  if (!config) {
    journal_.error(runtime_.wall_now(), config.error().message);
    co_return kExitWrong;
  }
  if (EvidenceSources::wanted(options_)) {
    evidence_ = std::make_unique<EvidenceSources>(runtime_, options_);
    evidence_->require(config->evidence);
  }
  candidate_ = std::make_unique<Candidate>(runtime_, *key_, std::move(*config), runtime_.prng().next(), *this);
  {
    runtime::Scope helpers;
    scope_ = &helpers;
    co_await campaign(helpers);
    helpers.cancel();
    co_await helpers.join();
    scope_ = nullptr;
  }
  candidate_.reset();
  key_.reset();
  co_return exit_code_;
}

}  // namespace

int run_leader(runtime::EpollRuntime& runtime, const LeadOptions& options) {
  Journal journal;
  journal.set_output(options.verbosity, options.json);
  if (!options.audit_file.empty()) {
    if (const auto opened = journal.open_audit(options.audit_file); !opened) {
      journal.error(runtime.wall_now(), "--audit: " + opened.error().message);
      return kExitWrong;
    }
  }
  LeaderRun run(runtime, options, journal);
  std::unique_ptr<MetricsServer> metrics;
  if (!options.metrics_at.empty()) {
    auto started = MetricsServer::start(options.metrics_at, {&run.figures()});
    if (!started) {
      journal.error(runtime.wall_now(), "--metrics: " + started.error().message);
      return kExitWrong;
    }
    metrics = std::move(*started);
  }
  return runtime.run(run.run());
}

}  // namespace bellwether::lead
