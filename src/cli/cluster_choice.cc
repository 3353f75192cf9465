#include "cli/cluster_choice.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>
#include <utility>

#include "cli/verb.h"
#include "cluster/local_cluster/folder.h"
#include "cluster/node/secrets.h"
#include "cluster/wire/identity.h"
#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "jobs/client/scenario_files.h"
#include "load/report/write_file.h"

namespace bellwether::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMaxKnownBytes = std::size_t{1} << 20;
constexpr int kKnownFormat = 1;

// The user's folder for settings (XDG Base Directory Specification); empty without a home.
std::string config_folder(store::Environment environment) {
  const std::string config = store::variable(environment, "XDG_CONFIG_HOME");
  if (config.starts_with('/')) return config + "/bellwether";
  const std::string home = store::variable(environment, "HOME");
  return home.starts_with('/') ? home + "/.config/bellwether" : std::string();
}

std::string absolute_path(const std::string& text) {
  std::error_code code;
  std::string path = fs::absolute(text, code).lexically_normal().string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

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

void add_cluster_option(CLI::App* command, std::string& cluster, const char* otherwise) {
  add_text(command, "--cluster", cluster, "NAME|FILE|FOLDER",
           fmt::format("The cluster, by name, file or folder (default: {})", otherwise));
}

void add_quorum_wait(CLI::App* command, ClusterOptions& options) {
  add_duration(command, "--quorum-wait", options.quorum_wait,
               "With a cluster: without a quorum of managers, end this time after the planned end (default 60s)");
}

void add_cluster_options(CLI::App* command, ClusterOptions& options) {
  add_cluster_option(command, options.cluster);
  add_text(command, "--node", options.node, "HOST:PORT", "Ask this node (default: any node that the settings name)");
  add_text(command, "--by", options.by, "NAME", "Name of the person who asks, for audit logs (default: $USER)");
}

Result<KnownClusters> KnownClusters::read(store::Environment environment) {
  KnownClusters known;
  known.environment_ = environment;
  if (const std::string state = store::state_folder(environment); !state.empty()) known.local_ = state + "/cluster";
  const std::string folder = config_folder(environment);
  if (folder.empty()) return known;
  known.file_ = folder + "/clusters.json";
  std::error_code code;
  if (!fs::exists(known.file_, code)) return known;
  const auto unreadable = [&](const std::string& why) {
    return fail(Errc::kInvalid, "'{}', the list of known clusters, cannot be read: {}; mend or remove it", known.file_,
                why);
  };
  const auto text = client::detail::read_whole_file(known.file_, kMaxKnownBytes);
  if (!text) return unreadable(text.error().message);
  const json in = json::parse(*text, nullptr, false);
  if (in.is_discarded()) return unreadable("it is no JSON");
  try {
    if (in.at("format") != kKnownFormat) return unreadable("its format is " + in.at("format").dump() + ", expected 1");
    in.at("clusters").get_to(known.paths_);
    in.at("current").get_to(known.current_);
  } catch (const json::exception& error) {
    return unreadable(error.what());
  }
  return known;
}

Status KnownClusters::write() const {
  if (file_.empty()) {
    return fail(Errc::kNotFound, "neither XDG_CONFIG_HOME nor HOME says where known clusters are kept");
  }
  const fs::path folder = fs::path(file_).parent_path();
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) return fail(Errc::kIo, "making the folder '{}': {}", folder.string(), code.message());
  const json out = {{"format", kKnownFormat}, {"current", current_}, {"clusters", paths_}};
  return report::write_file(file_, out.dump(2) + "\n");
}

Result<NamedCluster> KnownClusters::choose(const std::string& given) const {
  if (!given.empty() && given != kCurrentCluster) return find(given, "--cluster");
  if (const std::string text = store::variable(environment_, kClusterVariable); !text.empty()) {
    return find(text, kClusterVariable);
  }
  return current_.empty() ? find(kLocalCluster, "default") : find(current_, "cluster use");
}

Result<NamedCluster> KnownClusters::find(const std::string& text, const char* source) const {
  if (text == kLocalCluster && local_.empty()) {
    return fail(Errc::kInvalid,
                "neither XDG_STATE_HOME nor HOME says where the local cluster is; name its folder with "
                "--cluster");
  }
  if (text == kLocalCluster) return NamedCluster{kLocalCluster, local_, source};
  if (const auto known = paths_.find(text); known != paths_.end()) return NamedCluster{text, known->second, source};
  const std::string path = absolute_path(text);
  std::error_code code;
  if (text.find('/') != std::string::npos || fs::exists(path, code)) {
    for (const NamedCluster& one : all()) {
      if (one.path == path) return NamedCluster{one.name, path, source};
    }
    return NamedCluster{path, path, source};
  }
  std::string names;
  std::vector<std::string_view> candidates;
  const auto every = all();
  for (const NamedCluster& one : every) {
    candidates.emplace_back(one.name);
    names += (names.empty() ? "" : ", ") + one.name;
  }
  const std::string_view near = nearest(text, candidates);
  return fail(Errc::kInvalid,
              fmt::format("{} '{}': no cluster has this name{} Known: {}. Give one of these, a client's settings file, "
                          "or the folder of a local cluster",
                          source, text, near.empty() ? std::string(".") : fmt::format("; did you mean '{}'?", near),
                          names.empty() ? "none" : names));
}

