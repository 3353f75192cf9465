// --out json=FILE, as several commands have it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

void add_out_option(CLI::App* command, std::vector<std::string>& outs);
// The files that were named. kInvalid: something else was.
Result<std::vector<std::string>> json_files(const std::vector<std::string>& outs);

}  // namespace bellwether::cli
