// Options of the command line that are spans of time: "15s", "250ms"; a bare number means seconds, as in flock(1) and
// timeout(1).
#pragma once

#include <optional>
#include <string>

#include "core/base/time.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

// `into` must outlive the command.
void add_duration(CLI::App* command, const std::string& names, Duration& into, const std::string& help);
void add_duration(CLI::App* command, const std::string& names, std::optional<Duration>& into, const std::string& help);

}  // namespace bellwether::cli
