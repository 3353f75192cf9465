// `bellwether lead --via vote:FILE` and `quorum:FILE`: what of the command line goes with a group that elects its
// leader itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lead/run/leader_run.h"

namespace bellwether::cli {

bool is_group(std::string_view via);

struct GroupGiven {
  bool first_start = false;
  std::vector<std::string> of_stores;  // options that only mean something to a store, as they were given
};

// Runs it: the exit code of the process. What is wrong is told on standard error.
int run_lead_in_group(lead::LeadOptions& options, const GroupGiven& given);

}  // namespace bellwether::cli
