#include "cli/cluster_local.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "cluster/local_cluster/local_cluster.h"
#include "cluster/node/keyring.h"
#include "core/base/printable.h"
#include "core/runtime/scope.h"
#include "core/runtime/signals.h"
#include "election/store/environment.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;
using local_cluster::Sight;
using runtime::task;

constexpr int kExitInterrupted = 105;

struct LocalClusterArguments {
  local_cluster::UpOptions up;
  local_cluster::DownOptions down;
  std::string folder;
  bool no_tls = false;
  std::string trust_keys;
  bool json = false;
};

// Where programs keep what they know between two calls (XDG Base Directory Specification).
std::string usual_folder() {
  const char* state = store::own_environment("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/bellwether/cluster";
  const char* home = store::own_environment("HOME");
  return std::string(home == nullptr || *home == '\0' ? "." : home) + "/.local/state/bellwether/cluster";
}

std::string folder_of(const LocalClusterArguments& given) {
  return given.folder.empty() ? usual_folder() : given.folder;
}

// What is to be said so that the next command finds the same folder.
std::string dir_option(const LocalClusterArguments& given) {
  return given.folder.empty() ? "" : " --dir " + printable(given.folder);
}

// On standard error, so that the answer stands alone.
class LocalClusterProgress final : public local_cluster::Listener {
 public:
  void on_progress(const std::string& text) override { std::fprintf(stderr, "%s\n", printable(text).c_str()); }
};

int complain(const Error& error) {
  std::string text;
  // The lines of a log stay lines.
  for (std::size_t at = 0; at <= error.message.size();) {
    const std::size_t end = std::min(error.message.find('\n', at), error.message.size());
    text += printable(std::string_view(error.message).substr(at, end - at)) + "\n";
    at = end + 1;
  }
  std::fprintf(stderr, "bellwether cluster: %s", text.c_str());
  if (error.code == Errc::kCancelled) return kExitInterrupted;
  return error.code == Errc::kInvalid ? kExitUsage : kExitNo;
}

std::string state_of(const Sight& sight, const std::string& name) {
  for (const local_cluster::MemberSight& member : sight.members) {
    if (member.name == name) return member.state;
  }
  return sight.members.empty() ? "not known" : "no member";
}

std::string sight_text(const Sight& sight) {
  Table table({"NAME", "ROLE", "DATACENTER", "ADDRESS", "HTTP", "PROCESS", "MEMBER", ""});
  for (std::size_t i = 0; i < sight.layout.nodes.size(); ++i) {
    const local_cluster::LocalNode& node = sight.layout.nodes[i];
    table.add({node.name, std::string(to_string(node.role)), node.datacenter, node.address(),
               "http://127.0.0.1:" + std::to_string(node.http_port) + "/",
               sight.runs[i] ? std::to_string(node.process.pid) : "does not run", state_of(sight, node.name),
               sight.leader == node.name ? "leads" : ""});
  }
  return table.text();
}

Json sight_json(const Sight& sight) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i < sight.layout.nodes.size(); ++i) {
    const local_cluster::LocalNode& node = sight.layout.nodes[i];
    nodes.push_back({{"name", node.name},
                     {"role", std::string(to_string(node.role))},
                     {"datacenter", node.datacenter},
                     {"address", node.address()},
                     {"http", "http://127.0.0.1:" + std::to_string(node.http_port) + "/"},
                     {"pid", node.process.pid},
                     {"runs", static_cast<bool>(sight.runs[i])},
                     {"member", state_of(sight, node.name)},
                     {"leads", sight.leader == node.name},
                     {"log", sight.folder + "/" + node.name + ".log"}});
  }
  return {{"dir", sight.folder},           {"config", sight.folder + "/client.yaml"},
          {"tls", sight.layout.shape.tls}, {"well", sight.well()},
          {"leader", sight.leader},        {"trouble", sight.trouble},
          {"nodes", std::move(nodes)}};
}

