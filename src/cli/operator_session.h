// A command's access to the nodes of a cluster: the settings of a node (--config FILE, the environment, --set
// NAME=VALUE), and an operator's connection from them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/net/node_config.h"
#include "cluster/node/dialling.h"
#include "core/runtime/epoll/epoll_runtime.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

struct NodeSettings {
  std::string file;
  std::vector<std::string> assignments;
};

void add_node_settings(CLI::App* command, NodeSettings& given);

struct ReadSettings {
  cluster::Settings settings{cluster::node_settings()};
  std::optional<cluster::NodeConfig> config;  // empty: the errors were printed on standard error
};
// `over`: assignments that win over all others.
ReadSettings read_node_settings(const NodeSettings& given, const std::vector<std::string>& over = {});

struct OperatorOptions {
  NodeSettings settings;
  std::string node;  // HOST:PORT; empty: that of the settings, then their seeds
  std::string by;    // for audit logs; empty: $USER
  Duration timeout = Duration::seconds(5);
};
// --config, --set, --leadership, --node and --by.
void add_operator(CLI::App* command, OperatorOptions& options);

struct OperatorSession {
  std::unique_ptr<runtime::EpollRuntime> runtime;
  std::unique_ptr<node::OperatorClient> client;
  std::vector<HostPort> nodes;  // nodes to ask; the first reachable one answers
  std::string by;
};
// Empty after an error, which it has printed on standard error in the name of `verb`.
std::optional<OperatorSession> open_operator_session(const OperatorOptions& options, std::string_view verb);

Result<node::AdminAnswer> ask(OperatorSession& session, const HostPort& node, const node::AdminRequest& request,
                              Duration timeout);
void pause(OperatorSession& session, Duration span);
// The first reachable node answers; a refusal is an answer.
Result<node::AdminAnswer> ask_any(OperatorSession& session, const node::AdminRequest& request, Duration timeout);

}  // namespace bellwether::cli
