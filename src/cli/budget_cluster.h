// bellwether budget --cluster: how long until the nodes of a cluster know that one of them is gone, and until another
// one leads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/time.h"

namespace bellwether::cli {

struct ClusterBudgetOptions {
  std::string file;               // of a node's settings; empty: those that are usual
  std::string elects;             // how the URL of a group said that its nodes elect, "vote" or "quorum"; else empty
  std::string profile;            // "lan", "wan", "local"; empty: that of the file, or lan
  std::string via;                // who decides: "vote" or a store's URL; empty: what the file says, or a quorum
  std::optional<Duration> lease;  // of that store
  std::optional<std::size_t> nodes;
  std::optional<std::size_t> voters;
  std::optional<Duration> round_trip;
  std::optional<Duration> sync;
  Duration operation;  // of a store, p99
  bool json = false;
};

// The exit code of the command.
int budget_of_cluster(const ClusterBudgetOptions& options);

}  // namespace bellwether::cli