void print(const Json& json) { std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str()); }

Result<std::string> own_program() {
  std::string path(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return fail_errno(errno, "finding this program");
  path.resize(static_cast<std::size_t>(size));
  return path;
}

Result<std::unique_ptr<runtime::EpollRuntime>> make_runtime() { return runtime::EpollRuntime::create({}); }

// --- up --------------------------------------------------------------------------------------------------------------

task<void> cancel_on_signal(runtime::Signals* signals, runtime::Cancellation* interrupted,
                            runtime::Cancellation* cancel) {
  const int number = co_await signals->next(cancel);
  if (number != 0) interrupted->cancel();
}

task<Result<Sight>> bring_up(runtime::EpollRuntime* runtime, runtime::Signals* signals,
                             local_cluster::UpOptions options, LocalClusterProgress* progress) {
  runtime::Cancellation interrupted;
  runtime::Scope scope;
  scope.spawn(cancel_on_signal(signals, &interrupted, scope.cancellation()));
  auto sight = co_await local_cluster::bring_up(*runtime, std::move(options), *progress, &interrupted);
  scope.cancel();
  co_await scope.join();
  co_return sight;
}

int up(LocalClusterArguments& given) {
  auto runtime = make_runtime();
  if (!runtime) return complain(runtime.error());
  // Before there is a node: what arrives from here on takes all of them down again.
  auto signals = runtime::Signals::collect(**runtime, {SIGINT, SIGTERM, SIGHUP});
  if (!signals) return complain(signals.error());
  auto program = own_program();
  if (!program) return complain(program.error());
  given.up.folder = folder_of(given);
  given.up.program = std::move(*program);
  if (given.no_tls) given.up.shape.tls = false;
  if (!given.trust_keys.empty()) {
    // Before there is a folder that says so.
    const auto keys = node::read_keyring(given.trust_keys);
    if (!keys) return complain(keys.error());
    given.up.shape.trust_keys = std::filesystem::absolute(given.trust_keys).lexically_normal().string();
  }
  LocalClusterProgress progress;
  const auto sight = (*runtime)->run(bring_up(runtime->get(), signals->get(), given.up, &progress));
  if (!sight) return complain(sight.error());
  if (given.json) {
    print(sight_json(*sight));
    return kExitOk;
  }
  std::fputs(sight_text(*sight).c_str(), stdout);
  const std::string folder = printable(sight->folder);
  std::printf(
      "\n%s run, %s leads. They go on when this command has ended.\n"
      "  look at it:  bellwether cluster status%s\n"
      "  operate it:  bellwether cluster members --config %s/client.yaml\n"
      "  its words:   %s/*.log\n"
      "  end it:      bellwether cluster down%s\n",
      to_string(sight->layout.shape).c_str(), printable(sight->leader).c_str(), dir_option(given).c_str(),
      folder.c_str(), folder.c_str(), dir_option(given).c_str());
  return kExitOk;
}

// --- down, local_status
// ----------------------------------------------------------------------------------------------------

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

int down(LocalClusterArguments& given) {
  auto runtime = make_runtime();
  if (!runtime) return complain(runtime.error());
  given.down.folder = folder_of(given);
  LocalClusterProgress progress;
  const auto ended = (*runtime)->run(local_cluster::bring_down(**runtime, given.down, progress));
  if (!ended) return complain(ended.error());
  if (given.json) {
    print({{"dir", ended->folder}, {"stopped", ended->stopped}, {"killed", ended->killed}, {"purged", ended->purged}});
    return kExitOk;
  }
  if (ended->stopped.empty() && ended->killed.empty()) std::printf("no node of it ran\n");
  if (!ended->stopped.empty()) std::printf("ended: %s\n", listed(ended->stopped).c_str());
  if (!ended->killed.empty()) std::printf("killed, because they did not end: %s\n", listed(ended->killed).c_str());
  const std::string folder = printable(ended->folder);
  if (ended->purged) {
    std::printf("removed %s\n", folder.c_str());
  } else if (given.down.purge) {
    std::printf("%s stays: something else is in it\n", folder.c_str());
  } else {
    std::printf("%s stays; `bellwether cluster up%s` goes on with it\n", folder.c_str(), dir_option(given).c_str());
  }
  return kExitOk;
}

int local_status(const LocalClusterArguments& given) {
  auto runtime = make_runtime();
  if (!runtime) return complain(runtime.error());
  const auto sight = (*runtime)->run(local_cluster::look_at(**runtime, folder_of(given)));
  if (!sight) return complain(sight.error());
  if (given.json) {
    print(sight_json(*sight));
  } else {
    std::fputs(sight_text(*sight).c_str(), stdout);
    if (sight->leader.empty()) std::printf("nobody is known to lead\n");
    if (!sight->trouble.empty()) std::printf("%s\n", printable(sight->trouble).c_str());
  }
  return sight->well() ? kExitOk : kExitNo;
}

void add_folder(CLI::App* command, LocalClusterArguments& given) {
  command->add_option("--dir", given.folder, "The cluster's folder (default ~/.local/state/bellwether/cluster)")
      ->type_name("DIR");
  command->add_flag("--json", given.json, "As JSON");
}

}  // namespace

