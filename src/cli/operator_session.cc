#include "cli/operator_session.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "cluster/node/secrets.h"
#include "election/store/environment.h"

namespace bellwether::cli {
namespace {

std::string who_am_i(const OperatorOptions& options) {
  if (!options.by.empty()) return options.by;
  const char* user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread
  return user == nullptr || *user == '\0' ? "operator" : user;
}

Result<OperatorSession> open(const OperatorOptions& options, const cluster::NodeConfig& config) {
  OperatorSession session;
  session.by = who_am_i(options);
  if (!options.node.empty()) {
    const auto node = parse_host_port(options.node, cluster::kDefaultPort);
    if (!node) return fail(Errc::kInvalid, "--node '" + options.node + "': " + node.error().message);
    session.nodes.push_back(*node);
  } else {
    HostPort own = config.advertise.host.empty() ? config.listen : config.advertise;
    if (own.host == "0.0.0.0" || own.host == "::") own.host = "127.0.0.1";
    session.nodes.push_back(own);
    session.nodes.insert(session.nodes.end(), config.seeds.begin(), config.seeds.end());
  }
  BW_TRY(auto keyring, node::read_secrets(config, &store::own_environment));
  BW_TRY(auto client, node::OperatorClient::make(config, std::move(keyring), session.by));
  session.client = std::make_unique<node::OperatorClient>(std::move(client));
  BW_TRY(session.runtime, runtime::EpollRuntime::create({}));
  return session;
}

}  // namespace

void add_operator(CLI::App* command, OperatorOptions& options) {
  add_node_settings(command, options.settings);
  command->add_option("--node", options.node, "Ask this node (default: that of --config, then its seeds)")
      ->type_name("HOST:PORT");
  command->add_option("--by", options.by, "Who asks, for the nodes' audit logs (default $USER)");
}

std::optional<OperatorSession> open_operator_session(const OperatorOptions& options, const char* command) {
  // An operator's machine needs neither a role nor a disk; whatever the file says of them is for the node.
  const auto read = read_node_settings(
      options.settings,
      {"role=worker", "name=operator", "voters=", "data=", "context.serve=false", "context.manager="});
  if (!read.config) return std::nullopt;
  auto session = open(options, *read.config);
  if (session) return std::move(*session);
  std::fprintf(stderr, "%s: %s\n", command, session.error().message.c_str());
  return std::nullopt;
}

Result<node::AdminAnswer> ask(OperatorSession& session, const HostPort& node, const node::AdminRequest& request,
                              Duration timeout) {
  return session.runtime->run(session.client->ask(*session.runtime, node, request, timeout));
}

Result<node::AdminAnswer> ask_any(OperatorSession& session, const node::AdminRequest& request, Duration timeout) {
  std::string troubles;
  for (const HostPort& node : session.nodes) {
    auto answer = ask(session, node, request, timeout);
    if (answer || answer.error().code == Errc::kRefused) return answer;
    troubles += (troubles.empty() ? "" : "\n  ") + answer.error().message;
  }
  return fail(Errc::kUnreachable, "no node could be asked:\n  " + troubles);
}

}  // namespace bellwether::cli
