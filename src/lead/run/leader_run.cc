#include "lead/run/leader_run.h"

#include <csignal>
#include <memory>
#include <set>
#include <utility>

#include "base/printable.h"
#include "base/units.h"
#include "lead/exit_codes.h"
#include "lead/run/candidate_host.h"
#include "lead/run/evidence_sources.h"
#include "lead/run/guarded_command.h"
#include "lead/run/term_report.h"
#include "runtime/signals.h"
#include "store/host/host_store.h"
#include "store/host/instance_id.h"

namespace bellwether::lead {
namespace {

using election::Epoch;
using election::Verdict;

class LeaderRun final : public CandidateHost {
 public:
  LeaderRun(runtime::EpollRuntime& runtime, const LeadOptions& options, Journal& journal)
      : CandidateHost(runtime, journal, options.lease_follows, options.timing.lease),
        options_(options),
        report_(runtime, options, journal) {}

  runtime::task<int> run();
  const LeaseFigures& figures() { return report_.figures(); }

  void on_elected(const election::TermOfOffice& term) override;
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) override;
  void on_store_error(bool renewal, const std::string& why) override;
  void on_fail_open(bool open, const std::string& why) override;

 private:
  runtime::task<Result<election::ElectorConfig>> configure();
  runtime::task<void> campaign(runtime::Scope& helpers);
  runtime::task<void> listen_to_signals(runtime::Cancellation* cancel);
  runtime::task<void> wait_at_most(Duration most, runtime::Cancellation* cancel);
  runtime::task<void> work(Epoch epoch);
  runtime::task<void> drain_at_most(Duration most, uint64_t term, runtime::Cancellation* cancel);
  void work_is_over(const CommandEnd& end);
  void finish(int exit_code, const std::string& cause);
  void conflict(const std::string& why);
  Status choose_name();
  runtime::task<Status> open();
  TermReport::Ends ends() const { return {term_ends_, kill_at_, candidate_->elector().lease_ends()}; }
  void hand_on(int signal);

  const LeadOptions& options_;
  TermReport report_;
  std::string holder_;
  bool elects_ = true;
  std::unique_ptr<EvidenceSources> evidence_;
  std::unique_ptr<runtime::Signals> signals_;

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
  std::set<int> signals_to_come_;  // that the command gets when it has begun: each once, as the system keeps them
  bool kill_wanted_ = false;       // a second signal came
  bool finishing_ = false;
  int exit_code_ = 0;
};

// --- what the candidate says -----------------------------------------------------------------------------------------

void LeaderRun::on_elected(const election::TermOfOffice& term) {
  ever_elected_ = true;
  ++term_;
  term_ends_ = term.end->ends_at();
  kill_at_ = term_ends_ + candidate_->elector().stop_grace();
  working_ = true;
  stop_wanted_ = false;
  lost_ = false;
  report_.elected(term, ends());
  if (evidence_ != nullptr) evidence_->work_begins();
  scope_->spawn(work(term.epoch));
}

void LeaderRun::on_renewed(Instant ends_at, Duration took) {
  term_ends_ = ends_at;
  kill_at_ = ends_at + candidate_->elector().stop_grace();
  // Said before it becomes true, so that what is said never promises less time than the command has.
  const bool confirmed = took > Duration::zero();  // else only the times have become shorter
  if (confirmed) report_.renewed(ends(), took);
  if (command_ != nullptr) command_->set_deadlines(term_ends_, kill_at_);
  if (confirmed) store_answered(took);
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
  report_.term_ended(ended);
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
  report_.leader_changed(record, evidence, candidate_->elector().last_failover());
  const Verdict::Kind kind = candidate_->elector().verdict().kind;
  const bool free = kind == Verdict::Kind::kFree || kind == Verdict::Kind::kOurs;
  if (options_.nonblock && !free && !ever_elected_) conflict(candidate_->elector().verdict().why);
}

void LeaderRun::on_store_error(bool renewal, const std::string& why) {
  if (renewal) {
    report_.figures().renewal_failed();
    store_failed();
  }
  // One slow answer does not say that somebody else leads.
  const bool patient = runtime_.boot_now() - began_ < options_.timing.renew_deadline;
  if (options_.nonblock && !ever_elected_ && !patient) conflict("the store did not answer: " + why);
}

void LeaderRun::on_fail_open(bool open, const std::string& why) {
  report_.fail_open(open, why, candidate_->elector().floor());
}

// --- the command -----------------------------------------------------------------------------------------------------

runtime::task<void> LeaderRun::work(Epoch epoch) {
  CommandOptions options;
  options.command = options_.command;
  options.environment = report_.environment(epoch);
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
    signals_to_come_.clear();
    finish(started.error().code == Errc::kNotFound ? kExitNotFound : kExitCannotExecute, "the command does not start");
    candidate_->work_stopped();
    co_return;
  }
  command_ = std::move(*started);
  command_->set_deadlines(term_ends_, kill_at_);
  for (const int number : std::exchange(signals_to_come_, {})) command_->signal(number);
  if (lost_ || (stop_wanted_ && signal_ == 0)) command_->stop();
  if (kill_wanted_) command_->kill();
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
  journal_.warn(runtime_.wall_now(), "not leading '" + printable(options_.key) + "': " + why);
  finish(options_.conflict_exit_code, why);
}

// --- beside it -------------------------------------------------------------------------------------------------------

