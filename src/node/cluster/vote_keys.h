// The keys of a scored vote, as a node has them on its disk: its own, and the public ones of all who vote.
#pragma once

#include <optional>

#include "cluster/node_config.h"
#include "cluster/vote/key_keeper.h"
#include "cluster/vote/vetting.h"
#include "cluster/vote/vote_seal.h"

namespace bellwether::node {

// Waits for the disk. kInvalid says which file is missing or is no such key, and what to do; a private key that others
// can read is refused.
Result<cluster::VoteSeal> read_vote_keys(const cluster::NodeConfig& config);

// This node's part of the key that only an admin has; nothing where there is none. Waits for the disk. Errors: as of
// key_files.h; kInvalid: the key share is not the one that was split, or there are too few nodes to ever have the key.
Result<std::optional<cluster::KeyHolding>> read_key_holding(const cluster::NodeConfig& config);

// How this node vets candidates, and what it was attested itself. Waits for the disk. Errors: a file that is missing or
// is none; kInvalid: the attestation is of another node, or not signed by that key. One that has run out is no error:
// its node votes and does not stand.
Result<cluster::VettingSettings> read_vetting(const cluster::NodeConfig& config);

}  // namespace bellwether::node
