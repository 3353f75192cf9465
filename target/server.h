// The target: a server to try load tests on, a thread a core.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/address.h"
#include "target/routes.h"

namespace bellwether::target {

struct TargetOptions {
  runtime::Endpoint listen;
  FaultOptions faults;
  uint32_t threads = 1;
  std::vector<int> pin;  // processors, dealt to the threads in turn; empty: anywhere
  uint64_t seed = 0;     // 0: from the operating system
  bool tls = false;
  std::string certificate_file;  // with tls; empty: one is made for localhost and the address listened on
  std::string key_file;
  std::string ca_file;  // with tls: where to write what clients must trust; empty: nowhere
  Duration run_for;     // 0: until a signal
};

struct TargetTotals {
  uint64_t connections = 0;
  uint64_t requests = 0;
};

// Told once the target answers: its base URL, with the port really used.
using OnListening = void (*)(const std::string& url);

// Serves until SIGINT, SIGTERM or the end of `run_for`. Errors: the address is taken or not ours, a file is wrong.
Result<TargetTotals> run_target(const TargetOptions& options, OnListening on_listening);

}  // namespace bellwether::target
