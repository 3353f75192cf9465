// bellwether cluster up, down, status: a whole cluster of processes on this machine.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "cli/cluster/job_session.h"
#include "cli/cluster_choice.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "cluster/local_cluster/folder.h"
#include "cluster/local_cluster/local_cluster.h"
#include "cluster/node/secrets.h"
#include "core/base/encoding.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"

namespace bellwether::cli {
namespace {

using local_cluster::Sight;
using runtime::task;

constexpr int kExitInterrupted = 105;

struct LocalClusterArguments {
  local_cluster::UpOptions up;
  local_cluster::DownOptions down;
  std::string cluster;
  bool no_tls = false;
  std::string trust_keys;
  bool json = false;
};

// The folder that --cluster or the next source names. kInvalid: it names a file.
Result<NamedCluster> local_cluster_of(const LocalClusterArguments& given, const KnownClusters& known) {
  BW_TRY(auto cluster, known.choose(given.cluster));
  std::error_code code;
  if (!std::filesystem::is_regular_file(cluster.path, code)) return cluster;
  return fail(
      Errc::kInvalid,
      fmt::format("{} names the settings of a cluster in '{}', and this command works with a local cluster: say "
                  "--cluster {}, or name a folder",
                  cluster.source, cluster.path, kLocalCluster));
}

// Gives a cluster in a folder of its own the name of that folder, unless this is no name, or that of another cluster.
void remember_folder(NamedCluster& cluster, KnownClusters& known) {
  if (cluster.name != cluster.path) return;
  const std::string name = std::filesystem::path(cluster.path).filename().string();
  if (known.remember(name, cluster.path) && known.write()) cluster.name = name;
}

// On standard error, so that the answer stands alone.
constexpr auto kTellProgress = [](const std::string& text) { std::fprintf(stderr, "%s\n", printable(text).c_str()); };

// The result, as the exit code of the process.
int told_local(const Result<int>& done) {
  if (done) return *done;
  const Error& error = done.error();
  std::string text;
  std::istringstream lines(error.message);  // those of a log stay lines
  for (std::string one; std::getline(lines, one);) text += (text.empty() ? "" : "\n") + printable(one);
  refuse("cluster", text);
  if (error.code == Errc::kCancelled) return kExitInterrupted;
  return error.code == Errc::kInvalid ? kExitUsage : kExitNo;
}

std::string state_of(const Sight& sight, const std::string& name) {
  for (const local_cluster::MemberSight& member : sight.members) {
    if (member.name == name) return member.state;
  }
  return sight.members.empty() ? "not known" : "no member";
}

Fields node_fields(const Sight& sight, const local_cluster::LocalNode& node, bool runs) {
  const bool leads = sight.leader == node.name;
  return {{"NAME", "name", node.name},
          {"ROLE", "role", to_string(node.role)},
          {"DATACENTER", "datacenter", node.datacenter},
          {"ADDRESS", "address", node.address()},
          {"HTTP", "http", fmt::format("http://127.0.0.1:{}/", node.http_port)},
          {"PROCESS", "pid", node.process.pid, runs ? std::to_string(node.process.pid) : "does not run"},
          told("runs", runs),
          {"MEMBER", "member", state_of(sight, node.name)},
          {"", "leads", leads, leads ? "leads" : ""},
          told("log", fmt::format("{}/{}.log", sight.folder, node.name))};
}

// The nodes, and for programs all known facts about them.
void print_sight(const Sight& sight, bool json) {
  std::vector<Fields> nodes;
  for (std::size_t i = 0; i < sight.layout.nodes.size(); ++i) {
    nodes.push_back(node_fields(sight, sight.layout.nodes[i], sight.runs[i]));
  }
  const Rows view(nodes);
  const Fields all{told("dir", sight.folder),           told("config", sight.folder + "/client.yaml"),
                   told("tls", sight.layout.shape.tls), told("well", sight.well()),
                   told("leader", sight.leader),        told("trouble", sight.trouble),
                   told("nodes", view.list())};
  print(json ? object_of(all).document() : view.table());
}

Result<std::string> own_program() {
  std::string path(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return fail_errno(errno, "finding this program");
  path.resize(static_cast<std::size_t>(size));
  return path;
}

// --- up --------------------------------------------------------------------------------------------------------------

task<void> cancel_on_signal(runtime::Signals* signals, runtime::Cancellation* interrupted,
                            runtime::Cancellation* cancel) {
  const int number = co_await signals->next(cancel);
  if (number != 0) interrupted->cancel();
}

task<Result<Sight>> bring_up(runtime::EpollRuntime* runtime, runtime::Signals* signals,
                             local_cluster::UpOptions options, local_cluster::Progress progress) {
  runtime::Cancellation interrupted;
  runtime::Scope scope;
  scope.spawn(cancel_on_signal(signals, &interrupted, scope.cancellation()));
  auto sight = co_await local_cluster::bring_up(*runtime, std::move(options), progress, &interrupted);
  scope.cancel();
  co_await scope.join();
  co_return sight;
}

// The nodes have formed their cluster: they stay, and only this command ends.
void end_alone(int /*signal*/) {
  constexpr std::string_view kSaid =
      "bellwether cluster: interrupted; the nodes run and stay: `bellwether cluster status` shows them, `down` ends "
      "them\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kSaid.data(), kSaid.size());
  ::_exit(kExitInterrupted);
}

void end_alone_on_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&signals, number);
    std::signal(number, &end_alone);
  }
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

constexpr Duration kWorkersWait = Duration::seconds(10);
constexpr auto kWorkersEvery = std::chrono::milliseconds(100);

// Workers report to the managers about once a second, after they have joined. A run that is typed at once finds only
// those that have. A cluster whose workers do not report is up all the same: `job workers` shows which do.
void await_workers(const std::string& folder, uint32_t count) {
  const auto client = open_client({.cluster = folder, .node = {}, .by = {}}, "cluster");
  if (!client) return;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kWorkersWait.ns());
  while (std::chrono::steady_clock::now() < deadline) {
    const auto reported = (*client)->workers();
    if (reported && reported->size() >= count) return;
    std::this_thread::sleep_for(kWorkersEvery);
  }
}

