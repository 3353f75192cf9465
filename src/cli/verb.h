// The one place that makes commands and their verbs, so that what the parser of command lines needs for that is
// compiled once.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace bellwether::cli {

// Belongs to `parent`.
CLI::App* new_verb(CLI::App& parent, std::string name, std::string help);

}  // namespace bellwether::cli
