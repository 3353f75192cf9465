// bellwether node: one node of a cluster. bellwether config: what its settings are, and where each comes from.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/node_settings.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "node/cluster/cluster_node.h"

namespace bellwether::cli {
namespace {

struct Given {
  NodeSettings settings;
  node::NodeOptions options;
  bool quiet = false;
  int verbose = 0;
  bool json = false;
};

int run_node_command(Given& given) {
  auto read = read_node_settings(given.settings);
  if (!read.config) return kExitUsage;
  given.options.config = std::move(*read.config);
  given.options.verbosity = given.quiet ? 0 : 1 + given.verbose;
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) {
    std::fprintf(stderr, "bellwether node: %s\n", runtime.error().message.c_str());
    return kExitUsage;
  }
  return node::run_node(**runtime, given.options);
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& one : texts) out += (out.empty() ? "" : ", ") + one;
  return out;
}

int show_config(const Given& given) {
  const auto read = read_node_settings(given.settings);
  if (given.json) {
    nlohmann::ordered_json out;
    for (const cluster::SettingSpec& spec : read.settings.specs()) {
      const auto& value = read.settings.value(spec.name);
      out[std::string(spec.name)] = {{"value", joined(value.texts)},
                                     {"origin", value.origin},
                                     {"variable", cluster::variable_of(spec)},
                                     {"help", std::string(spec.help)}};
    }
    std::printf("%s\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    Table table({"SETTING", "VALUE", "FROM", "WHAT IT IS"});
    for (const cluster::SettingSpec& spec : read.settings.specs()) {
      const auto& value = read.settings.value(spec.name);
      table.add({std::string(spec.name), joined(value.texts), value.origin, std::string(spec.help)});
    }
    std::fputs(table.text().c_str(), stdout);
  }
  return read.config ? kExitOk : kExitUsage;
}

}  // namespace

void add_node(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<Given>();
  CLI::App* command = new_verb(app, "node", "Be a node of a cluster: member, voter, gate, manager or worker");
  add_node_settings(command, given->settings);
  command->add_flag("--first-start", given->options.first_start,
                    "This voter has never voted in this cluster: needed once, at its very first start");
  command->add_flag("--found", given->options.found,
                    "Begin a new cluster when none of the seeds answers: for the first node only");
  command->add_option("--audit", given->options.audit_file, "Append every event to this file, as JSON")
      ->type_name("FILE");
  command->add_flag("--json", given->options.json, "Messages as JSON, one object a line");
  command->add_flag("-q,--quiet", given->quiet, "Say nothing but errors");
  command->add_flag("-v,--verbose", given->verbose, "Tell every decision and its evidence");
  command->footer(
      "The settings are those of --config, then those of the environment (BELLWETHER_NAME, ...), then those of --set;\n"
      "`bellwether config show` lists them all, with where each value comes from. The cluster's shared secret comes\n"
      "from secret.file or from the variable BELLWETHER_AUTH_SECRET, and never from the command line.\n\n"
      "Examples:\n"
      "  openssl rand -base64 32 > secret && chmod 600 secret\n"
      "  bellwether node --config m1.yaml --first-start\n"
      "  bellwether node --set cluster=demo --set name=w1 --set role=worker --set seeds=10.0.0.1 \\\n"
      "      --set secret.file=secret\n"
      "  bellwether cluster members --config m1.yaml\n\n"
      "A first SIGTERM or Ctrl-C lets it hand over and leave, a second one ends it at once.\n"
      "Exit codes: 0 it left, 1 it found no cluster (join_limit) or its name is taken, 104 wrong settings, files, "
      "ports\n"
      "  or secrets, 128 + N ended at once by signal N.");
  command->callback([given, &exit_code] { exit_code = run_node_command(*given); });
}

void add_config(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<Given>();
  CLI::App* command = new_verb(app, "config", "The settings of a node");
  command->require_subcommand(1);
  CLI::App* show = new_verb(*command, "show", "Each setting, its value, and where it comes from");
  add_node_settings(show, given->settings);
  show->add_flag("--json", given->json, "As JSON");
  show->footer(
      "Examples:\n"
      "  bellwether config show\n"
      "  bellwether config show --config m1.yaml --set profile=wan\n\n"
      "Exit codes: 0 a node could start with these, 104 it could not, and why.");
  show->callback([given, &exit_code] { exit_code = show_config(*given); });
}

}  // namespace bellwether::cli
