#include "lead/run/leader_run.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "election/store/environment.h"
#include "election/store/host/host_store.h"
#include "lead/run/candidate_host.h"
#include "lead/run/evidence_sources.h"
#include "lead/run/guarded_command.h"
#include "lead/run/term_report.h"

namespace bellwether::lead {
namespace {

using election::Epoch;

// The intervals at which a process that waits for the leadership says so.
constexpr Duration kFirstWait = Duration::seconds(10);
constexpr Duration kLongestWait = Duration::hours(1);

class LeaderRun final : public Campaign::Listener {
 public:
  LeaderRun(runtime::EpollRuntime& runtime, const LeadOptions& options, Journal& journal, Campaign& campaign)
      : runtime_(runtime),
        options_(options),
        journal_(journal),
        campaign_(campaign),
        report_(runtime, options, journal) {}

  runtime::task<int> run();
  const LeaseFigures& figures() { return report_.figures(); }

  void on_elected(const election::TermOfOffice& term) override;
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_renewal_failed() override { report_.figures().renewal_failed(); }
  void on_leader_changed(const LeaderSeen& seen) override;
  void on_unknown(const std::string& why) override;
  void on_fail_open(bool open, const std::string& why, Epoch floor) override;

 private:
  runtime::task<int> campaign(runtime::Scope& helpers);
  runtime::task<void> listen_to_signals(runtime::Cancellation* cancel);
  runtime::task<void> wait_at_most(Duration most, runtime::Cancellation* cancel);
  void say_waiting();
  runtime::task<void> say_waiting_again(runtime::Cancellation* cancel);
  runtime::task<void> work(Epoch epoch);
  runtime::task<void> drain_at_most(Duration most, uint64_t term, runtime::Cancellation* cancel);
  void work_is_over(const CommandEnd& end);
  void finish(int exit_code, const std::string& cause);
  void conflict(const std::string& why);
  runtime::task<Status> open();
  TermReport::Ends ends() const { return {term_ends_, kill_at_, campaign_.lease_ends()}; }

  runtime::EpollRuntime& runtime_;
  const LeadOptions& options_;
  Journal& journal_;
  Campaign& campaign_;
  TermReport report_;
  runtime::Scope* scope_ = nullptr;  // of the coroutines beside the campaign
  std::unique_ptr<EvidenceSources> evidence_;
  std::unique_ptr<runtime::Signals> signals_;

