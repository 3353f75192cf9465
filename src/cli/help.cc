#include "cli/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

#include "cli/help_table.h"
#include "cli/verb.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "load/report/text.h"
#include "load/report/write_file.h"

namespace bellwether::cli {
namespace {

constexpr std::size_t kColumns = 120;

const HelpRow& row_of(std::string_view path) {
  const auto* const row = std::ranges::find(kHelpRows, path, &HelpRow::path);
  bellwether::check(row != std::end(kHelpRows), "each command has a row in help_table.h");
  return *row;
}

bool is_hidden(const CLI::App& command) { return command.get_group().empty(); }

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* one) { return !is_hidden(*one); });
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string examples_of(const CLI::App& command, const std::string& indent) {
  std::string out = indent;
  for (const char c : row_of(path_of(command)).examples) {
    out += c;
    if (c == '\n') out += indent;
  }
  return out + "\n";
}

// The rest of the help, a line for each paragraph, wrapped; indented lines stay as they are.
std::string footer_of(const CLI::App& command) {
  std::string out;
  std::istringstream lines(command.get_footer());
  for (std::string line; std::getline(lines, line);) {
    const auto parts = line.empty() || line.starts_with(' ') ? std::vector{line} : report::wrap(line, kColumns);
    out += CLI::detail::join(parts, "\n") + "\n";
  }
  return out;
}

bool is_positional(const CLI::Option& option) { return option.get_positional() && !option.nonpositional(); }

// The parser writes "UINT:INT in [1 - 50]" and "TEXT:FILE"; people read "N (1 - 50)" and "FILE".
std::string kind_of(const std::string& type) {
  const auto colon = type.find(':');
  const std::string base = type.substr(0, colon);
  const std::string rule = colon == std::string::npos ? "" : type.substr(colon + 1);
  const auto range = rule.find('[');
  if (base == "TEXT") return rule == "FILE" ? rule : base;
  if (base != "UINT" && base != "INT" && base != "FLOAT") return type;
  return range == std::string::npos ? "N" : fmt::format("N ({})", rule.substr(range + 1, rule.find(']') - range - 1));
}

class HelpFormat final : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* command) const override {
    if (command->get_parent() == nullptr || is_hidden(*command)) return command->get_description() + "\n\n";
    return fmt::format("{}.\n\nExample:\n{}\n", command->get_description(), examples_of(*command, "  "));
  }

  // Without the parser's mark of a flag that turns something off: "--no-x{false}".
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, positional);
    return name.substr(0, name.find("{false}"));
  }

  // What follows an option's name: " N (1 - 1000) (required)".
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string out;
    const std::string type = option->get_type_size() == 0 ? "" : option->get_type_name();
    // The name of a positional argument says more than that it is a text.
    if (!type.empty() && !(is_positional(*option) && type == "TEXT")) out = " " + kind_of(type);
    if (option->get_expected_max() >= CLI::detail::expected_max_vector_size) out += " ...";
    if (!option->get_default_str().empty()) out += fmt::format(" (default {})", option->get_default_str());
    if (option->get_required()) out += " (required)";
    for (const CLI::Option* other : option->get_needs()) out += fmt::format(" (with {})", other->get_name());
    for (const CLI::Option* other : option->get_excludes()) out += fmt::format(" (without {})", other->get_name());
    return out;
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    return CLI::detail::join(report::wrap(option->get_description(), kColumns - get_column_width()), "\n");
  }

  std::string make_footer(const CLI::App* command) const override { return footer_of(*command); }

  // The words of an option's line before its text: "-u,--vus N (required)".
  std::string words_of(const CLI::Option& option) const {
    return make_option_name(&option, is_positional(option)) + make_option_opts(&option);
  }

  std::string usage_of(const CLI::App& command) const {
    std::string usage = make_usage(&command, "bellwether " + path_of(command));
    while (usage.ends_with('\n')) usage.pop_back();
    return usage;
  }
};

// --- the reference: a page for each command of the first level ------------------------------------------------------

