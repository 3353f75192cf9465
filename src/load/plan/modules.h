// The modules of a script: other files that it requires by name, found in its text, so that all of it is known before
// it runs, and goes with the scenario to wherever that runs.
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

inline constexpr std::size_t kModulesMax = 100;  // of one script, with those that its modules require

// What stands as a text after `require` in a script, each once, in the order of the script. Comments and other texts
// are not looked at.
std::vector<std::string> required_names(std::string_view script);

// Those that `script` requires, and those that they require, from `folder`, that of the script: empty, or with a slash
// at its end. kInvalid: a name that cannot be one, or too many; or the error of reading.
Result<std::vector<Module>> read_modules(std::string_view script, const std::string& folder,
                                         const scenario::Outside& outside);

}  // namespace bellwether::plan
