#include "cli/verb.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <utility>

#include "cli/commands.h"

namespace bellwether::cli {

CLI::App* new_verb(CLI::App& parent, std::string name, std::string help) {
  CLI::App* verb = parent.add_subcommand(std::move(name), std::move(help));
  // It would have the examples and exit codes of its parent, which are about other things.
  verb->footer("");
  return verb;
}

int refuse(std::string_view verb, const std::string& text, int code) {
  std::fprintf(stderr, "bellwether %.*s: %s\n", static_cast<int>(verb.size()), verb.data(), text.c_str());
  return code;
}

}  // namespace bellwether::cli
