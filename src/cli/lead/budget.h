// bellwether budget: the time of a key without a holder, computed before anything runs. The shared code of budgets of
// keys and of clusters of nodes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/view.h"
#include "core/base/time.h"
#include "election/budget.h"

namespace bellwether::cli {

struct BudgetOptions {
  std::string policy;   // a sheet
  std::string profile;  // of a fleet; of a cluster "lan", "wan", "local", empty: that of the file, or lan
  std::string via;      // a store's URL, or a group's; of a cluster also "vote"; empty: as in the file, or a quorum
  std::string ttl;
  std::string renew;
  std::string retry;
  std::string store_p99 = "50ms";
  bool json = false;
  bool of_cluster = false;
  // Of a cluster.
  std::string file;               // of a node's settings; empty: the defaults
  std::string elects;             // the URL of a group says that its nodes elect: "vote" or "quorum"; else empty
  std::optional<Duration> lease;  // of the store, from --ttl
  std::optional<std::size_t> nodes;
  std::optional<std::size_t> voters;
  std::optional<Duration> round_trip;
  std::optional<Duration> sync;
};

// `operation`: of a store, p99. The exit code of the command.
int budget_of_cluster(const BudgetOptions& options, Duration operation);

// A sum of a budget: for people to a tenth of a second, below a second to a hundredth, rounded up, because it is a
// promise.
std::string about(Duration span);
Field sum_of(const char* title, const char* key, const election::Sum& sum);
Fields sums_of(const election::FailoverBudget& budget);
// Two lines each: the total and the formula, then the arithmetic.
void print_sums(const Fields& sums);

}  // namespace bellwether::cli
