#include "lead/drill/drill.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>

#include "core/base/enum_names.h"
#include "core/base/units.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/processes.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "lead/drill/candidates.h"
#include "lead/policy/policy.h"

namespace bellwether::lead {
namespace {

// Load beside a drill, by `bellwether run` of a scenario: from the first round to the last.
class OwnLoad {
 public:
  // `folder`: where its result file goes. `runtime` must outlive it.
  OwnLoad(runtime::Runtime& runtime, std::string scenario, std::string folder)
      : runtime_(runtime), scenario_(std::move(scenario)), result_(std::move(folder) + "/load.json") {}

  runtime::task<Status> start();
  // Ends the load in good order, and returns its results. An error is in there.
  runtime::task<DrillLoad> stop();

 private:
  runtime::Runtime& runtime_;
  std::string scenario_;
  std::string result_;
  std::unique_ptr<runtime::Child> process_;
};

constexpr Duration kMaxEnd = Duration::seconds(40);  // a run ends its iterations in good order

DrillLoad read_result(const std::string& path) {
  DrillLoad load;
  std::ifstream file(path);
  const auto result = nlohmann::json::parse(file, nullptr, false);
  if (!result.is_object() || !result.contains("totals")) {
    load.error = "the load left no result";
    return load;
  }
  load.requests = result["totals"].value("requests", uint64_t{0});
  load.failed = result["totals"].value("failed", uint64_t{0});
  return load;
}

runtime::task<Status> OwnLoad::start() {
  runtime::SpawnOptions spawn;
  // The shell joins the two outputs: one has the reason if a load does not run, the other has the rest.
  const std::string us = fmt::format("/proc/{}/exe", runtime_.self().pid);
  spawn.argv = {"/bin/sh", "-c",    R"(exec "$0" "$@" 2>&1)", us, "run", scenario_, "--ui",
                "none",    "--out", "json=" + result_};
  spawn.group = runtime::SpawnOptions::Group::kOwnGroup;
  spawn.no_input = true;
  spawn.capture = 64 * 1024;  // standard output is that of the report
  spawn.die_with_us = true;
  BW_CO_TRY(process_, co_await runtime_.spawn(std::move(spawn)));
  co_return Status();
}

runtime::task<DrillLoad> OwnLoad::stop() {
  DrillLoad load;
  if (process_ == nullptr) co_return load;
  // A load that has ended already, because it was short or could not run, has left its result or a reason.
  [[maybe_unused]] const Status asked = process_->signal(SIGINT);
  const auto end = co_await process_->wait(runtime_.read_clock() + kMaxEnd, nullptr);
  const std::string words = last_lines(process_->output());
  process_.reset();
  if (!end) {
    load.error = "the load does not end" + words;
    co_return load;
  }
  load = read_result(result_);
  if (!load.error.empty()) load.error += words;
  co_return load;
}

constexpr Duration kLookAtActs = Duration::millis(5);  // between looks at the acts
constexpr Duration kFresh = Duration::millis(60);      // an act not older than this: its holder is at work
constexpr Duration kLookAtKey = Duration::millis(25);

class Drill {
 public:
  Drill(runtime::EpollRuntime& runtime, const DrillOptions& options) : runtime_(runtime), options_(options) {}
  runtime::task<DrillReport> run();

 private:
  runtime::task<void> listen_to_signals(runtime::Cancellation* cancel);
  runtime::task<void> rounds(runtime::Cancellation* cancel);
  runtime::task<bool> round(runtime::Cancellation* cancel);
  runtime::task<const Reign*> leader_at_work(runtime::Cancellation* cancel);
  runtime::task<void> successor(DrillRound& round, Instant fault, runtime::Cancellation* cancel);
  runtime::task<Status> begin();
  runtime::task<void> end();
  runtime::task<void> observe();
  runtime::task<std::string> trouble_of_store();
  void read_acts();
  void judge();
  bool at_work(const Reign& reign) const;
  Duration look_every() const { return options_.attach ? kLookAtKey : kLookAtActs; }
  Duration patience() const { return report_.worst_budget * 3 + Duration::seconds(10); }
  void progress(const std::string& text) const {
    if (!options_.quiet) std::fprintf(stderr, "drill: %s\n", text.c_str());
  }

