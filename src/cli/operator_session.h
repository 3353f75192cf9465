// A command's connection to a cluster, as an operator's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/node_settings.h"
#include "cluster/node/operator_client.h"
#include "core/runtime/epoll_runtime.h"

namespace bellwether::cli {

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
  std::vector<HostPort> nodes;  // to ask, the first that answers
  std::string by;
};
// Nothing when something is wrong, which has been told on standard error in the name of `command`.
std::optional<OperatorSession> open_operator_session(const OperatorOptions& options, const char* command);

Result<node::AdminAnswer> ask(OperatorSession& session, const HostPort& node, const node::AdminRequest& request,
                              Duration timeout);
// The first node that can be asked answers; a refusal is an answer.
Result<node::AdminAnswer> ask_any(OperatorSession& session, const node::AdminRequest& request, Duration timeout);

}  // namespace bellwether::cli
