#include "cli/cluster_choice.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/verb.h"
#include "cluster/local_cluster/folder.h"
#include "cluster/wire/identity.h"
#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/shell_word.h"
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
  command->add_option("--by", options.by, "Name of the person who asks, for audit logs (default: $USER)");
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

}  // namespace bellwether::cli
