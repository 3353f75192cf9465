// The building blocks of verbs of the command line: the verb itself, shared options, and the event loop. The code that
// the parser of command lines needs for them is compiled once, here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "election/lease_timing.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace bellwether::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNo = 1;       // the answer is no: not there, not held, not done
inline constexpr int kExitUsage = 104;  // wrong command line or scenario, as in k6

// Prints the error in a command line of `bellwether VERB` on stderr, and returns `code`.
int refuse(std::string_view verb, const std::string& text, int code = kExitUsage);

// Belongs to `parent`; its help has a row in help_table.h.
CLI::App* new_verb(CLI::App& parent, std::string name);

// The exit code of a verb. An error is printed first.
inline int answer(std::string_view verb, const Result<int>& done, int code = kExitUsage) {
  return done ? *done : refuse(verb, done.error().message, code);
}

// Gives `act` an event loop and returns its exit code; without an event loop it prints the error and returns `code`.
template <class Act>
int in_runtime(std::string_view verb, const Act& act, int code = kExitUsage) {
  auto runtime = runtime::EpollRuntime::create({});
  return runtime ? act(**runtime) : refuse(verb, runtime.error().message, code);
}

// --- options: what they are put into must outlive the verb -----------------------------------------------------------

// --seed.
void add_seed(CLI::App* verb, uint64_t& into, const std::string& help);

// Spans of time: "15s", "250ms".
enum class Bare : uint8_t {
  kRefused,  // a number without a unit
  kSeconds,  // as in flock(1)
};
void add_duration(CLI::App* verb, const std::string& names, Duration& into, const std::string& help);
void add_duration(CLI::App* verb, const std::string& names, std::optional<Duration>& into, const std::string& help,
                  Bare bare = Bare::kRefused);

// A text of a kind that the help names: "FILE".
CLI::Option* add_text(CLI::App* verb, const std::string& names, std::string& into, const std::string& kind,
                      std::string help);
// One of `choices`; an error names the nearest.
CLI::Option* add_choice(CLI::App* verb, const std::string& names, std::string& into, std::vector<std::string> choices,
                        std::string help);
// Repeatable, with one value each time.
CLI::Option* add_list(CLI::App* verb, const std::string& names, std::vector<std::string>& into, std::string help);
// The same, with a help that names the kind of value once.
void add_more(CLI::App* verb, const std::string& names, std::vector<std::string>& into, std::string help,
              const std::string& kind);

// The outputs of a process that stays: --audit, --metrics, --json, --quiet, --verbose.
struct Telling {
  bool quiet = false;
  int verbose = 0;
  int verbosity() const { return quiet ? 0 : 1 + verbose; }
};
// `metrics`: nullptr: it serves no page.
void add_telling(CLI::App* verb, Telling& telling, std::string& audit, std::string* metrics, bool& json,
                 const char* audited = "transition", const char* told = "decision and its evidence");
// The bounds of a lease that follows its store: --ttl-min and --ttl-max.
struct LeaseBounds {
  std::optional<Duration> least;  // not given: its first length
  std::optional<Duration> most;
};
void add_lease_bounds(CLI::App* verb, LeaseBounds& bounds, const char* help_least, const char* help_most);
// kInvalid, naming the options, when `first` does not lie within them or the shortest lease has no room for its times.
Result<election::AdaptiveSettings> settings_within(const LeaseBounds& bounds, Duration first, Duration usual_most);

// The value of --by, else $USER, else `usual`.
std::string who_asks(const std::string& by, std::string_view usual = "an operator");

// --- the commands: each add_… declares a command and its options; when the user gives it, it runs and leaves the
// process's exit code

void add_run(CLI::App& app, int& exit_code);
void add_agents(CLI::App& app, int& exit_code);
void add_alerts(CLI::App& app, int& exit_code);
void add_build(CLI::App& app, int& exit_code);
void add_budget(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_cluster(CLI::App& app, int& exit_code);
// … of which a part is a cluster on this machine.
void add_local_cluster(CLI::App& cluster, int& exit_code);
void add_cluster_use(CLI::App& cluster, int& exit_code);
void add_config(CLI::App& app, int& exit_code);
void add_context(CLI::App& app, int& exit_code);
// … of which a part is a node.
void add_context_serve(CLI::App& context, int& exit_code);
void add_drill(CLI::App& app, int& exit_code);
void add_import(CLI::App& app, int& exit_code);
void add_job(CLI::App& app, int& exit_code);
void add_keys(CLI::App& app, int& exit_code);
void add_lead(CLI::App& app, int& exit_code);
void add_lease(CLI::App& app, int& exit_code);
void add_loops(CLI::App& app, int& exit_code);
void add_manager(CLI::App& app, int& exit_code);
void add_node(CLI::App& app, int& exit_code);
void add_ctl(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_watch(CLI::App& app, int& exit_code);
void add_worker(CLI::App& app, int& exit_code);
void add_worker_drain(CLI::App& worker, int& exit_code);
void add_assignment(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_results(CLI::App& app, int& exit_code);
void add_results_compare(CLI::App& results, int& exit_code);
void add_sim(CLI::App& app, int& exit_code);
void add_target(CLI::App& app, int& exit_code);

}  // namespace bellwether::cli
