#include "lead/loops/loop_host.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/base/units.h"
#include "core/journal/journal.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"
#include "election/store/lease_store.h"
#include "lead/loops/leader_loop.h"
#include "lead/metrics/lease_figures.h"
#include "lead/run/candidate_host.h"
#include "lead/run/guarded_command.h"

namespace bellwether::lead {
namespace {

// A tick that is a command: it runs under a guardian (lead/run/guardian.h), which ends it in time even if this process
// fails. It sees BELLWETHER_LOOP, BELLWETHER_KEY, BELLWETHER_HOLDER and BELLWETHER_EPOCH, the fence of all its changes,
// and may write lines to the descriptor BELLWETHER_REPORT_FD: "stale_jobs N" (work that is overdue now) and
// "orphan_replayed N" (more work that was begun again).
class CommandTick {
 public:
  // All must outlive it. `command`: for /bin/sh -c.
  CommandTick(runtime::Runtime& runtime, store::StoreKey& key, std::string loop, std::string command,
              LeaseFigures& figures);
  CommandTick(const CommandTick&) = delete;
  CommandTick& operator=(const CommandTick&) = delete;
  ~CommandTick();

  // Fails with the command's exit code or signal.
  runtime::task<Status> tick(election::TermOfOffice term, Instant kill_at, runtime::Cancellation* cancel);
  void set_deadlines(Instant term_ends, Instant kill_at) { commands_.set_deadlines(term_ends, kill_at); }

 private:
  CommandOptions options_for(const election::TermOfOffice& term) const;
  void take_report();

  store::StoreKey& key_;
  std::string loop_;
  std::string command_text_;
  LeaseFigures& figures_;
  TermCommands commands_;
  int report_read_ = -1;
  int report_write_ = -1;
};

CommandTick::CommandTick(runtime::Runtime& runtime, store::StoreKey& key, std::string loop, std::string command,
                         LeaseFigures& figures)
    : key_(key), loop_(std::move(loop)), command_text_(std::move(command)), figures_(figures), commands_(runtime) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  report_read_ = ends[0];
  report_write_ = ends[1];
}

CommandTick::~CommandTick() {
  for (const int fd : {report_read_, report_write_}) {
    if (fd >= 0) ::close(fd);
  }
}

CommandOptions CommandTick::options_for(const election::TermOfOffice& term) const {
  CommandOptions options;
  options.command = {"/bin/sh", "-c", command_text_};
  options.environment = {{"BELLWETHER_LOOP", loop_},
                         {"BELLWETHER_KEY", term.key},
                         {"BELLWETHER_HOLDER", term.holder},
                         {"BELLWETHER_EPOCH", std::to_string(term.epoch.value())}};
  options.lock_fd = key_.claim_descriptor();
  if (report_write_ >= 0) {
    options.more_open.push_back(report_write_);
    options.environment.emplace_back("BELLWETHER_REPORT_FD", std::to_string(report_write_));
  }
  return options;
}

runtime::task<Status> CommandTick::tick(election::TermOfOffice term, Instant kill_at, runtime::Cancellation* cancel) {
  commands_.set_deadlines(term.end->ends_at(), kill_at);
  BW_CO_TRY(const auto end, co_await commands_.run(options_for(term), cancel));
  take_report();
  if (end.signal != 0) co_return fail(Errc::kCancelled, "ended by signal {}", end.signal);
  if (end.exit_code != 0) co_return fail(Errc::kInvalid, "exit code {}", end.exit_code);
  co_return Status();
}

void CommandTick::take_report() {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t size = report_read_ < 0 ? -1 : ::read(report_read_, buffer.data(), buffer.size());
    if (size <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const auto space = line.find(' ');
    const auto count = space == std::string_view::npos ? std::nullopt : parse_u64(line.substr(space + 1));
    if (!count) continue;
    if (line.substr(0, space) == "stale_jobs") figures_.stale_jobs(*count);
    if (line.substr(0, space) == "orphan_replayed") figures_.orphans_replayed(*count);
  }
}

// One loop with all its parts.
class Hosted final : public LoopListener {
 public:
  Hosted(runtime::EpollRuntime& runtime, const LoopHostOptions::Loop& loop, Journal& journal)
      : figures(loop.policy.lock_key, loop.policy.name), runtime_(runtime), wanted_(loop), journal_(journal) {}

