// Verbs of `bellwether lease` that have a file of their own.
#pragma once

#include <string>
#include <vector>

#include "core/base/time.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

// lease list --policy
struct PolicyListing {
  std::string policy;                // the sheet
  std::string via;                   // in place of its stores; empty: not
  std::vector<std::string> metrics;  // HOST:PORT of pages of metrics
  Duration timeout;
  bool json = false;
};
int list_policy(const PolicyListing& options);

void add_lease_repair(CLI::App* lease, int& exit_code);
void add_lease_serve(CLI::App* lease, int& exit_code);

}  // namespace bellwether::cli
