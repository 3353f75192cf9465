// One run on this machine from start to exit code: limits of the machine, signals, progress, summary, result files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/live_screen.h"
#include "cli/outs.h"
#include "plan/plan.h"
#include "script/lua/state.h"

namespace bellwether::cli {

struct RunSettings {
  uint32_t cores = 0;  // 0: all processors that may be used
  std::vector<int> pin;
  uint64_t seed = 0;
  Ui ui = Ui::kCi;
  bool ignore_limits = false;  // start although this machine does not offer enough
  std::vector<Out> outs;
  script::lua::Permissions scripts;
  std::string store;  // the file in which the run is kept; empty: in none
};

// Returns the exit code of the process. Reports on stdout, problems on stderr.
int run_session(const plan::Plan& plan, const RunSettings& settings);

}  // namespace bellwether::cli
