// The secrets of a cluster as a node gets them: from files that only their owner may read, or from the environment.
#pragma once

#include "cluster/net/node_config.h"
#include "cluster/wire/keyring.h"

namespace bellwether::node {

// The text of a file that only its owner may read, without the line end.
Result<std::string> read_secret_file(const std::string& path);

// kInvalid says where the secret was looked for, what is wrong with it and what to do, and repeats none of it.
Result<wire::Keyring> read_secrets(const cluster::NodeConfig& config, cluster::Settings::Environment environment);

}  // namespace bellwether::node