Result<int> up(LocalClusterArguments& given) {
  BW_TRY(auto runtime, runtime::EpollRuntime::create({}));
  // Before the first node: until the cluster is formed, a signal ends all of them again.
  BW_TRY(auto signals, runtime::Signals::collect(*runtime, {SIGINT, SIGTERM, SIGHUP}));
  BW_TRY(auto program, own_program());
  BW_TRY(auto known, KnownClusters::read());
  BW_TRY(auto cluster, local_cluster_of(given, known));
  given.up.folder = cluster.path;
  given.up.program = std::move(program);
  if (given.no_tls) given.up.shape.tls = false;
  if (!given.trust_keys.empty()) {
    // Before a folder exists that mentions the keys.
    BW_RETURN_IF_ERROR(node::read_keyring(given.trust_keys));
    given.up.shape.trust_keys = std::filesystem::absolute(given.trust_keys).lexically_normal().string();
  }
  BW_TRY(const auto sight, runtime->run(bring_up(runtime.get(), signals.get(), given.up, kTellProgress)));
  remember_folder(cluster, known);
  end_alone_on_signals();
  await_workers(sight.folder, sight.layout.shape.workers);
  print_sight(sight, given.json);
  if (given.json) return kExitOk;
  const std::string option = printable(known.option_for(cluster));
  std::printf("\n%s run, %s leads. They continue after this command ends.\n", to_string(sight.layout.shape).c_str(),
              printable(sight.leader).c_str());
  if (sight.layout.shape.workers > 0) {
    // A page of the first manager is a target that exists. A run always needs the option.
    std::printf(
        "  run load on it:  bellwether run http://127.0.0.1:%d/livez --rate 100/s --duration 10s --cluster %s\n",
        sight.layout.nodes.front().http_port, printable(shell_word(cluster.name)).c_str());
  }
  std::printf(
      "  show its state:  bellwether cluster status%s\n"
      "  stop it:         bellwether cluster down%s\n"
      "The logs of its nodes are in %s/*.log.\n",
      option.c_str(), option.c_str(), printable(sight.folder).c_str());
  return kExitOk;
}

// --- down, status ----------------------------------------------------------------------------------------------------

