#include "cli/operator_session.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "cli/verb.h"
#include "cluster/node/secrets.h"
#include "election/store/environment.h"

namespace bellwether::cli {
namespace {

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size()) != 0) return "node";
  return name.c_str();
}

Result<OperatorSession> open(const OperatorOptions& options, const cluster::NodeConfig& config) {
  OperatorSession session;
  session.by = who_asks(options.by, "operator");
  if (!options.node.empty()) {
    const auto node = parse_host_port(options.node, cluster::kDefaultPort);
    if (!node) return fail(Errc::kInvalid, "--node '{}': {}", options.node, node.error().message);
    session.nodes.push_back(*node);
  } else {
    HostPort own = config.advertise.host.empty() ? config.listen : config.advertise;
    if (own.host == "0.0.0.0" || own.host == "::") own.host = "127.0.0.1";
    session.nodes.push_back(own);
    session.nodes.insert(session.nodes.end(), config.seeds.begin(), config.seeds.end());
  }
  BW_TRY(auto keyring, node::read_secrets(config, &store::own_environment));
  BW_TRY(auto client, node::OperatorClient::make(config, std::move(keyring), session.by));
  session.client = std::make_unique<node::OperatorClient>(std::move(client));
  BW_TRY(session.runtime, runtime::EpollRuntime::create({}));
  return session;
}

}  // namespace

void add_node_settings(CLI::App* command, NodeSettings& given) {
  add_text(command, "-c,--config", given.file, "FILE", "The node's settings: YAML, or TOML where it ends in .toml");
  add_list(command, "--set", given.assignments,
           "NAME=VALUE, over the file and the environment; `bellwether config show` names all settings")
      ->type_name("NAME=VALUE");
  command
      ->add_option_function<std::string>(
          "--leadership", [&given](const std::string& url) { given.assignments.push_back("leadership=" + url); },
          "As --set leadership=URL: a store that decides who leads, or quorum")
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
      std::fprintf(stderr, "%s: the file cannot be read; --config names the file of this node's settings\n",
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

void add_operator(CLI::App* command, OperatorOptions& options) {
  add_node_settings(command, options.settings);
  add_text(command, "--node", options.node, "HOST:PORT", "Ask this node (default: that of --config, then its seeds)");
  command->add_option("--by", options.by, "Who asks, for the nodes' audit logs (default $USER)");
}

std::optional<OperatorSession> open_operator_session(const OperatorOptions& options, std::string_view verb) {
  // An operator's machine needs neither a role nor a disk; the node reads those settings of the file.
  const auto read = read_node_settings(
      options.settings,
      {"role=worker", "name=operator", "voters=", "data=", "context.serve=false", "context.manager="});
  if (!read.config) return std::nullopt;
  auto session = open(options, *read.config);
  if (session) return std::move(*session);
  refuse(verb, session.error().message);
  return std::nullopt;
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
