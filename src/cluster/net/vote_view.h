// The last election of a scored vote as one node has seen it, for people: who stood, what each said of itself and what
// that is worth, who has voted for whom, and why it ended as it did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/net/vote_status.h"
#include "election/vote/score.h"

namespace bellwether::cluster {

struct VoteView {
  struct Node {
    std::string name;
    bool took_part = false;  // as far as this node has heard
    bool stood = false;
    vote::Claim claim;       // of one who stood
    vote::ScoreParts parts;  // of its score, before they are weighed
    std::string doubt;       // why it was not voted for here; else empty
    double penalty = 0;      // taken off its score here, for its reputation
    std::string voted_for;   // empty: nothing that counts was heard
    std::size_t votes = 0;   // for it
  };
  // Who puts the key of an admin together, or did last.
  struct Keys {
    struct Refused {
      std::string from;
      std::string why;
    };
    uint64_t term = 0;
    std::string admin;
    std::string stage;  // "collecting", "ready", "failed"
    std::size_t held = 0;
    std::size_t needed = 0;
    std::vector<Refused> refused;
  };
  // A voter that this node does not hear.
  struct Unheard {
    std::string name;
    Duration span;
  };
  std::string state;  // of this node: "idle", "reconstructing_keys" …
  std::optional<Keys> keys;
  std::vector<Unheard> unheard;
  bool in_minority = false;  // without them, this node hears no majority
  uint64_t term = 0;         // 0: there was none since this node was started
  bool over = false;
  std::string trigger;
  std::string winner;  // empty: nobody
  std::string why;     // it ended so
  std::string rule;    // "majority", "plurality", "highest_score"
  std::size_t needed = 0;
  vote::ScoreWeights weights;
  std::vector<Node> nodes;  // all members
  VoteStatus status;
};

}  // namespace bellwether::cluster
