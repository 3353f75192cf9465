#include "cli/node_process.h"

#include <csignal>
#include <memory>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include "cluster/context/command_manager.h"
#include "cluster/sqlite_kv.h"
#include "node/cluster/local_supplies.h"
#include "node/roles/context_role.h"
#include "node/roles/key_role.h"
#include "node/roles/manager_role.h"
#include "node/roles/register_role.h"
#include "node/roles/worker_role.h"
#include "node/share/child_share.h"
#include "runtime/signals.h"

namespace bellwether::cli {
namespace {

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

// Registers and copies of jobs are kept by the same nodes; an etcd has only the registers.
task<Status> add_manager_roles(runtime::Runtime& runtime, const cluster::NodeConfig& config, Journal& journal,
                               Roles& roles) {
  std::shared_ptr<node::RegisterRole> registers;
  if (config.keeps_jobs() && !config.jobs_in_etcd()) {
    registers = std::make_shared<node::RegisterRole>();
    roles.push_back(registers);
  }
  if (config.role != wire::Role::kManager) co_return Status();
  if (!config.keeps_jobs()) {
    journal.warn(runtime.wall_now(), config.keepers.empty()
                                         ? "without 'keepers' there is nobody to keep jobs: this cluster takes none"
                                         : "this manager is no keeper of jobs: it passes none on, and takes none");
    co_return Status();
  }
  auto kv = co_await cluster::open_sqlite_kv(runtime, config.data + "/copies.db");
  if (!kv) co_return fail(kv.error().code, "data: " + kv.error().message);
  const auto manager = std::make_shared<node::ManagerRole>(std::move(*kv), registers);
  roles.push_back(manager);
  if (config.context.serves) {
    roles.push_back(std::make_shared<node::ContextRole>(manager, maker_of_contexts(runtime, config)));
  }
  co_return Status();
}

task<Result<Roles>> roles_of(runtime::Runtime& runtime, const cluster::NodeConfig& config, Journal& journal) {
  Roles roles;
  if (config.role == wire::Role::kWorker) {
    BW_CO_TRY(auto settings, node::local_worker_settings(config));
    roles.push_back(
        std::make_shared<node::WorkerRole>(std::move(settings), std::make_unique<node::ChildShares>(runtime)));
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
      node.go("signal " + std::to_string(number));
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

}  // namespace

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
  auto roles = runtime.run(roles_of(runtime, options.config, journal));
  if (!roles) return not_started(roles.error());
  node::ClusterNode node(runtime, options, std::move(*supplies), std::move(*roles), journal);
  return runtime.run(live(node, **signals, journal, runtime));
}

}  // namespace bellwether::cli