runtime::task<void> LeaderRun::wait_at_most(Duration most, runtime::Cancellation* cancel) {
  const bool passed = co_await runtime_.sleep(most, cancel);
  if (passed && !ever_elected_) conflict("not elected within " + format_duration(most));
}

// The command may be running already when its guardian has not said so yet.
void LeaderRun::hand_on(int signal) {
  if (command_ != nullptr) {
    command_->signal(signal);
  } else if (working_) {
    signals_to_come_.insert(signal);
  }
}

runtime::task<void> LeaderRun::listen_to_signals(runtime::Cancellation* cancel) {
  while (true) {
    const int number = co_await signals_->next(cancel);
    if (number == 0) co_return;
    if (number == SIGUSR1 || number == SIGUSR2 || number == SIGWINCH) {
      hand_on(number);
      continue;
    }
    if (signal_ != 0) {
      kill_wanted_ = true;
      if (command_ != nullptr) command_->kill();
      continue;
    }
    signal_ = number;
    hand_on(number);
    finish(128 + number, "signal " + std::to_string(number));
  }
}

runtime::task<Result<election::ElectorConfig>> LeaderRun::configure() {
  election::ElectorConfig config;
  config.key = options_.key;
  config.claim.holder = holder_;
  config.claim.region = options_.region;
  config.claim.cross_region_wait = options_.cross_region_wait;
  config.claim.trust_empty = options_.trust_empty || !elects_;
  config.timing = options_.timing;
  config.traits = store_->traits();
  config.campaign = !options_.observe;
  if (options_.back_off) config.backoff = election::BackoffSettings{};
  if (options_.flap_damping) config.flap = election::FlapSettings{};
  if (config.timing.lease < config.traits.lease_min) {
    co_return fail(Errc::kInvalid, "--ttl " + format_duration(config.timing.lease) + ": " + store_->describe() +
                                       " needs at least " + format_duration(config.traits.lease_min));
  }
  if (options_.keep_epochs && !options_.observe && elects_) {
    const auto kept = co_await recall_epoch(options_.key);
    if (!kept) co_return tl::unexpected(kept.error());
    config.floor = *kept;
  }
  co_return config;
}

runtime::task<void> LeaderRun::campaign(runtime::Scope& helpers) {
  if (options_.wait_most) helpers.spawn(wait_at_most(*options_.wait_most, helpers.cancellation()));
  helpers.spawn(listen_to_signals(helpers.cancellation()));
  helpers.spawn(report_.hooks().run(helpers.cancellation()));
  if (evidence_ != nullptr) evidence_->start(helpers, *candidate_);
  co_await candidate_->run(nullptr);
}

// Our name, and whether this process takes part in an election at all.
Status LeaderRun::choose_name() {
  holder_ = options_.holder.empty() ? store::given_instance_id(&store::own_environment) : options_.holder;
  if (!holder_.empty()) return {};
  // Easier to find for people than the name that the profile nip-le asks for.
  holder_ = own_name();
  const bool nip_le = store::is_nip_le(options_.via);
  if (options_.may_mint_id && !nip_le) return {};
  auto chosen = store::choose_instance_id(&store::own_environment, options_.may_mint_id, nip_le, runtime_.self().pid,
                                          runtime_.wall_now());
  if (!chosen) return tl::unexpected(chosen.error());
  elects_ = chosen->elects;
  if (elects_) holder_ = chosen->id;
  return {};
}

// Who elects nobody has a store of its own, where nobody else ever stands.
runtime::task<Status> LeaderRun::open() {
  const Status named = choose_name();
  if (!named) co_return named;
  report_.set_holder(holder_);
  if (!elects_) {
    journal_.warn(runtime_.wall_now(),
                  "no name was given and none may be made: by the rules of nip-le this process leads without an "
                  "election, and its epoch fences nothing");
  }
  std::string url = elects_ ? options_.via : "memory:";
  Status opened = co_await open_key(std::move(url), options_.key);
  if (!opened) co_return opened;
  auto config = co_await configure();
  if (!config) co_return tl::unexpected(config.error());
  if (EvidenceSources::wanted(options_)) {
    evidence_ = std::make_unique<EvidenceSources>(runtime_, options_);
    evidence_->require(config->evidence);
  }
  candidate_ = std::make_unique<Candidate>(runtime_, *key_, std::move(*config), runtime_.prng().next(), *this);
  co_return Status();
}

runtime::task<int> LeaderRun::run() {
  began_ = runtime_.boot_now();
  auto signals = runtime::Signals::collect(runtime_, {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH});
  if (!signals) {
    journal_.error(runtime_.wall_now(), signals.error().message);
    co_return kExitWrong;
  }
  signals_ = std::move(*signals);
  for (const std::string& warning : options_.timing.warnings()) journal_.warn(runtime_.wall_now(), warning);
  const Status ready = co_await open();
  if (!ready) {
    journal_.error(runtime_.wall_now(), ready.error().message);
    co_return kExitWrong;
  }
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
  store_.reset();
  co_return exit_code_;
}

}  // namespace

int run_leader(runtime::EpollRuntime& runtime, const LeadOptions& options) {
  Journal journal(options.verbosity, options.json, "lead");
  if (!journal.open_audit(runtime.wall_now(), options.audit_file)) return kExitWrong;
  LeaderRun run(runtime, options, journal);
  const FiguresPage page = serve_figures(options.metrics_at, run.figures(), runtime.wall_now(), journal);
  if (!page.good) return kExitWrong;
  return runtime.run(run.run());
}

}  // namespace bellwether::lead
