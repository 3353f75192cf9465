// bellwether budget --cluster: how long until the nodes of a cluster know that one of them is gone, and until another
// one leads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/base/time.h"
#include "election/budget.h"

namespace bellwether::cli {

// Sums of a budget, as people read them.
double seconds(Duration span);
// To a tenth of a second, below a second to a hundredth, rounded up: these are promises.
std::string about(Duration span);
// Two lines: the total and the formula, then the arithmetic.
void print_sum(const char* title, const election::Sum& sum);
void print_failover(const election::FailoverBudget& budget);

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
