// `bellwether loops run`: the loops of a policy sheet in one process, each on its own lock, with a command as its tick.
// One thread for all loops, and another for the page of metrics.
#pragma once

#include <string>
#include <vector>

#include "core/runtime/epoll/epoll_runtime.h"
#include "lead/policy/policy.h"

namespace bellwether::lead {

struct LoopHostOptions {
  struct Loop {
    LoopPolicy policy;    // with a store
    std::string command;  // one tick, for /bin/sh -c
  };
  std::vector<Loop> loops;
  std::string holder;  // our name; empty: host:pid
  bool trust_empty = false;
  bool keep_epochs = true;  // remember on this machine which epochs were seen
  std::string metrics_at;   // HOST:PORT; empty: no page of metrics
  std::string audit_file;   // empty: none
  bool json = false;        // messages as JSON, one object a line
  int verbosity = 1;        // 0 quiet, 1 important events, 2 every decision
};

// Runs until SIGINT, SIGTERM or SIGHUP, then ends the ticks and gives all locks back. The exit code of the process: 0,
// or 104 when a loop cannot be run as its sheet says, which it has reported. REQUIRES that no other thread runs yet.
int run_loops(runtime::EpollRuntime& runtime, const LoopHostOptions& options);

}  // namespace bellwether::lead
