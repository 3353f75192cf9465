#include "cli/verb.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <utility>

namespace bellwether::cli {

CLI::App* new_verb(CLI::App& parent, std::string name, std::string help) {
  CLI::App* verb = parent.add_subcommand(std::move(name), std::move(help));
  // It would have the examples and exit codes of its parent, which are about other things.
  verb->footer("");
  return verb;
}

}  // namespace bellwether::cli
