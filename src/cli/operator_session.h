// A command's access to the nodes of a cluster: the settings of a node (--config FILE, the environment, --set
// NAME=VALUE), and an operator's connection to a named cluster.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cluster_choice.h"
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

// Of a client or an operator: the same, from a file that may also be that of a node. An operator's machine needs
// neither a role nor a disk.
ReadSettings read_client_settings(const std::string& file);

struct OperatorOptions : ClusterOptions {
  Duration timeout = Duration::seconds(5);
};

struct OperatorSession {
  std::string cluster;  // for --cluster
  std::unique_ptr<runtime::EpollRuntime> runtime;
  std::unique_ptr<node::OperatorClient> client;
  std::vector<HostPort> nodes;  // nodes to ask; the first reachable one answers
  std::string by;
};
// The error is the exit code; its text was printed on standard error in the name of `verb`.
tl::expected<OperatorSession, int> open_operator_session(const OperatorOptions& options, std::string_view verb);

Result<node::AdminAnswer> ask(OperatorSession& session, const HostPort& node, const node::AdminRequest& request,
                              Duration timeout);
void pause(OperatorSession& session, Duration span);
// The first reachable node answers; a refusal is an answer.
Result<node::AdminAnswer> ask_any(OperatorSession& session, const node::AdminRequest& request, Duration timeout);

}  // namespace bellwether::cli
