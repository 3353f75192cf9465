// The programs of a simulated machine: a function of the test says for each start what the program will do.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace bellwether::sim {

// What a program does once it is started.
struct ProgramScript {
  std::optional<Error> refusal;             // it cannot be started, for this reason
  Duration runs_for = Duration::millis(1);  // max(): until a signal ends it
  runtime::ChildEnd end;                    // how it ends by itself
  std::string output;                       // written at its end
  bool ignores_terminate = false;           // only SIGKILL ends it early; otherwise any signal but 0 does
  std::vector<int>* signals = nullptr;      // notes what it was sent; outlives the program
};

class Programs {
 public:
  using Script = ProgramScript (*)(void* context, const runtime::SpawnOptions& options);
  // From now on `script` is asked. Without one there are no programs.
  void set(Script script, void* context) {
    script_ = script;
    context_ = context;
  }
  // `runtime` outlives the child. The child ends with its simulated process, whatever its options say.
  Result<std::unique_ptr<runtime::Child>> start(runtime::Runtime& runtime, const runtime::SpawnOptions& options);

 private:
  Script script_ = nullptr;
  void* context_ = nullptr;
  int64_t next_pid_ = 100'000;  // far from those of processes
};

}  // namespace bellwether::sim
