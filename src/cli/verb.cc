#include "cli/verb.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <utility>

namespace bellwether::cli {

CLI::App* new_verb(CLI::App& parent, std::string name, std::string help) {
  return parent.add_subcommand(std::move(name), std::move(help));
}

}  // namespace bellwether::cli