  std::unique_ptr<GuardedCommand> command_;
  bool stop_wanted_ = false;
  bool lost_ = false;  // the term ended before the command did
  uint64_t term_ = 0;
  Instant term_ends_;
  Instant kill_at_;
  bool ever_elected_ = false;
  bool leads_ = false;
  std::string waits_for_ = "the leader is not known yet";
  int signal_ = 0;
  bool finishing_ = false;
  int exit_code_ = 0;
};

// --- events of the campaign ------------------------------------------------------------------------------------------

void LeaderRun::on_elected(const election::TermOfOffice& term) {
  ever_elected_ = leads_ = true;
  ++term_;
  term_ends_ = term.end->ends_at();
  kill_at_ = term_ends_ + campaign_.stop_grace();
  stop_wanted_ = false;
  lost_ = false;
  report_.elected(term, ends());
  if (evidence_ != nullptr) evidence_->work_begins();
  scope_->spawn(work(term.epoch));
}

void LeaderRun::on_renewed(Instant ends_at, Duration took) {
  term_ends_ = ends_at;
  kill_at_ = ends_at + campaign_.stop_grace();
  // Reported before it becomes true, so that a report never promises less time than the command has.
  const bool confirmed = took > Duration::zero();  // else only the times have become shorter
  if (confirmed) report_.renewed(ends(), took);
  if (command_ != nullptr) command_->set_deadlines(term_ends_, kill_at_);
}

void LeaderRun::on_drain(const std::string& cause) {
  if (command_ != nullptr) journal_.detail(runtime_.wall_now(), "stopping the command: " + cause);
  stop_wanted_ = true;
  // The command has received the signal itself, and knows what to do.
  if (command_ != nullptr && signal_ == 0) command_->stop();
  if (options_.drain_most) scope_->spawn(drain_at_most(*options_.drain_most, term_, scope_->cancellation()));
}

runtime::task<void> LeaderRun::drain_at_most(Duration most, uint64_t term, runtime::Cancellation* cancel) {
  const bool passed = co_await runtime_.sleep(most, cancel);
  if (passed && term == term_ && command_ != nullptr) command_->kill();
}

void LeaderRun::on_term_ended(const election::TermEnded& ended) {
  leads_ = false;
  report_.term_ended(ended);
  if (!ended.work_runs) return;
  lost_ = true;
  if (command_ == nullptr) {
    campaign_.work_stopped();
    return;
  }
  stop_wanted_ = true;
  term_ends_ = std::min(term_ends_, runtime_.boot_now());
  kill_at_ = std::min(kill_at_, ended.stop_by);
  command_->set_deadlines(term_ends_, kill_at_);
  command_->stop();
}

void LeaderRun::on_leader_changed(const LeaderSeen& seen) {
  report_.leader_changed(seen.record, seen.evidence, seen.failover);
  waits_for_ = seen.another_leads.empty() ? "no process leads" : seen.another_leads;
  if (seen.another_leads.empty()) return;
  if (options_.nonblock && !ever_elected_) conflict(seen.another_leads);
  say_waiting();
}

// Once for each leader, and again at growing intervals.
void LeaderRun::say_waiting() {
  if (leads_ || finishing_ || options_.observe) return;
  journal_.news(runtime_.wall_now(), "waiting",
                fmt::format("waiting to lead '{}': {}", printable(options_.key), waits_for_), {{"key", options_.key}});
}

runtime::task<void> LeaderRun::say_waiting_again(runtime::Cancellation* cancel) {
  for (Duration pause = kFirstWait;; pause = std::min(pause * 2, kLongestWait)) {
    const bool passed = co_await runtime_.sleep(pause, cancel);
    if (!passed) co_return;
    say_waiting();
  }
}

void LeaderRun::on_unknown(const std::string& why) {
  if (options_.nonblock && !ever_elected_) conflict(why);
}

void LeaderRun::on_fail_open(bool open, const std::string& why, Epoch floor) { report_.fail_open(open, why, floor); }

// --- the command -----------------------------------------------------------------------------------------------------

runtime::task<void> LeaderRun::work(Epoch epoch) {
  CommandOptions options;
  options.command = options_.command;
  options.environment = report_.environment(epoch);
  options.stop_signal = options_.stop_signal;
  options.lock_fd = campaign_.claim_descriptor();
  options.command_has_lock = !options_.close_lock;
  if (evidence_ != nullptr) evidence_->add_to(options);
  options.term_ends = term_ends_;
  options.kill_at = kill_at_;
  auto created = GuardedCommand::create(runtime_, std::move(options));
  Status started = created ? Status() : tl::unexpected(created.error());
  if (started) {
    command_ = std::move(*created);
    started = co_await command_->start();
  }
  if (!started) {
    journal_.error(runtime_.wall_now(), started.error().message);
    command_.reset();
    finish(started.error().code == Errc::kNotFound ? kExitNotFound : kExitCannotExecute,
           "the command cannot be started");
    campaign_.work_stopped();
    co_return;
  }
  const CommandEnd end = co_await command_->wait_until_gone();
  command_.reset();
  work_is_over(end);
  campaign_.work_stopped();
}

void LeaderRun::work_is_over(const CommandEnd& end) {
  journal_.detail(runtime_.wall_now(), "the command has ended: " + how_it_ended(end));
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
  campaign_.resign(cause);
}

void LeaderRun::conflict(const std::string& why) {
  if (finishing_) return;
  journal_.warn(runtime_.wall_now(), fmt::format("not leading '{}': {}", printable(options_.key), why));
  finish(options_.conflict_exit_code, why);
}

// --- beside it -------------------------------------------------------------------------------------------------------

runtime::task<void> LeaderRun::wait_at_most(Duration most, runtime::Cancellation* cancel) {
  const bool passed = co_await runtime_.sleep(most, cancel);
  if (passed && !ever_elected_) conflict("not elected within " + format_duration(most));
}

runtime::task<void> LeaderRun::listen_to_signals(runtime::Cancellation* cancel) {
  while (true) {
    const int number = co_await signals_->next(cancel);
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
    finish(128 + number, fmt::format("signal {}", number));
  }
}

runtime::task<int> LeaderRun::campaign(runtime::Scope& helpers) {
  if (options_.wait_most) helpers.spawn(wait_at_most(*options_.wait_most, helpers.cancellation()));
  helpers.spawn(say_waiting_again(helpers.cancellation()));
  helpers.spawn(listen_to_signals(helpers.cancellation()));
  helpers.spawn(report_.hooks().run(helpers.cancellation()));
  if (evidence_ != nullptr) {
    evidence_->start(
        helpers, {callback_to<&Campaign::good_evidence>(campaign_), callback_to<&Campaign::bad_evidence>(campaign_)});
  }
  return campaign_.run(helpers);
}

runtime::task<Status> LeaderRun::open() {
  election::Evidence wanted;
  if (EvidenceSources::wanted(options_)) {
    evidence_ = std::make_unique<EvidenceSources>(runtime_, options_);
    evidence_->require(wanted);
  }
  Status opened = co_await campaign_.open(wanted, *this);
  if (opened) report_.set_holder(campaign_.holder());
  co_return opened;
}

runtime::task<int> LeaderRun::run() {
  auto signals = runtime::Signals::collect(runtime_, {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH});
  if (!signals) {
    journal_.error(runtime_.wall_now(), signals.error().message);
    co_return kExitWrong;
  }
  signals_ = std::move(*signals);
  const Status ready = co_await open();
  if (!ready) {
    journal_.error(runtime_.wall_now(), ready.error().message);
    co_return kExitWrong;
  }
  {
    runtime::Scope helpers;
    scope_ = &helpers;
    const int ended = co_await campaign(helpers);
    if (!finishing_) exit_code_ = ended;
    helpers.cancel();
    co_await helpers.join();
    scope_ = nullptr;
  }
  campaign_.close();
  co_return exit_code_;
}

}  // namespace

int run_leader(runtime::EpollRuntime& runtime, const LeadOptions& options, Journal& journal, Campaign& campaign) {
  if (!journal.open_audit(runtime.wall_now(), options.audit_file)) return kExitWrong;
  LeaderRun run(runtime, options, journal, campaign);
  const FiguresPage page = serve_figures(options.metrics_at, {&run.figures()}, runtime.wall_now(), journal);
  if (!page.good) return kExitWrong;
  return runtime.run(run.run());
}

int run_leader(runtime::EpollRuntime& runtime, const LeadOptions& options) {
  Journal journal(options.verbosity, options.json, "lead");
  StoreCampaign campaign(runtime, options, journal);
  return run_leader(runtime, options, journal, campaign);
}

using election::Verdict;
using runtime::task;

// --- events of the candidate -----------------------------------------------------------------------------------------

void StoreCampaign::on_renewed(Instant ends, Duration took) {
  listener_->on_renewed(ends, took);
  if (took > Duration::zero()) store_answered(took);
}

void StoreCampaign::on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) {
  const election::Elector& elector = candidate_->elector();
  const Verdict::Kind kind = elector.verdict().kind;
  const bool free = kind == Verdict::Kind::kFree || kind == Verdict::Kind::kOurs;
  std::string why = free ? std::string() : elector.verdict().why;
  if (kind == Verdict::Kind::kLostData) why = "another process may hold the key";  // a warning with the reason follows
  listener_->on_leader_changed({record, evidence, elector.last_failover(), std::move(why)});
}

