#include "cli/slips.h"

#include <CLI/CLI.hpp>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"

namespace bellwether::cli {
namespace {

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string() : "; did you mean '" + std::string(near) + "'?";
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    const bool hidden = command->get_group().empty();
    if (!hidden) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The command that the user named, or the whole application.
const CLI::App& command_given(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : *given.front();
}

std::string whats_wrong(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error,
                        const std::string& first) {
  if (&command == &app && first.empty()) {
    std::string text = "which command?";
    for (const std::string& name : command_names(app)) text += " " + name;
    return text;
  }
  if (&command == &app && !first.starts_with('-')) {
    return "there is no command '" + first + "'" + did_you_mean(first, command_names(app));
  }
  const std::vector<std::string> unknown = command.remaining();
  for (const std::string& word : unknown) {
    if (!word.starts_with('-') || word == "--") continue;
    return "there is no option '" + word + "'" + did_you_mean(word.substr(0, word.find('=')), option_names(command));
  }
  const auto required = dynamic_cast<const CLI::RequiredError*>(&error);
  if (required == nullptr && !unknown.empty()) return "unexpected argument '" + unknown.front() + "'";
  return error.what();
}

}  // namespace

std::string explain_slip(const CLI::App& app, const CLI::ParseError& error, const std::string& first) {
  const CLI::App& command = command_given(app);
  const std::string name = &command == &app ? "bellwether" : "bellwether " + command.get_name();
  return name + ": " + whats_wrong(app, command, error, first) + "\nSee '" + name + " --help'.\n";
}

}  // namespace bellwether::cli
