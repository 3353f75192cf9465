// bellwether node, manager, worker, context serve: one node of a cluster. bellwether config: its settings, and the
// source of each.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include "cli/cluster_choice.h"
#include "cli/run/machine_limits.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "cluster/net/kv.h"
#include "cluster/node/cluster_node.h"
#include "cluster/node/node_supplies.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "jobs/assignment/assignment_process.h"
#include "jobs/client/scenario_files.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/roles/job_roles.h"
#include "lead/context_driver/command_manager.h"
#include "lead/roles/context_role.h"
#include "lead/roles/key_role.h"
#include "load/plan/load.h"

namespace bellwether::cli {
namespace {

// A node as a process: put together from its supplies and its roles, and ended by signals.

using runtime::task;
using Roles = std::vector<std::shared_ptr<node::NodeRole>>;

std::unique_ptr<cluster::ContextManager> maker_of_contexts(runtime::Runtime& runtime,
                                                           const cluster::NodeConfig& config) {
  if (config.context.manager.empty()) return nullptr;
  cluster::CommandManagerSettings command;
  command.command = config.context.manager;
  command.node = config.name;
  command.slots = config.context.jobs;
  command.timeout = config.context.job_timeout;
  command.grace = config.context.job_grace;
  return std::make_unique<cluster::CommandManager>(runtime, std::move(command));
}

// The same nodes keep the registers and blobs of jobs; an etcd has only the registers. Managers with a disk can become
// one of them while they run.
task<Status> add_manager_roles(runtime::Runtime& runtime, const cluster::NodeConfig& config, Journal& journal,
                               Roles& roles) {
  std::shared_ptr<node::RegisterRole> registers;
  const bool can_keep = config.role == wire::Role::kManager && !config.replicas.empty() && !config.data.empty();
  if ((can_keep || config.keeps_jobs()) && !config.jobs_in_etcd()) {
    registers = std::make_shared<node::RegisterRole>();
    roles.push_back(registers);
  }
  if (config.role != wire::Role::kManager) co_return Status();
  if (!can_keep) {
    journal.warn(runtime.wall_now(), config.replicas.empty()
                                         ? "without 'replicas' there is nobody to keep jobs: this cluster takes none"
                                         : "without 'data' this manager cannot keep jobs: it passes none on, and takes "
                                           "none");
    co_return Status();
  }
  auto kv = co_await cluster::open_sqlite_kv(runtime, config.data + "/blobs.db");
  if (!kv) co_return fail(kv.error().code, "data: " + kv.error().message);
  const auto manager = std::make_shared<node::ManagerRole>(std::move(*kv), registers);
  roles.push_back(manager);
  if (config.context.serves) {
    roles.push_back(
        std::make_shared<node::ContextRole>(node::ManagerRole::stores_of(manager), maker_of_contexts(runtime, config)));
  }
  co_return Status();
}

task<Result<Roles>> roles_of(runtime::Runtime& runtime, const cluster::NodeConfig& config, Journal& journal) {
  Roles roles;
  if (config.role == wire::Role::kWorker) {
    BW_CO_TRY(auto settings, node::local_worker_settings(config));
    roles.push_back(
        std::make_shared<node::WorkerRole>(std::move(settings), std::make_unique<node::ChildAssignments>(runtime)));
    co_return std::move(roles);
  }
  BW_CO_RETURN_IF_ERROR(co_await add_manager_roles(runtime, config, journal, roles));
  if (config.votes_by_score() && config.votes() && !config.vote.key_command.empty()) {
    roles.push_back(std::make_shared<node::KeyRole>(config.vote.key_command, config.vote.timing.stop_grace));
  }
  co_return std::move(roles);
}

task<void> obey(runtime::Signals& signals, node::ClusterNode& node, Journal& journal, runtime::Runtime& runtime,
                runtime::Cancellation* cancel) {
  while (true) {
    const int number = co_await signals.next(cancel);
    if (number == 0) co_return;
    if (node.leaves()) {
      journal.warn(runtime.wall_now(), "a second signal: ends at once");
      node.end_at_once(128 + number);
    } else {
      node.go(fmt::format("signal {}", number));
    }
  }
}

task<int> live(node::ClusterNode& node, runtime::Signals& signals, Journal& journal, runtime::Runtime& runtime) {
  runtime::Scope beside;
  beside.spawn(obey(signals, node, journal, runtime, beside.cancellation()));
  const int exit_code = co_await node.run();
  beside.cancel();
  co_await beside.join();
  co_return exit_code;
}

// Runs until a signal, until an operator's `leave`, or until it cannot go on. The exit code of the process. REQUIRES
// that no other thread runs yet.
int run_node(runtime::EpollRuntime& runtime, const node::NodeOptions& options, Journal& journal) {
  // A core dump would hold the cluster's secret and the keys made of it.
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const auto not_started = [&](const Error& why) {
    journal.error(runtime.wall_now(), why.message);
    return node::kExitNotStarted;
  };
  auto signals = runtime::Signals::collect(runtime, {SIGINT, SIGTERM, SIGHUP});
  if (!signals) return not_started(signals.error());
  auto supplies = runtime.run(node::local_supplies(runtime, options.config));
  if (!supplies) return not_started(supplies.error());
  supplies->messages = &message::message_of<dispatch::JobMessage>();
  auto roles = runtime.run(roles_of(runtime, options.config, journal));
  if (!roles) return not_started(roles.error());
  node::ClusterNode node(runtime, options, std::move(*supplies), std::move(*roles), journal);
  return runtime.run(live(node, **signals, journal, runtime));
}

struct NodeArguments {
  NodeSettings settings;
  node::NodeOptions options;
  std::string audit_file;
  Telling telling;
  bool json = false;
  std::vector<std::string> over;  // the verb's own settings
  std::string manager;            // of contexts, for /bin/sh -c; empty: as the settings have it
};

int run_node_command(NodeArguments& given) {
  auto read = read_node_settings(given.settings, given.over);
  if (!read.config) return kExitUsage;
  given.options.config = std::move(*read.config);
  if (!given.manager.empty()) given.options.config.context.manager = {"/bin/sh", "-c", given.manager};
  return in_runtime("node", [&](runtime::EpollRuntime& runtime) {
    Journal journal(given.telling.verbosity(), given.json, "node");
    if (!journal.open_audit(runtime.wall_now(), given.audit_file)) return node::kExitNotStarted;
    return run_node(runtime, given.options, journal);
  });
}

int show_config(const NodeArguments& given) {
  const auto read = look_at_node_settings(given.settings);
  std::vector<Fields> rows;
  Fields all;
  for (const cluster::SettingSpec& spec : read.settings.specs()) {
    const auto& value = read.settings.value(spec.name);
    rows.push_back({shown("SETTING", std::string(spec.name)),
                    {"VALUE", "value", joined(value.texts)},
                    {"FROM", "origin", value.origin},
                    told("variable", cluster::variable_of(spec)),
                    {"WHAT IT IS", "help", spec.help}});
    all.push_back(told(spec.name, object_of(rows.back())));
  }
  print(given.json ? object_of(all).document() : Rows(rows).table());
  // Behind the list, where a person sees them.
  std::fflush(stdout);
  std::fputs(read.wrong.c_str(), stderr);
  return read.config ? kExitOk : kExitUsage;
}

constexpr const char* kLeaving =
    "The first SIGTERM or Ctrl-C makes the node hand over and leave; the second ends it at once.\n"
    "Exit codes: 0 it left, 1 it found no cluster (join_limit) or its name is taken, 104 wrong settings, files, ports "
    "or secrets, 128 + N ended at once by signal N.";

// A verb that is a node, with its own settings.
CLI::App* add_node_verb(CLI::App& parent, int& exit_code, const std::shared_ptr<NodeArguments>& given,
                        std::vector<std::string> over, const char* name, const std::string& footer) {
  given->over = std::move(over);
  CLI::App* command = new_verb(parent, name);
  add_node_settings(command, given->settings);
  add_telling(command, given->telling, given->audit_file, nullptr, given->json, "event");
  const bool may_vote = given->over.empty() || given->over.front() != "role=worker";
  if (may_vote) {
    command->add_flag("--first-start", given->options.first_start,
                      "This voter has never voted in this cluster; needed once, at its first start");
    command->add_flag("--found", given->options.found,
                      "Found a new cluster if no seed answers; for the first node only");
  }
  command->footer(fmt::format("{}\n\n{}", footer, kLeaving));
  command->callback([given, command, &exit_code] {
    if (command->get_subcommands().empty()) exit_code = run_node_command(*given);
  });
  return command;
}

// --- assignment: the process in which a worker runs its part of a load test; not for people
// -------------------------------

constexpr uint64_t kShareDescriptors = 1 << 20;

Result<plan::Plan> plan_of_bytes(std::string_view bytes, const std::vector<node::ChildFile>& files) {
  BW_TRY(auto bundle, dispatch::decode_bundle(bytes));
  if (auto* const record = std::get_if<scenario::RecordedScenario>(&bundle)) {
    for (const auto& [question, file] : record->apart) {
      const auto at = std::ranges::find_if(files, [&](const auto& one) { return one.sha256 == file.sha256; });
      if (at == files.end()) return fail(Errc::kNotFound, "the data file '{}' was not handed over", question.path);
      record->views.emplace(question, client::detail::view_whole_file(at->path, question.bytes_max));
    }
  }
  return plan::plan_of(bundle);
}

int run_assignment(int socket, int permit) {
  if (socket < 0) {
    return refuse(
        "assignment",
        "a worker starts this for its part of a load test, and speaks to it through a socket; it does nothing "
        "by hand.\nSee 'bellwether run --help'.");
  }
  raise_descriptors(kShareDescriptors);
  const Status ended = node::assignment_main(socket, permit, &plan_of_bytes);
  if (ended) return kExitOk;
  return refuse("assignment", ended.error().message, kExitNo);
}

}  // namespace

void add_node(CLI::App& app, int& exit_code) {
  add_node_verb(app, exit_code, std::make_shared<NodeArguments>(), {}, "node",
                "Settings come from --config, then the environment (BELLWETHER_NAME, ...), then --set; the last one "
                "wins. `bellwether config show` lists them with their sources. The shared secret comes from "
                "secret.file or from the variable BELLWETHER_AUTH_SECRET, and never from the command line.");
}

void add_manager(CLI::App& app, int& exit_code) {
  add_node_verb(app, exit_code, std::make_shared<NodeArguments>(), {"role=manager"}, "manager",
                "The same as `bellwether node` with the role manager. To survive the loss of one manager, a cluster "
                "needs three.");
}

void add_worker(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<NodeArguments>();
  CLI::App* command = add_node_verb(
      app, exit_code, given, {"role=worker"}, "worker",
      "The same as `bellwether node` with the role worker. `cores` is the number of processors that make load.");
  command->require_subcommand(0, 1);
  command
      ->add_option_function<std::string>(
          "--trust-keys",
          [given](const std::string& path) { given->settings.assignments.push_back("trust_keys=" + path); },
          "File or folder of public keys; the worker runs C++ programs that these keys signed")
      ->type_name("PATH");
  add_worker_drain(*command, exit_code);
}

void add_context_serve(CLI::App& context, int& exit_code) {
  auto given = std::make_shared<NodeArguments>();
  CLI::App* command =
      add_node_verb(context, exit_code, given, {"role=manager", "context.serve=true"}, "serve",
                    "The command reads a request from its standard input and writes the context to its "
                    "standard output. Exit code 0 means done; after any other code it runs again, "
                    "three times at most. The page \"Context leadership\" of the documentation lists its environment.");
  add_text(command, "NODE.yaml", given->settings.file, "FILE", "As --config");
  add_text(command, "--manager", given->manager, "CMD", "Shell command that makes a context; as context.manager");
}

void add_config(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<NodeArguments>();
  CLI::App* command = new_verb(app, "config");
  command->require_subcommand(1);
  CLI::App* show = new_verb(*command, "show");
  add_node_settings(show, given->settings);
  show->add_flag("--json", given->json, "Print JSON");
  show->footer("Exit codes: 0 a node can start with these settings, 104 it cannot (the reasons follow the list).");
  show->callback([given, &exit_code] { exit_code = show_config(*given); });
}

void add_assignment(CLI::App& app, int& exit_code) {
  auto socket = std::make_shared<int>(-1);
  auto permit = std::make_shared<int>(-1);
  CLI::App* command = app.add_subcommand("assignment", "Run a part of a load test for the worker that starts this");
  command->group("")->footer("");  // not in the list of commands
  command->add_option("--socket", *socket, "Descriptor of the socket to the worker");
  command->add_option("--permit", *permit, "Descriptor of the page that says until when it may make load");
  command->callback([socket, permit, &exit_code] { exit_code = run_assignment(*socket, *permit); });
}

}  // namespace bellwether::cli