  runtime::EpollRuntime& runtime_;
  const DrillOptions& options_;
  DrillReport report_;
  std::unique_ptr<runtime::Signals> signals_;
  std::string folder_;
  std::unique_ptr<DrillTargets> targets_;
  std::unique_ptr<KeyWatch> key_;  // attached only
  std::unique_ptr<OwnLoad> load_;
  runtime::Cancellation over_;
  ActLog acts_;
  ActLog shown_;  // attached: the state of the key
  // The log that measures takeovers.
  ActLog& log_ = options_.attach ? shown_ : acts_;
  int acts_fd_ = -1;
};

void Drill::read_acts() {
  if (targets_->act_file().empty()) return;
  if (acts_fd_ < 0) acts_fd_ = ::open(targets_->act_file().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  std::array<char, 16 * 1024> buffer{};
  while (acts_fd_ >= 0) {
    const ssize_t size = ::read(acts_fd_, buffer.data(), buffer.size());
    if (size <= 0) return;
    acts_.feed({buffer.data(), static_cast<std::size_t>(size)});
  }
}

runtime::task<void> Drill::observe() {
  read_acts();
  // A store that does not answer for a while may be a part of the drill.
  if (key_ != nullptr) static_cast<void>(co_await key_->look(shown_, options_.loop.lock_ttl));
}

// A holder with a lease that may still run is at work.
bool Drill::at_work(const Reign& reign) const {
  const Duration age = runtime_.boot_now() - reign.last;
  return options_.attach ? key_->held() && age < options_.loop.lock_ttl : age < kFresh;
}

runtime::task<void> Drill::listen_to_signals(runtime::Cancellation* cancel) {
  const int number = co_await signals_->next(cancel);
  if (number == 0) co_return;
  report_.interrupted = true;
  progress(fmt::format("signal {}: ending", number));
  over_.cancel();
}

// The holder that acts now; null when the key has no acting holder for too long.
runtime::task<const Reign*> Drill::leader_at_work(runtime::Cancellation* cancel) {
  const Instant until = runtime_.read_clock() + patience();
  while (runtime_.read_clock() < until) {
    co_await observe();
    const Reign* last = log_.last();
    if (last != nullptr && at_work(*last)) co_return last;
    const bool rested = co_await runtime_.sleep(look_every(), cancel);
    if (!rested) co_return nullptr;
  }
  co_return nullptr;
}

runtime::task<void> Drill::successor(DrillRound& round, Instant fault, runtime::Cancellation* cancel) {
  const Instant until = runtime_.read_clock() + patience();
  while (runtime_.read_clock() < until) {
    const bool rested = co_await runtime_.sleep(look_every(), cancel);
    co_await observe();
    const auto& reigns = log_.reigns();
    const auto next = std::find_if(reigns.begin(), reigns.end(), [&](const Reign& reign) {
      // A process that was started again under its old name is a new one.
      const bool other = options_.attach || reign.holder != round.old_holder;
      return reign.epoch > round.old_epoch && other && reign.first > fault;
    });
    if (next != reigns.end()) {
      const auto old = std::find_if(reigns.begin(), reigns.end(),
                                    [&](const Reign& reign) { return reign.epoch == round.old_epoch; });
      round.new_holder = next->holder;
      round.new_epoch = next->epoch;
      round.taken_over = true;
      round.from_fault = next->first - fault;
      round.idle = next->first - old->last;
      co_return;
    }
    if (!rested) break;
  }
  round.from_fault = runtime_.boot_now() - fault;
}

// What the store has to do with it that nobody leads.
runtime::task<std::string> Drill::trouble_of_store() {
  ActLog unused;
  auto watch = co_await KeyWatch::open(runtime_, options_.loop.store, options_.loop.lock_key);
  const Status seen = watch ? co_await (*watch)->look(unused, Duration::seconds(5)) : tl::unexpected(watch.error());
  co_return seen ? std::string() : fmt::format("; {} does not answer: {}", options_.loop.store, seen.error().message);
}

// False when the drill cannot go on.
runtime::task<bool> Drill::round(runtime::Cancellation* cancel) {
  const Reign* leader = co_await leader_at_work(cancel);
  // The fault shall come at any time between two renewals.
  const Duration wait = runtime_.prng().between(Duration::zero(), options_.loop.poll_interval);
  if (leader != nullptr) {
    co_await runtime_.sleep(wait, cancel);
    leader = co_await leader_at_work(cancel);
  }
  if (leader == nullptr) {
    const bool killed = options_.attach && options_.fault == DrillFault::kKill && !report_.rounds.empty();
    const std::string why =
        killed ? fmt::format("; {} of its processes are killed: start them again, or give fewer --rounds",
                             report_.rounds.size())
               : "";
    if (report_.interrupted) co_return false;
    const std::string trouble = co_await trouble_of_store();
    report_.error = "the loop has no leader after " + format_duration(patience()) + trouble + why;
    co_return false;
  }
  DrillRound round;
  round.old_holder = leader->holder;
  round.old_epoch = leader->epoch;
  const Instant fault = runtime_.boot_now();
  const Status broken = co_await targets_->break_one(round.old_holder, round.old_epoch);
  if (!broken) {
    report_.error = broken.error().message;
    co_return false;
  }
  co_await successor(round, fault, cancel);
  if (!round.taken_over && report_.interrupted) co_return false;
  report_.rounds.push_back(round);
  progress(fmt::format("round {} of {}: {} {}{}{}", report_.rounds.size(), options_.rounds, to_string(options_.fault),
                       round.old_holder,
                       round.taken_over ? fmt::format(", {} acts after ", round.new_holder) : ", no takeover for ",
                       format_duration(Duration::millis(round.from_fault.ms()))));
  const Status repaired = co_await targets_->repair();
  if (!repaired) report_.error = repaired.error().message;
  // A new candidate has to see the lock first, to take part in the next round.
  const bool rested = co_await runtime_.sleep(options_.loop.poll_interval + Duration::millis(500), cancel);
  co_return repaired&& rested;
}

runtime::task<void> Drill::rounds(runtime::Cancellation* cancel) {
  const Status begun = co_await begin();
  if (!begun) {
    report_.error = begun.error().message;
    co_return;
  }
  const std::string who =
      options_.attach ? "the running processes of " : fmt::format("{} candidates of ", options_.candidates);
  progress(fmt::format("{}{}, TTL {}, poll {}; a takeover may take {}", who, options_.loop.name,
                       format_duration(options_.loop.lock_ttl), format_duration(options_.loop.poll_interval),
                       format_duration(report_.limit)));
  while (report_.rounds.size() < options_.rounds) {
    const bool more = co_await round(cancel);
    if (!more) co_return;
  }
}

runtime::task<Status> Drill::begin() {
  if (options_.attach) {
    targets_ = std::make_unique<Attached>(runtime_, options_);
    BW_CO_TRY(key_, co_await KeyWatch::open(runtime_, options_.loop.store, options_.loop.lock_key));
  } else {
    targets_ = std::make_unique<Candidates>(runtime_, options_, folder_);
  }
  Status started = co_await targets_->start();
  if (!started || options_.scenario.empty()) co_return started;
  load_ = std::make_unique<OwnLoad>(runtime_, options_.scenario, folder_);
  started = co_await load_->start();
  co_return started;
}

runtime::task<void> Drill::end() {
  if (targets_ != nullptr) co_await targets_->stop();
  if (load_ == nullptr) co_return;
  report_.load = co_await load_->stop();
  if (report_.error.empty()) report_.error = report_.load->error;
}

void Drill::judge() {
  if (targets_ == nullptr) return;
  read_acts();
  report_.acts_known = !targets_->act_file().empty();
  report_.acts = report_.acts_known ? acts_.acts() : shown_.acts();
  report_.overlaps = acts_.overlaps() + shown_.overlaps();
  for (const DrillRound& round : report_.rounds) {
    if (round.taken_over && round.new_epoch <= round.old_epoch) report_.epochs_grew = false;
  }
}

runtime::task<DrillReport> Drill::run() {
  const LoopBudget budget = budget_of_loop(options_.loop, options_.operation);
  const bool hangs = options_.fault != DrillFault::kKill && budget.budget.hang_worst;
  const election::Sum& worst = hangs ? *budget.budget.hang_worst : budget.budget.crash_worst;
  report_.worst_budget = worst.total;
  report_.arithmetic = fmt::format("{} = {}", worst.formula(), worst.arithmetic());
  report_.slo = options_.loop.takeover_slo;
  report_.limit = report_.slo.value_or(report_.worst_budget);
  auto signals = runtime::Signals::collect(runtime_, {SIGINT, SIGTERM, SIGHUP});
  folder_ = "/tmp/bellwether-drill-" + std::string(6, 'X');  // to be filled in
  if (!signals || ::mkdtemp(folder_.data()) == nullptr) {
    report_.error = signals ? "cannot create a folder under /tmp" : signals.error().message;
    co_return report_;
  }
  signals_ = std::move(*signals);
  {
    runtime::Scope scope;
    scope.spawn(listen_to_signals(scope.cancellation()));
    co_await rounds(&over_);
    co_await end();
    scope.cancel();
    co_await scope.join();
  }
  judge();
  if (acts_fd_ >= 0) ::close(acts_fd_);
  runtime::SpawnOptions clean;
  clean.argv = {"/bin/rm", "-rf", folder_};
  auto cleaning = co_await runtime_.spawn(std::move(clean));
  if (cleaning) {
    [[maybe_unused]] const auto ended = co_await (*cleaning)->wait(Instant::never(), nullptr);
  }
  co_return report_;
}

}  // namespace

const char* to_string(DrillFault fault) { return EnumNames<DrillFault>("kill", "pause", "cut", "command")[fault]; }

bool DrillReport::within() const {
  return std::all_of(rounds.begin(), rounds.end(),
                     [&](const DrillRound& round) { return round.taken_over && round.from_fault <= limit; });
}

DrillReport run_drill(runtime::EpollRuntime& runtime, const DrillOptions& options) {
  Drill drill(runtime, options);
  return runtime.run(drill.run());
}

}  // namespace bellwether::lead
