// Wrong command lines, in words that say what was probably meant.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace bellwether::cli {

// The message for a command line that could not be parsed: what is wrong, the nearest command or option, and where the
// help is. `first`: the first argument, or empty.
std::string explain_slip(const CLI::App& app, const CLI::ParseError& error, const std::string& first);

}  // namespace bellwether::cli