Result<int> down(LocalClusterArguments& given) {
  BW_TRY(auto runtime, runtime::EpollRuntime::create({}));
  BW_TRY(auto known, KnownClusters::read());
  BW_TRY(const auto cluster, local_cluster_of(given, known));
  given.down.folder = cluster.path;
  BW_TRY(const auto ended, runtime->run(local_cluster::bring_down(*runtime, given.down, kTellProgress)));
  if (ended.purged && known.has(cluster.name)) {
    known.forget(cluster.name);
    BW_RETURN_IF_ERROR(known.write());
  }
  if (given.json) {
    print_json({told("dir", ended.folder), told("stopped", ended.stopped), told("killed", ended.killed),
                told("purged", ended.purged)});
    return kExitOk;
  }
  if (ended.stopped.empty() && ended.killed.empty()) std::printf("none of its nodes was running\n");
  if (!ended.stopped.empty()) std::printf("ended: %s\n", joined(ended.stopped).c_str());
  if (!ended.killed.empty())
    std::printf("killed, because they did not end in time: %s\n", joined(ended.killed).c_str());
  const std::string folder = printable(ended.folder);
  if (ended.purged) {
    std::printf("removed %s\n", folder.c_str());
  } else if (given.down.purge) {
    std::printf("%s is kept: it has other files\n", folder.c_str());
  } else {
    std::printf("%s is kept; `bellwether cluster up%s` starts the cluster again with its data\n", folder.c_str(),
                printable(known.option_for(cluster)).c_str());
  }
  return kExitOk;
}

Result<int> local_status(const LocalClusterArguments& given) {
  BW_TRY(auto runtime, runtime::EpollRuntime::create({}));
  BW_TRY(const auto known, KnownClusters::read());
  BW_TRY(const auto cluster, local_cluster_of(given, known));
  BW_TRY(const auto sight, runtime->run(local_cluster::look_at(*runtime, cluster.path)));
  print_sight(sight, given.json);
  if (!given.json) {
    if (sight.leader.empty()) std::printf("nobody is known to lead\n");
    if (!sight.trouble.empty()) std::printf("%s\n", printable(sight.trouble).c_str());
  }
  return sight.well() ? kExitOk : kExitNo;
}

void add_folder(CLI::App* command, LocalClusterArguments& given) {
  add_cluster_option(command, given.cluster);
  command->add_flag("--json", given.json, "Print JSON");
}

}  // namespace

void add_local_cluster(CLI::App& cluster, int& exit_code) {
  auto given = std::make_shared<LocalClusterArguments>();
  CLI::App* start = new_verb(cluster, "up");
  add_folder(start, *given);
  local_cluster::WantedShape& shape = given->up.shape;
  start->add_option("--managers", shape.managers, "Number of managers; all of them vote (default 3)")->type_name("N");
  start->add_option("--workers", shape.workers, "Number of workers (default 2)")->type_name("N");
  start->add_option("--cores-per-worker", shape.cores, "Cores that each worker may use (default: all)")->type_name("N");
  start
      ->add_option("--datacenters", shape.datacenters,
                   "Number of datacenters to spread the nodes over, by name (default 1)")
      ->type_name("N");
  start->add_option("--base-port", given->up.base_port, "First port; each node takes two (default: free ports)")
      ->type_name("PORT");
  start->add_flag("--no-tls", given->no_tls, "No certificates: any holder of the secret can claim any role");
  add_text(start, "--trust-keys", given->trust_keys, "PATH",
           "File or folder of public keys; workers run C++ programs that these keys signed (default: none)");
  add_duration(start, "--timeout", given->up.limit, "Give up if the cluster is not complete by then (default 60s)");
  start->footer(
      "The command leaves running nodes alone, and starts the others with their data. Ctrl-C during the wait stops the "
      "nodes that it has started. A cluster in a FOLDER, which may be new, gets the name of the folder.\n"
      "\n"
      "Exit codes: 0 it runs and has a leader, 1 it ran already or did not start, 104 wrong command line, settings or "
      "folder, 105 interrupted.");
  start->callback([given, &exit_code] { exit_code = told_local(up(*given)); });

  CLI::App* end = new_verb(cluster, "down");
  add_folder(end, *given);
  end->add_flag("--purge", given->down.purge, "Also remove the folder of the cluster, with all data");
  add_duration(end, "--timeout", given->down.limit, "Kill the processes that have not ended by then (default 20s)");
  end->footer("Exit codes: 0 all its processes have ended, 1 there is no such cluster, or a process does not end.");
  end->callback([given, &exit_code] { exit_code = told_local(down(*given)); });

  CLI::App* look = new_verb(cluster, "status");
  add_folder(look, *given);
  look->footer("Exit codes: 0 all nodes run and are members, and one leads; 1 otherwise, or there is no such cluster.");
  look->callback([given, &exit_code] { exit_code = told_local(local_status(*given)); });
}

