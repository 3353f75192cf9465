#include "cli/operator_session.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "cli/verb.h"
#include "cluster/node/secrets.h"
#include "core/base/encoding.h"
#include "election/store/environment.h"

namespace bellwether::cli {
namespace {

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size()) != 0) return "node";
  return name.c_str();
}

Result<OperatorSession> open(const OperatorOptions& options, const AskedCluster& asked, const ReadSettings& read) {
  const cluster::NodeConfig& config = *read.config;
  OperatorSession session;
  session.cluster = asked.name;
  session.by = who_asks(options.by, "operator");
  if (!options.node.empty()) {
    const auto node = parse_host_port(options.node, cluster::kDefaultPort);
    if (!node) return fail(Errc::kInvalid, "--node '{}': {}", options.node, node.error().message);
    session.nodes.push_back(*node);
  } else {
    HostPort own = config.advertise.host.empty() ? config.listen : config.advertise;
    if (own.host == "0.0.0.0" || own.host == "::") own.host = "127.0.0.1";
    session.nodes = config.seeds;
    // A file that says where its node listens is that of a node; else this machine is only a guess.
    const bool names_a_node = read.settings.value("listen").origin != cluster::Settings::Value().origin;
    session.nodes.insert(names_a_node ? session.nodes.begin() : session.nodes.end(), own);
  }
  BW_TRY(auto keyring, node::read_secrets(config, &store::own_environment));
  BW_TRY(auto client, node::OperatorClient::make(config, std::move(keyring), session.by));
  session.client = std::make_unique<node::OperatorClient>(std::move(client));
  BW_TRY(session.runtime, runtime::EpollRuntime::create({}));
  return session;
}

}  // namespace

void add_node_settings(CLI::App* command, NodeSettings& given) {
  add_text(command, "-c,--config", given.file, "FILE", "Settings of the node: YAML, or TOML if the name ends in .toml");
  add_list(command, "--set", given.assignments,
           "NAME=VALUE, over the file and the environment; `bellwether config show` names all settings")
      ->type_name("NAME=VALUE");
  command
      ->add_option_function<std::string>(
          "--leadership", [&given](const std::string& url) { given.assignments.push_back("leadership=" + url); },
          "As --set leadership=URL: the store that decides who leads, or quorum")
      ->type_name("URL");
}

ReadSettings read_node_settings(const NodeSettings& given, const std::vector<std::string>& over) {
  ReadSettings read;
  yaml::Diagnostics wrong(given.file.empty() ? "settings" : given.file);
  if (!given.file.empty()) {
    std::ifstream file(given.file, std::ios::binary);
    std::stringstream text;
    if (file) text << file.rdbuf();
    if (!file) {
      std::fprintf(stderr,
                   "%s: the settings of the node cannot be read: check the name and the permissions of the file\n",
                   given.file.c_str());
      return read;  // missing settings are no news then
    } else {
      read.settings.read_file(text.str(), wrong, given.file);
    }
  }
  read.settings.read_environment(&store::own_environment, wrong);
  for (const std::string& one : given.assignments) read.settings.read_option(one, wrong);
  for (const std::string& one : over) read.settings.read_option(one, wrong);
  read.config = cluster::node_config(read.settings, host_name(), wrong);
  if (!wrong.empty()) read.config.reset();
  for (const yaml::Diagnostic& one : wrong.take()) std::fprintf(stderr, "%s\n", format(one).c_str());
  return read;
}

ReadSettings read_client_settings(const std::string& file) {
  return read_node_settings(
      {.file = file, .assignments = {}},
      {"role=worker", "name=operator", "voters=", "data=", "context.serve=false", "context.manager="});
}

tl::expected<OperatorSession, int> open_operator_session(const OperatorOptions& options, std::string_view verb) {
  const auto asked = cluster_to_ask(options.cluster);
  if (!asked)
    return tl::unexpected(refuse(verb, printable(asked.error().message), exit_code_of_unasked(asked.error())));
  const auto read = read_client_settings(asked->settings);
  if (!read.config) return tl::unexpected(kExitUsage);
  auto session = open(options, *asked, read);
  if (!session) return tl::unexpected(refuse(verb, session.error().message));
  return std::move(*session);
}

Result<node::AdminAnswer> ask(OperatorSession& session, const HostPort& node, const node::AdminRequest& request,
                              Duration timeout) {
  return session.runtime->run(session.client->ask(*session.runtime, node, request, timeout));
}

void pause(OperatorSession& session, Duration span) {
  session.runtime->run([](runtime::Runtime* runtime, Duration time) -> runtime::task<void> {
    co_await runtime->sleep(time);
  }(session.runtime.get(), span));
}

Result<node::AdminAnswer> ask_any(OperatorSession& session, const node::AdminRequest& request, Duration timeout) {
  std::string troubles;
  for (const HostPort& node : session.nodes) {
    auto answer = ask(session, node, request, timeout);
    if (answer || answer.error().code == Errc::kRefused) return answer;
    troubles += (troubles.empty() ? "" : "\n  ") + answer.error().message;
  }
  return fail(Errc::kUnreachable, "no node could be asked:\n  " + troubles);
}

}  // namespace bellwether::cli
