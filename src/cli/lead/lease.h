// The look at a lease for several verbs, and the part of `bellwether lease` that looks at loops.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"
#include "election/lease_record.h"

namespace bellwether::cli {

// The current state of the key in the store. Talks to the store for at most `timeout`.
runtime::task<Result<election::Observation>> look_at_lease(runtime::Runtime& runtime, std::string url, std::string key,
                                                           Duration timeout);

// lease list --policy
struct PolicyListing {
  std::string policy;                // the sheet
  std::string via;                   // in place of its stores; empty: not
  std::vector<std::string> metrics;  // HOST:PORT of pages of metrics
  Duration timeout;
  bool json = false;
};
int list_policy(const PolicyListing& options);

}  // namespace bellwether::cli