// bellwether cluster use: the cluster that commands without --cluster mean, and the names of known ones.

namespace {

struct UseArguments {
  std::string cluster;
  std::string name;
  std::string forgotten;
  bool unset = false;
  bool json = false;
};

// The known clusters; the current one has its source. A path that has no name is current only by the variable.
Result<int> list_clusters(const UseArguments& given, const KnownClusters& known) {
  const auto current = known.choose("");
  std::vector<NamedCluster> clusters = known.all();
  if (current) {
    const auto listed = std::ranges::find(clusters, current->path, &NamedCluster::path);
    *(listed == clusters.end() ? clusters.insert(listed, *current) : listed) = *current;
  }
  const Rows rows(clusters, [](const NamedCluster& one) -> Fields {
    return {{"", "current", !one.source.empty(), one.source.empty() ? " " : "*"},
            {"NAME", "name", one.name},
            {"WHERE", "path", one.path},
            {"CURRENT BY", "source", one.source.empty() ? Value() : Value(one.source), one.source}};
  });
  print(given.json ? rows.list().document() : rows.table());
  BW_RETURN_IF_ERROR(current);
  return kExitOk;
}

// Its own name, or that of its folder.
Result<std::string> name_for(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    BW_TRY([[maybe_unused]] const auto folder, local_cluster::Folder::open(path, local_cluster::Folder::Use::kLook));
    return std::filesystem::path(path).filename().string();
  }
  const auto read = read_client_settings(path);
  if (!read.config) return fail(Errc::kInvalid, "'{}' cannot be used as the settings of a client", path);
  return read.config->cluster;
}

Result<int> use_cluster(const UseArguments& given) {
  BW_TRY(auto known, KnownClusters::read());
  if (given.cluster.empty() && !given.unset && given.forgotten.empty()) return list_clusters(given, known);
  if (!given.forgotten.empty()) {
    if (!known.has(given.forgotten)) {
      return fail(Errc::kInvalid, "--forget '{}': no such name is remembered; `bellwether cluster use` lists them",
                  given.forgotten);
    }
    known.forget(given.forgotten);
  }
  if (given.unset) known.use("");
  if (!given.cluster.empty()) {
    BW_TRY(const auto cluster, known.choose(given.cluster));
    std::string name = cluster.name;
    if (name == cluster.path || !given.name.empty()) {
      // Also of a path that has a name already: the file must be good.
      BW_TRY(const std::string own, name_for(cluster.path));
      name = given.name.empty() ? own : given.name;
      if (const Status done = known.remember(name, cluster.path); !done) {
        return fail(Errc::kInvalid, done.error().message + "; give it a name with --as NAME");
      }
    }
    known.use(name);
  }
  BW_RETURN_IF_ERROR(known.write());
  return list_clusters(given, known);
}

}  // namespace

void add_cluster_use(CLI::App& cluster, int& exit_code) {
  auto given = std::make_shared<UseArguments>();
  CLI::App* command = new_verb(cluster, "use");
  CLI::Option* which = add_text(command, "CLUSTER", given->cluster, "NAME|FILE|FOLDER",
                                "As --cluster; `local` is the default. None: list the known clusters");
  CLI::Option* unset = command->add_flag("--unset", given->unset, "Return to the default cluster");
  add_text(command, "--as", given->name, "NAME",
           "Name to remember it by (default: `cluster` in the FILE, or the last part of the FOLDER)")
      ->needs(which);
  add_text(command, "--forget", given->forgotten, "NAME", "Remove this name from the list");
  command->add_flag("--json", given->json, "Print JSON");
  which->excludes(unset);
  command->footer(
      "The cluster of a command is the first of: --cluster, BELLWETHER_CLUSTER, `cluster use`, local. Only --cluster "
      "and BELLWETHER_CLUSTER move `bellwether run` to a cluster. The known clusters are in "
      "~/.config/bellwether/clusters.json.\n"
      "\n"
      "Exit codes: 0 done, 104 no such cluster, or unusable settings.");
  command->callback([given, &exit_code] {
    auto done = use_cluster(*given);
    if (!done) done.error().message = printable(done.error().message);
    exit_code = answer("cluster", done);
  });
}

}  // namespace bellwether::cli
