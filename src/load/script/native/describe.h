// What a compiled workflow declares as the text of a scenario, which says of each step that a function of the program
// does it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::script::native {

struct Described {
  std::string text;    // YAML, in which what a line of the source declares stands in the same line, where order allows
  std::string source;  // the file that it was compiled from, as it was given to the compiler
};

// Loads the program: what stands outside of functions in it runs. `file`: what the steps shall call functions of.
// Errors as Library::open().
Result<Described> describe(std::string_view artifact, const std::string& file);

}  // namespace bellwether::script::native
