// The words of the yaml room for a written text and for its problems, as this room uses them.
#pragma once

#include "core/yaml/diagnostic.h"
#include "core/yaml/node.h"

namespace bellwether::scenario {

using yaml::describe;
using yaml::Diagnostic;
using yaml::Diagnostics;
using yaml::did_you_mean;
using yaml::format;
using yaml::in_quotes;
using yaml::join;
using yaml::Mark;
using yaml::Node;
using yaml::one_of;
using yaml::parse_yaml;

}  // namespace bellwether::scenario