std::string cell(std::string text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

void write_section(const CLI::App& command, const HelpFormat& format, int level, std::string& out) {
  out += fmt::format("{} bellwether {}\n\n{}.\n\n```sh\n{}```\n\n```text\n{}\n```\n", std::string(level, '#'),
                     path_of(command), command.get_description(), examples_of(command, ""), format.usage_of(command));
  const auto options = command.get_options(
      [&](const CLI::Option* one) { return one != command.get_help_ptr() && !one->get_group().empty(); });
  if (!options.empty()) out += "\n| option | meaning |\n|---|---|\n";
  for (const CLI::Option* option : options) {
    out += fmt::format("| `{}` | {} |\n", cell(format.words_of(*option)), cell(option->get_description()));
  }
  if (!command.get_footer().empty()) out += fmt::format("\n```text\n{}```\n", footer_of(command));
  for (const CLI::App* one : commands_of(command)) {
    out += '\n';
    write_section(*one, format, level + 1, out);
  }
}

Status write_reference(const CLI::App& app, const std::string& folder) {
  const HelpFormat format;
  std::string index = "# Commands\n\n`bellwether help --markdown FOLDER` writes these pages.\n";
  std::string group;
  for (const CLI::App* command : commands_of(app)) {
    if (command->get_group() != group) {
      group = command->get_group();
      index += fmt::format("\n## {}\n\n| command | purpose |\n|---|---|\n", group);
    }
    const std::string name = command->get_name();
    index += fmt::format("| [{}]({}.md) | {} |\n", name, name, command->get_description());
    std::string page;
    write_section(*command, format, 1, page);
    BW_RETURN_IF_ERROR(report::write_file(fmt::format("{}/{}.md", folder, name), page));
  }
  return report::write_file(folder + "/README.md", index);
}

// --- help and version ------------------------------------------------------------------------------------------------

// The commands below `command` with this name, at any depth.
void find_below(const CLI::App& command, std::string_view name, std::vector<std::string>& out) {
  for (const CLI::App* one : commands_of(command)) {
    if (one->get_name() == name) out.push_back(path_of(*one));
    find_below(*one, name, out);
  }
}

const CLI::App& root_of(const CLI::App& command) {
  return command.get_parent() == nullptr ? command : root_of(*command.get_parent());
}

// "; did you mean 'members'?" below `parent`, else "; did you mean 'cluster members'?" anywhere.
std::string meant_command(const CLI::App& parent, const std::string& word) {
  std::string near = did_you_mean(word, names_of(commands_of(parent)));
  std::vector<std::string> elsewhere;
  if (near.empty()) find_below(root_of(parent), word, elsewhere);
  return elsewhere.empty() ? near : fmt::format("; did you mean '{}'?", CLI::detail::join(elsewhere, "' or '"));
}

// The command that `words` name, below `app`.
Result<const CLI::App*> command_named(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const auto commands = commands_of(*command);
    const auto found = std::ranges::find(commands, word, &CLI::App::get_name);
    if (found == commands.end()) {
      const std::string path = path_of(*command);
      const std::string meant = meant_command(*command, word);
      return fail(Errc::kNotFound, "there is no command '{}{}{}'{}", path, path.empty() ? "" : " ", word,
                  meant.empty() ? "; `bellwether help` lists all" : meant);
    }
    command = *found;
  }
  return command;
}

Result<int> show_help(const CLI::App& app, const std::vector<std::string>& words, const std::string& folder) {
  if (!folder.empty()) {
    BW_RETURN_IF_ERROR(write_reference(app, folder));
    return kExitOk;
  }
  BW_TRY(const CLI::App* command, command_named(app, words));
  // CLI::App::help() of the application is that of the command which was given.
  const std::string name = command == &app ? "bellwether" : "bellwether " + path_of(*command);
  std::fputs(app.get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal).c_str(), stdout);
  return kExitOk;
}

// The innermost command that the user named, or the application.
const CLI::App& command_given(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

// The option whose name begins the parser's text about it.
const CLI::Option* option_in(const CLI::App& command, std::string_view text) {
  constexpr std::string_view kBefore = "Could not convert: ";
  if (text.starts_with(kBefore)) text.remove_prefix(kBefore.size());
  text = text.substr(0, text.find_first_of(" :"));
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (!text.empty() && option->get_name() == text) return option;
    }
  }
  return nullptr;
}

// What to write as its value: "a whole number from 1 to 50"; empty where its own check says so.
std::string expected_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string base = type.substr(0, type.find(':'));
  if (type == "TEXT:FILE") return "the name of a file that exists";
  if (base != "UINT" && base != "N" && base != "INT" && base != "FLOAT") return {};
  const std::string what = base == "FLOAT" ? "a number" : "a whole number";
  const auto from = type.find('[');
  const auto to = type.find(" - ", from);
  if (type.ends_with(":POSITIVE")) return what + " above 0";
  if (from == std::string::npos || to == std::string::npos)
    return what + (base == "UINT" || base == "N" ? " from 0 on" : "");
  return fmt::format("{} from {} to {}", what, type.substr(from + 1, to - from - 1),
                     type.substr(to + 3, type.find(']') - to - 3));
}

