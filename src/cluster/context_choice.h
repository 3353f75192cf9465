// What the settings of a node say about the leadership of contexts.
#pragma once

#include <string>
#include <vector>

#include "cluster/settings.h"
#include "election/context/context_settings.h"

namespace bellwether::cluster {

struct ContextChoice {
  bool serves = false;               // this node leads contexts when it leads its cluster
  std::vector<std::string> manager;  // program and arguments; empty: none is registered
  uint32_t jobs = 1;                 // at once
  Duration job_timeout = Duration::minutes(10);
  Duration job_grace = Duration::seconds(10);
  context_lead::ContextSettings settings;
};

inline constexpr Duration kLongestJob = Duration::hours(24);

// kInvalid, with what was expected.
Status check_context(const ContextChoice& choice);

}  // namespace bellwether::cluster
