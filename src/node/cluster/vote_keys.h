// The keys of a scored vote, as a node has them on its disk: its own, and the public ones of all who vote.
#pragma once

#include "cluster/node_config.h"
#include "cluster/vote/vote_seal.h"

namespace bellwether::node {

// Waits for the disk. kInvalid says which file is missing or is no such key, and what to do; a private key that others
// can read is refused.
Result<cluster::VoteSeal> read_vote_keys(const cluster::NodeConfig& config);

}  // namespace bellwether::node