template <class Kind>
bool is_a(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

// The parser's error about an option, in plain words.
std::string option_trouble(const CLI::Option& option, const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string name = option.get_name();
  const std::string form = is_positional(option) ? name : name + " " + kind_of(option.get_type_name());
  const std::string other = text.substr(text.rfind(' ') + 1);
  const std::string& means = option.get_description();
  const std::size_t given = option.results().size();
  const auto least = static_cast<std::size_t>(std::max(option.get_items_expected_min(), 1));
  if (is_a<CLI::RequiredError>(error)) return fmt::format("{} is missing: {}", form, means);
  if (is_a<CLI::RequiresError>(error)) return fmt::format("{} needs {}: give both", name, other);
  if (is_a<CLI::ExcludesError>(error)) {
    return fmt::format("{} and {} exclude each other: give one of them", name, other);
  }
  if (is_a<CLI::ArgumentMismatch>(error)) {
    if (given == 0) return fmt::format("{} has no value; write {}: {}", name, form, means);
    if (given < least) return fmt::format("{}: {} given, at least {} needed: {}", name, given, least, means);
    return fmt::format("{} is given {} times; give it once", name, given);
  }
  const std::string expected = expected_of(option);
  const std::string value = CLI::detail::join(option.results(), " ");
  if (option.get_items_expected_max() == 0) return fmt::format("{} takes no value: found '{}'", name, value);
  if (expected.empty()) return text;
  const bool too_large =
      is_a<CLI::ConversionError>(error) && value.find_first_not_of("0123456789") == std::string::npos;
  return fmt::format("{} '{}': write {}{}", name, value, expected, too_large ? ", and a smaller one" : "");
}

std::string whats_wrong(const CLI::App& command, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = command.remaining(true);
  const auto names = names_of(commands_of(command));
  const auto hint = [&command](const std::string& word, const std::vector<std::string>& known) {
    const std::string near = did_you_mean(word, known);
    const bool is_curl = near.empty() && path_of(command) == "import curl";
    return is_curl ? "; put the whole command line of curl in quotes" : near;
  };
  const bool wants_command = command.get_require_subcommand_min() > 0;
  if (wants_command && unknown.empty())
    return fmt::format("the command is missing; give one of: {}", CLI::detail::join(names, ", "));
  if (wants_command && !unknown.front().starts_with('-')) {
    return fmt::format("there is no command '{}'{}", unknown.front(), meant_command(command, unknown.front()));
  }
  for (const std::string& word : unknown) {
    if (word == "--") break;  // the words of another command follow
    if (!word.starts_with('-')) continue;
    return fmt::format("there is no option '{}'{}", word, hint(word.substr(0, word.find('=')), option_names(command)));
  }
  if (const CLI::Option* option = option_in(command, error.what())) return option_trouble(*option, error);
  if (unknown.empty()) return error.what();
  return fmt::format("unexpected argument '{}'{}", unknown.front(), hint(unknown.front(), names));
}

}  // namespace

std::string purpose_of(std::string_view path) { return std::string(row_of(path).purpose); }

std::string path_of(const CLI::App& command) {
  if (command.get_parent() == nullptr) return {};
  const std::string parent = path_of(*command.get_parent());
  return parent.empty() ? command.get_name() : parent + " " + command.get_name();
}

void use_help_format(CLI::App& app) {
  const auto format = std::make_shared<HelpFormat>();
  format->label("SUBCOMMAND", "COMMAND");
  format->label("SUBCOMMANDS", "COMMAND");
  format->label("Positionals", "Arguments");
  app.formatter(format);
}

void add_help(CLI::App& app, int& exit_code) {
  struct Given {
    std::vector<std::string> words;
    std::string folder;
  };
  const auto given = std::make_shared<Given>();
  CLI::App* const help = new_verb(app, "help");
  help->add_option("COMMAND", given->words, "The words of a command; none: the list of commands");
  add_text(help, "--markdown", given->folder, "FOLDER", "Write a page for each command into this folder");
  help->callback(
      [&app, given, &exit_code] { exit_code = answer("help", show_help(app, given->words, given->folder)); });
  new_verb(app, "version")->callback([&app] { std::printf("%s\n", app.version().c_str()); });
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near);
}

std::string explain_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = command_given(app);
  const std::string name = &command == &app ? "bellwether" : "bellwether " + path_of(command);
  return fmt::format("{}: {}\nSee '{} --help'.\n", name, whats_wrong(command, error), name);
}

}  // namespace bellwether::cli
