// Searches the text of a script in Lua before it runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bellwether::plan {

struct ConstantArgument {
  std::string text;
  int line = 0;  // of the first call with this text
};
// The texts in quotes that begin the arguments of `function` ("require", "hash.hmac") in a script, each once, in the
// order of the script. Comments and other texts are skipped.
std::vector<ConstantArgument> constant_arguments(std::string_view script, std::string_view function);

}  // namespace bellwether::plan
