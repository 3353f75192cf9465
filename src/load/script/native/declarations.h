// Compiled workflows: loaded into this process, described as the text of a scenario, and run on a load thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bellwether/workflow_abi.h"
#include "core/base/result.h"
#include "load/plan/plan.h"
#include "load/vuser/program.h"

namespace bellwether::script::native {

// A compiled workflow in this process. Each load is a separate copy with separate statics: two load threads share
// nothing of it.

// Whether these are the bytes of a compiled program, valid or not.
bool is_artifact(std::string_view bytes);

class Library {
 public:
  // Runs the program's code outside of functions, with all rights of this process: only for programs that the user of
  // this machine wants to run. `name` for messages. kInvalid for bytes that are no compiled workflow, kUnsupported for
  // another version.
  static Result<std::unique_ptr<Library>> open(std::string_view bytes, const std::string& name);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const bellwether_program& program() const { return *program_; }

 private:
  Library(int file, std::string path, void* handle) : file_(file), path_(std::move(path)), handle_(handle) {}

  int file_;  // in memory
  std::string path_;
  void* handle_;
  const bellwether_program* program_ = nullptr;
};

struct Declared {
  uint32_t kind = 0;  // BELLWETHER_SCENARIO, …
  uint32_t line = 0;  // of the source; 0: unknown
  std::string name, value;
};

// In the order of the program. kInvalid when the program fails to declare them, or declares more than a scenario may
// have.
Result<std::vector<Declared>> declarations_of(const Library& library, const std::string& name);

// The names that a step declares, in its order.
struct StepNames {
  std::vector<std::string> checks, sets, arguments, requests;
};
// `step`: "WORKFLOW.STEP".
StepNames names_of(const std::vector<Declared>& declared, std::string_view step);
// kNotFound, with the nearest name.
Error no_such_step(const std::vector<Declared>& declared, std::string_view step, const std::string& name);

// The declarations of a compiled workflow as the text of a scenario, which names a function of the program for each
// step.
struct Described {
  std::string text;    // YAML; a declaration stands in its line of the source, if the order allows
  std::string source;  // its source file, as given to the compiler
};

// Loads the program, which runs its code outside of functions. `file`: the file whose functions the steps shall call.
// Errors as of Library::open().
Result<Described> describe(std::string_view artifact, const std::string& file);

// A compiled workflow on one load thread. Errors as of Library::open().
Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program);

}  // namespace bellwether::script::native
