// The variables of the environment, as something that tests can stand in for.
#pragma once

#include <string>

namespace bellwether::store {

// Looks up a variable; nullptr when it is not set.
using Environment = const char* (*)(const char* name);

// The variable, empty when it is not set.
std::string variable(Environment environment, const char* name);
// That of this process.
const char* own_environment(const char* name);

// The folder for what must survive a restart but is no configuration: $XDG_STATE_HOME/bellwether, or that below
// ~/.local/state; empty without a home.
std::string state_folder(Environment environment);

}  // namespace bellwether::store
