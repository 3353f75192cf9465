// The modules of a script: files that it requires by name. They are found in its text before it runs, and go with the
// scenario to each machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace bellwether::scenario {
class Outside;
}

namespace bellwether::plan {

struct Module {
  std::string name;                         // "lib.helpers"
  std::string path;                         // "lib/helpers.lua", relative to the folder of the script; for messages
  std::shared_ptr<const std::string> text;  // of the file
};

inline constexpr std::size_t kMaxModules = 100;  // of one script, with those that its modules require

// The texts after `require` in a script, each once, in the order of the script. Comments and other texts are skipped.
std::vector<std::string> required_names(std::string_view script);

// The modules that `script` requires, and those that they require, from `folder`, that of the script: empty, or with a
// slash at its end. kInvalid: an impossible name, or too many; or the error of reading.
Result<std::vector<Module>> read_modules(std::string_view script, const std::string& folder,
                                         const scenario::Outside& outside);

// Searches the text of a script in Lua before it runs.
struct ConstantArgument {
  std::string text;
  int line = 0;  // of the first call with this text
};
// The texts in quotes that begin the arguments of `function` ("require", "hash.hmac") in a script, each once, in the
// order of the script. Comments and other texts are skipped.
std::vector<ConstantArgument> constant_arguments(std::string_view script, std::string_view function);

}  // namespace bellwether::plan