  runtime::task<Status> prepare(store::LeaseStore& store, const LoopHostOptions& options, const std::string& holder);
  runtime::task<void> run(runtime::Scope& scope) {
    scope_ = &scope;
    co_await loop_->run(nullptr);
  }
  void stop(const std::string& cause) { loop_->stop(cause); }

  void on_elected(const election::TermOfOffice& term) override {
    figures.elected(term, runtime_.boot_now());
    tell("elected", fmt::format("leads, epoch {}", term.epoch.value()), term.epoch);
  }
  void on_renewed(Instant, Duration took) override { figures.renewed(runtime_.boot_now(), took); }
  void on_deadlines_moved(Instant term_ends, Instant kill_at) override { tick_->set_deadlines(term_ends, kill_at); }
  void on_term_ended(const election::TermEnded& ended) override {
    figures.term_ended();
    const bool resigned = ended.reason == election::EndReason::kResigned;
    tell(resigned ? "resigned" : "deposed",
         resigned ? "releases its lock" : fmt::format("lost its lock ({}): {}", to_string(ended.reason), ended.why),
         ended.epoch);
  }
  void on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) override {
    figures.leader_changed(record, loop_->last_failover());
    detail(record.held() ? "is held by " + record.holder : "has no holder: " + evidence);
  }
  void on_store_error(bool renewal, const std::string& why) override {
    if (renewal) figures.renewal_failed();
    detail("store: " + why);
  }
  void on_floor(election::Epoch floor) override {
    if (memory_ != nullptr && scope_ != nullptr) scope_->spawn(keep(floor));
  }
  void on_note(bool warning, const std::string& text) override {
    if (warning) {
      journal_.warn(runtime_.wall_now(), named(text));
    } else {
      detail(text);
    }
  }
  void on_lock_wait(Duration took) override { figures.lock_waited(took); }
  void on_tick_ended(election::Epoch, const Status& how, Duration took) override {
    figures.tick_ended(how.has_value());
    if (how) {
      detail("tick done in " + format_duration(took));
    } else {
      journal_.warn(runtime_.wall_now(), named("tick failed: " + how.error().message));
    }
  }

  LeaseFigures figures;

 private:
  runtime::task<void> keep(election::Epoch floor);
  std::string named(const std::string& text) const { return fmt::format("loop {}: {}", wanted_.policy.name, text); }
  void detail(const std::string& text) { journal_.detail(runtime_.wall_now(), named(text)); }
  void tell(std::string_view event, const std::string& text, election::Epoch epoch) {
    journal_.transition(runtime_.wall_now(), event, named(text),
                        {{"loop", wanted_.policy.name},
                         {"key", wanted_.policy.lock_key},
                         {"holder", loop_->settings().holder},
                         {"epoch", std::to_string(epoch.value())}});
  }

  runtime::EpollRuntime& runtime_;
  const LoopHostOptions::Loop& wanted_;
  Journal& journal_;
  std::unique_ptr<store::StoreKey> key_;
  std::unique_ptr<EpochMemory> memory_;
  std::unique_ptr<CommandTick> tick_;
  std::unique_ptr<LeaderLoop> loop_;
  runtime::Scope* scope_ = nullptr;
};

runtime::task<Status> Hosted::prepare(store::LeaseStore& store, const LoopHostOptions& options,
                                      const std::string& holder) {
  BW_CO_TRY(key_, store.open(wanted_.policy.lock_key));
  BW_CO_RETURN_IF_ERROR(co_await key_->prepare());
  LoopSettings settings;
  settings.policy = wanted_.policy;
  settings.traits = store.traits();
  settings.holder = holder;
  settings.trust_empty = options.trust_empty;
  BW_CO_TRY(auto timing, timing_of(wanted_.policy, settings.traits.lease_min));
  for (const std::string& warning : timing.warnings) journal_.warn(runtime_.wall_now(), warning);
  settings.timing = std::move(timing);
  const std::string folder = options.keep_epochs ? default_epoch_folder() : std::string();
  if (!folder.empty()) {
    memory_ = std::make_unique<EpochMemory>(runtime_, folder, store.describe(), wanted_.policy.lock_key);
    BW_CO_TRY(settings.floor, co_await memory_->load());
  }
  tick_ = std::make_unique<CommandTick>(runtime_, *key_, wanted_.policy.name, wanted_.command, figures);
  const uint64_t seed = runtime_.prng().next();
  loop_ = std::make_unique<LeaderLoop>(runtime_, *key_, std::move(settings), seed,
                                       callback_to<&CommandTick::tick>(*tick_), *this);
  co_return Status();
}

