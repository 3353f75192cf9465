// The help of commands: its form, its pages in the reference, and the answer to a wrong command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace bellwether::cli {

// The purpose of the command at `path` ("cluster up"), which has a row in help_table.h.
std::string purpose_of(std::string_view path);

// "cluster up"; "" for the whole application.
std::string path_of(const CLI::App& command);

// Gives the application the form of help that all its commands, added later, inherit.
void use_help_format(CLI::App& app);

// `bellwether help [COMMAND…]` and `bellwether version`.
void add_help(CLI::App& app, int& exit_code);

// "; did you mean 'NAME'?", or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

// The message for a command line that could not be parsed: the error, the nearest command or option, and the help to
// ask for.
std::string explain_usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace bellwether::cli
