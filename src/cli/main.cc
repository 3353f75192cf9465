// bellwether: the table of contents of the command line. Each command lives in a separate file.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <vector>

#include "cli/verb.h"
#include "core/base/bytes.h"
#include "core/base/product.h"
#include "lead/run/guardian.h"

namespace bellwether::cli {
namespace {

// Errors of wrong command lines, with the probable intention.

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near);
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
    return fmt::format("there is no command '{}'{}", first, did_you_mean(first, command_names(app)));
  }
  const std::vector<std::string> unknown = command.remaining();
  for (const std::string& word : unknown) {
    if (!word.starts_with('-') || word == "--") continue;
    return fmt::format("there is no option '{}'{}", word,
                       did_you_mean(word.substr(0, word.find('=')), option_names(command)));
  }
  const auto required = dynamic_cast<const CLI::RequiredError*>(&error);
  if (required == nullptr && !unknown.empty()) return fmt::format("unexpected argument '{}'", unknown.front());
  return error.what();
}

// The message for a command line that could not be parsed: the error, the nearest command or option, and the place of
// the help. `first`: the first argument, or empty.
std::string explain_usage_error(const CLI::App& app, const CLI::ParseError& error, const std::string& first) {
  const CLI::App& command = command_given(app);
  const std::string name = &command == &app ? "bellwether" : "bellwether " + command.get_name();
  return fmt::format("{}: {}\nSee '{} --help'.\n", name, whats_wrong(app, command, error, first), name);
}

// In the order of the help.
struct Verbs {
  const char* group;
  std::vector<void (*)(CLI::App&, int&)> add;
};
const Verbs kVerbs[] = {
    {"Load", {&add_run, &add_check, &add_target, &add_build, &add_ctl, &add_report, &add_results}},
    {"Cluster", {&add_cluster, &add_job, &add_manager, &add_worker, &add_node, &add_config}},
    {"Lead", {&add_lead, &add_lease, &add_budget, &add_doctor, &add_drill, &add_loops, &add_alerts, &add_watch}},
    {"Advanced", {&add_agents, &add_context, &add_keys, &add_sim, &add_share}},
};

void add_groups(CLI::App& app, int& exit_code) {
  for (const Verbs& verbs : kVerbs) {
    for (const auto add : verbs.add) {
      add(app, exit_code);
      CLI::App* const verb = app.get_subcommands({}).back();
      const bool hidden = verb->get_group().empty();
      if (!hidden) verb->group(verbs.group);
    }
  }
}

// `bellwether help [VERB]` and `bellwether version`, a common habit.
void add_help(CLI::App& app, int& exit_code) {
  CLI::App* const help = app.add_subcommand("help", "Show the help of a command")->group("Advanced");
  help->add_option("COMMAND", "One of the above; none: this page");
  help->callback([&app, help, &exit_code] {
    const auto words = help->get_option("COMMAND")->results();
    const auto names = command_names(app);
    const std::string name = words.empty() ? std::string() : words.front();
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) {
      // CLI::App::help() of the whole is that of the command which was given.
      const std::string whole = app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
      std::fputs((name.empty() ? whole : app.get_subcommand(name)->help(app.get_name())).c_str(), stdout);
    } else {
      exit_code = refuse("help", fmt::format("there is no command '{}'{}", name, did_you_mean(name, names)));
    }
  });
  app.add_subcommand("version", "Show the version")->group("Advanced")->callback([&app] {
    std::printf("%s\n", app.version().c_str());
  });
}

}  // namespace
}  // namespace bellwether::cli

// NOLINTNEXTLINE(bugprone-exception-escape): a mistake in the declarations below may as well end here
int main(int argc, char** argv) {
  // The process that `bellwether lead` puts between itself and its command; not for people.
  if (bellwether::lead::GuardianCall::is_one(argc, argv)) {
    return bellwether::lead::guardian_main(bellwether::lead::GuardianCall::parse(argc, argv));
  }

  CLI::App app{"Bellwether: load tests whose figures can be trusted, and leaders that stop in time."};
  app.name("bellwether");
  app.footer(
      "Examples:\n"
      "  bellwether target --listen 127.0.0.1:18080        a server to try things on\n"
      "  bellwether run http://127.0.0.1:18080/json --vus 50 --duration 10s\n"
      "  bellwether check scenario.yaml                     is it right? sends nothing\n"
      "  bellwether run shop.cc                             a workflow in C++\n"
      "  bellwether run scenario.yaml --out json=result.json\n"
      "  bellwether ctl last pause                          control a run that goes on\n"
      "  bellwether lead --via redis://10.0.0.5 --key orders -- ./worker    only while leading\n\n"
      "Exit codes of a run: 0 pass, 1 no load at all, 99 a threshold failed, 104 wrong scenario or command line,\n"
      "  105 ended by a signal, 108 aborted by a step or a timeout, 110 every request failed, 120 a part was lost,\n"
      "  121 schedule not achieved, 122 generator saturated, 123 no samples for a threshold. Other commands: their\n"
      "  --help. Which code wins: docs/formats/result.md.");
  app.set_version_flag("--version", "bellwether " + std::string(bellwether::kProductVersion));
  app.require_subcommand(1);

  // A pipe without a reader must not end a run before its result file is written.
  std::signal(SIGPIPE, SIG_IGN);

  int exit_code = bellwether::cli::kExitOk;
  bellwether::cli::add_groups(app, exit_code);
  bellwether::cli::add_help(app, exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help and version
    std::fputs(bellwether::cli::explain_usage_error(app, error, argc > 1 ? argv[1] : "").c_str(), stderr);
    return bellwether::cli::kExitUsage;
  }
  return exit_code;
}