void StoreCampaign::on_store_error(bool renewal, const std::string& why) {
  if (renewal) {
    listener_->on_renewal_failed();
    store_failed();
  }
  // One slow answer does not mean that another process leads.
  const bool patient = runtime_.boot_now() - began_ < options_.timing.renew_deadline;
  if (!patient) listener_->on_unknown("the store did not answer: " + why);
}

void StoreCampaign::on_fail_open(bool open, const std::string& why) {
  listener_->on_fail_open(open, why, candidate_->elector().floor());
}

// --- before it begins ------------------------------------------------------------------------------------------------

// Our name, and whether this process takes part in an election at all.
Status StoreCampaign::choose_name() {
  holder_ = options_.holder.empty() ? store::given_instance_id(&store::own_environment) : options_.holder;
  if (!holder_.empty()) return {};
  // Easier to find for people than the name that the profile nip-le asks for.
  holder_ = own_name();
  const bool nip_le = store::is_nip_le(options_.via);
  if (options_.may_mint_id && !nip_le) return {};
  BW_TRY(auto chosen, store::choose_instance_id(&store::own_environment, options_.may_mint_id, nip_le,
                                                runtime_.self().pid, runtime_.wall_now()));
  elects_ = chosen.elects;
  if (elects_) holder_ = chosen.id;
  return {};
}

task<Result<election::ElectorConfig>> StoreCampaign::configure() {
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
    co_return fail(Errc::kInvalid, "--ttl is {}, but {} needs at least {}", format_duration(config.timing.lease),
                   store_->describe(), format_duration(config.traits.lease_min));
  }
  if (options_.keep_epochs && !options_.observe && elects_) {
    BW_CO_TRY(config.floor, co_await recall_epoch(options_.key));
  }
  co_return config;
}

// Without an election each process has a private store, in which no other candidate stands.
task<Status> StoreCampaign::open(const election::Evidence& wanted, Campaign::Listener& listener) {
  listener_ = &listener;
  began_ = runtime_.boot_now();
  for (const std::string& warning : options_.timing.warnings()) journal_.warn(runtime_.wall_now(), warning);
  BW_CO_RETURN_IF_ERROR(choose_name());
  if (!elects_) {
    journal_.warn(runtime_.wall_now(),
                  "this process has no name and may not make one: by the rules of NIP-LE it leads without an election, "
                  "and its epoch does not fence");
  }
  std::string url = elects_ ? options_.via : "memory:";
  BW_CO_RETURN_IF_ERROR(co_await open_key(std::move(url), options_.key));
  if (!options_.observe) {
    BW_CO_RETURN_IF_ERROR(co_await key_->prepare());
  }
  BW_CO_TRY(auto config, co_await configure());
  config.evidence = wanted;
  candidate_ = std::make_unique<Candidate>(runtime_, *key_, std::move(config), runtime_.prng().next(), *this);
  co_return Status();
}

// --- from begin to end -----------------------------------------------------------------------------------------------

task<int> StoreCampaign::run(runtime::Scope& beside) {
  scope_ = &beside;
  co_await candidate_->run(nullptr);
  co_return 0;
}

void StoreCampaign::close() {
  scope_ = nullptr;
  candidate_.reset();
  key_.reset();
  store_.reset();
}

}  // namespace bellwether::lead
