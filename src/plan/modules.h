// The modules of a script: other files that it requires by name, found in its text, so that all of it is known before
// it runs, and goes with the scenario to wherever that runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

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

// Those that `script` requires, and those that they require. kInvalid: a name that cannot be one, too many, or the
// error of `read`, which gets a path relative to the folder of the script.
using ReadModule = std::function<Result<std::string>(const std::string& path)>;
Result<std::vector<Module>> read_modules(std::string_view script, const ReadModule& read);

}  // namespace bellwether::plan