void add_local_cluster(CLI::App& cluster, int& exit_code) {
  auto given = std::make_shared<LocalClusterArguments>();
  CLI::App* start = new_verb(cluster, "up", "Start a whole cluster on this machine, with secrets and certificates");
  add_folder(start, *given);
  local_cluster::WantedShape& shape = given->up.shape;
  start->add_option("--managers", shape.managers, "Managers, all of which vote (default 3)")->type_name("N");
  start->add_option("--workers", shape.workers, "Workers (default 2)")->type_name("N");
  start->add_option("--cores-per-worker", shape.cores, "Cores that each worker may use (default: all)")->type_name("N");
  start->add_option("--datacenters", shape.datacenters, "Spread them over so many names of datacenters (default 1)")
      ->type_name("N");
  start->add_option("--base-port", given->up.base_port, "The first of two ports a node (default: any that are free)")
      ->type_name("PORT");
  start->add_flag("--no-tls", given->no_tls, "Without certificates: a role is what any holder of the secret says");
  start
      ->add_option("--trust-keys", given->trust_keys,
                   "Public keys, of a file or a folder: workers run C++ that they have signed (default: none)")
      ->type_name("PATH");
  add_duration(start, "--timeout", given->up.limit, "Give up when it is not complete by then (default 60s)");
  start->footer(
      "What runs already is left alone, what does not is started, with its data. Ctrl-C while it waits ends what it\n"
      "has started.\n\n"
      "Examples:\n"
      "  bellwether cluster up\n"
      "  bellwether cluster up --managers 5 --workers 4 --dir /tmp/flock\n\n"
      "Exit codes: 0 it runs and has a leader, 1 it runs already, or could not be started, 104 wrong command line,\n"
      "  settings or folder, 105 interrupted.");
  start->callback([given, &exit_code] { exit_code = up(*given); });

  CLI::App* end = new_verb(cluster, "down", "End the cluster on this machine");
  add_folder(end, *given);
  end->add_flag("--purge", given->down.purge, "Remove its folder too, with all data");
  add_duration(end, "--timeout", given->down.limit, "Kill what has not ended by then (default 20s)");
  end->footer("Exit codes: 0 nothing of it runs any more, 1 there is no such cluster, or it does not end.");
  end->callback([given, &exit_code] { exit_code = down(*given); });

  CLI::App* look = new_verb(cluster, "status", "The cluster on this machine: processes, members, leader");
  add_folder(look, *given);
  look->footer("Exit codes: 0 all its nodes run, are members, and one leads; 1 not so, or there is no such cluster.");
  look->callback([given, &exit_code] { exit_code = local_status(*given); });
}

}  // namespace bellwether::cli