std::vector<NamedCluster> KnownClusters::all() const {
  std::vector<NamedCluster> out;
  if (!local_.empty()) out.push_back({kLocalCluster, local_, {}});
  for (const auto& [name, path] : paths_) out.push_back({name, path, {}});
  return out;
}

std::string KnownClusters::option_for(const NamedCluster& cluster) const {
  const auto current = choose("");
  return current && current->path == cluster.path ? "" : " --cluster " + shell_word(cluster.name);
}

Status KnownClusters::remember(const std::string& name, const std::string& path) {
  if (!wire::is_name(name) || name == kCurrentCluster) {
    return fail(
        Errc::kInvalid,
        "'{}' cannot be the name of a cluster: a name has 1 to 64 letters, digits, '.', '_' and '-', and is not "
        "'{}'",
        name, kCurrentCluster);
  }
  for (const NamedCluster& one : all()) {
    if (one.name == name && one.path != path) {
      return fail(Errc::kInvalid, "'{}' is already the name of the cluster in '{}'", name, one.path);
    }
  }
  if (name == kLocalCluster) return {};
  std::erase_if(paths_, [&](const auto& one) { return one.second == path; });
  paths_[name] = path;
  return {};
}

void KnownClusters::forget(const std::string& name) {
  paths_.erase(name);
  if (current_ == name) current_.clear();
}

Result<AskedCluster> cluster_to_ask(const std::string& given, const KnownClusters& known) {
  BW_TRY(const auto cluster, known.choose(given));
  std::error_code code;
  const bool is_there = fs::exists(cluster.path, code);
  const bool is_default = cluster.name == kLocalCluster;
  if (!is_there && !is_default) {
    return fail(Errc::kNotFound,
                fmt::format("{} '{}': there is no file or folder '{}'", cluster.source, cluster.name, cluster.path));
  }
  if (is_there && !fs::is_directory(cluster.path, code)) return AskedCluster{cluster.name, cluster.path};
  const std::string remedy = "`bellwether cluster up" + known.option_for(cluster) + "`";
  auto opened = local_cluster::Folder::open(cluster.path, local_cluster::Folder::Use::kLook);
  if (!opened && opened.error().code == Errc::kNotFound) {
    return fail(Errc::kUnreachable, "there is no local cluster in '{}': start one with {}", cluster.path, remedy);
  }
  BW_TRY(const auto folder, std::move(opened));
  BW_TRY(const auto layout, folder.read());
  const bool runs = layout && std::ranges::any_of(layout->nodes, [](const local_cluster::LocalNode& node) {
                      return node.role == wire::Role::kManager && lives(node.process);
                    });
  if (runs) return AskedCluster{cluster.name, folder.settings_of(local_cluster::kClientName)};
  return fail(Errc::kUnreachable, "the local cluster{} is down: start it with {}",
              is_default ? std::string() : fmt::format(" '{}'", cluster.name), remedy);
}

Result<AskedCluster> cluster_to_ask(const std::string& given) {
  BW_TRY(const auto known, KnownClusters::read());
  return cluster_to_ask(given, known);
}

int exit_code_of_unasked(const Error& error) { return error.code == Errc::kUnreachable ? kExitNo : kExitUsage; }

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

ReadSettings look_at_node_settings(const NodeSettings& given, const std::vector<std::string>& over) {
  ReadSettings read;
  yaml::Diagnostics wrong(given.file.empty() ? "settings" : given.file);
  if (!given.file.empty()) {
    std::ifstream file(given.file, std::ios::binary);
    std::stringstream text;
    if (file) text << file.rdbuf();
    if (!file) {
      read.wrong =
          given.file + ": the settings of the node cannot be read: check the name and the permissions of the file\n";
      return read;  // missing settings are no news then
    }
    read.settings.read_file(text.str(), wrong, given.file);
  }
  read.settings.read_environment(&store::own_environment, wrong);
  for (const std::string& one : given.assignments) read.settings.read_option(one, wrong);
  for (const std::string& one : over) read.settings.read_option(one, wrong);
  read.config = cluster::node_config(read.settings, host_name(), wrong);
  if (wrong.empty()) return read;
  read.config.reset();
  for (const yaml::Diagnostic& one : wrong.take()) read.wrong += format(one) + "\n";
  if (given.file.empty()) read.wrong += "Write the settings of the node to a file, and name it with --config FILE\n";
  return read;
}

ReadSettings read_node_settings(const NodeSettings& given, const std::vector<std::string>& over) {
  ReadSettings read = look_at_node_settings(given, over);
  std::fputs(read.wrong.c_str(), stderr);
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
