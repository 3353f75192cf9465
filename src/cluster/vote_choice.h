// What the settings of a node say about a scored vote.
#pragma once

#include <string>
#include <vector>

#include "cluster/settings.h"
#include "election/vote/ballot.h"
#include "election/vote/vote_timing.h"

namespace bellwether::cluster {

struct VoteChoice {
  std::vector<std::string> capabilities;
  vote::QuorumRule rule = vote::QuorumRule::kMajority;
  vote::ScoreWeights weights;
  vote::VoteTiming timing;
  std::string key;               // a file, PEM: what this node signs with
  std::string keys;              // a folder with NAME.pem of each member: its public key
  std::string operator_key;      // a file, PEM: who attests capabilities; empty: nobody does, and all are believed
  std::string attestation;       // a file, of this node
  double reputation_weight = 0;  // 0 to 1
  // Of the key that only an admin has, files; both empty: there is none.
  std::string key_share;
  std::string key_commitment;
  std::vector<std::string> key_command;  // works with that key; empty: nobody does
};

}  // namespace bellwether::cluster
