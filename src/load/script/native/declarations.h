// The declarations of a compiled workflow, and their text as a scenario.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "load/script/native/library.h"

namespace bellwether::script::native {

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

}  // namespace bellwether::script::native