runtime::task<void> Hosted::keep(election::Epoch floor) {
  const auto kept = co_await memory_->save(floor);
  if (!kept) journal_.warn(runtime_.wall_now(), named("the epoch could not be stored: " + kept.error().message));
}

class LoopHost {
 public:
  LoopHost(runtime::EpollRuntime& runtime, const LoopHostOptions& options, Journal& journal)
      : runtime_(runtime), options_(options), journal_(journal) {}

  runtime::task<int> run();

 private:
  runtime::task<Status> prepare();
  runtime::task<void> listen_to_signals(runtime::Cancellation* cancel);

  runtime::EpollRuntime& runtime_;
  const LoopHostOptions& options_;
  Journal& journal_;
  std::map<std::string, std::unique_ptr<store::LeaseStore>> stores_;  // by URL
  std::vector<std::unique_ptr<Hosted>> loops_;
  std::unique_ptr<runtime::Signals> signals_;
};

runtime::task<Status> LoopHost::prepare() {
  const runtime::ProcessIdentity self = runtime_.self();
  const std::string holder = options_.holder.empty() ? fmt::format("{}:{}", self.host, self.pid) : options_.holder;
  for (const LoopHostOptions::Loop& loop : options_.loops) {
    std::unique_ptr<store::LeaseStore>& store = stores_[loop.policy.store];
    if (store == nullptr) {
      BW_CO_TRY(store, co_await store::open_store(runtime_, loop.policy.store));
    }
    loops_.push_back(std::make_unique<Hosted>(runtime_, loop, journal_));
    BW_CO_RETURN_IF_ERROR(co_await loops_.back()->prepare(*store, options_, holder));
  }
  co_return Status();
}

runtime::task<void> LoopHost::listen_to_signals(runtime::Cancellation* cancel) {
  const int number = co_await signals_->next(cancel);
  if (number == 0) co_return;
  journal_.detail(runtime_.wall_now(), fmt::format("signal {}: releasing all locks", number));
  for (const auto& loop : loops_) loop->stop(fmt::format("signal {}", number));
}

runtime::task<int> LoopHost::run() {
  auto signals = runtime::Signals::collect(runtime_, {SIGINT, SIGTERM, SIGHUP});
  if (!signals) {
    journal_.error(runtime_.wall_now(), signals.error().message);
    co_return kExitWrong;
  }
  signals_ = std::move(*signals);
  const Status ready = co_await prepare();
  if (!ready) {
    journal_.error(runtime_.wall_now(), ready.error().message);
    co_return kExitWrong;
  }
  std::vector<const LeaseFigures*> figures;
  for (const auto& loop : loops_) figures.push_back(&loop->figures);
  const FiguresPage page = serve_figures(options_.metrics_at, std::move(figures), runtime_.wall_now(), journal_);
  if (!page.good) co_return kExitWrong;
  if (page.server) {
    journal_.detail(runtime_.wall_now(), fmt::format("metrics at http://{}/metrics", page.server->where()));
  }
  runtime::Scope helpers;
  {
    runtime::Scope loops;
    helpers.spawn(listen_to_signals(helpers.cancellation()));
    for (const auto& loop : loops_) loops.spawn(loop->run(helpers));
    co_await loops.join();
  }
  helpers.cancel();
  co_await helpers.join();
  co_return 0;
}

}  // namespace

int run_loops(runtime::EpollRuntime& runtime, const LoopHostOptions& options) {
  Journal journal(options.verbosity, options.json, "loops run");
  if (!journal.open_audit(runtime.wall_now(), options.audit_file)) return kExitWrong;
  LoopHost host(runtime, options, journal);
  return runtime.run(host.run());
}

}  // namespace bellwether::lead
