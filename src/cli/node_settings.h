// The settings of a node as commands get them: --config FILE, the environment, --set NAME=VALUE.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/net/node_config.h"

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
  std::optional<cluster::NodeConfig> config;  // nothing: what is wrong has been told on standard error
};
// `over`: assignments that win over all others.
ReadSettings read_node_settings(const NodeSettings& given, const std::vector<std::string>& over = {});

}  // namespace bellwether::cli
