// bellwether cluster use: the cluster that commands without --cluster mean, and the names of known ones.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/cluster_choice.h"
#include "cli/operator_session.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "cluster/local_cluster/folder.h"
#include "core/base/encoding.h"

namespace bellwether::cli {
namespace {

struct UseArguments {
  std::string cluster;
  std::string name;
  std::string forgotten;
  bool unset = false;
  bool json = false;
};

// The known clusters; the current one has its source. A path that has no name is current only by the variable.
Result<int> list_clusters(const UseArguments& given, const KnownClusters& known) {
  const auto current = known.choose("");
  std::vector<NamedCluster> clusters = known.all();
  if (current) {
    const auto listed = std::ranges::find(clusters, current->path, &NamedCluster::path);
    *(listed == clusters.end() ? clusters.insert(listed, *current) : listed) = *current;
  }
  const Rows rows(clusters, [](const NamedCluster& one) -> Fields {
    return {{"", "current", !one.source.empty(), one.source.empty() ? " " : "*"},
            {"NAME", "name", one.name},
            {"WHERE", "path", one.path},
            {"CURRENT BY", "source", one.source.empty() ? Value() : Value(one.source), one.source}};
  });
  print(given.json ? rows.list().document() : rows.table());
  BW_RETURN_IF_ERROR(current);
  return kExitOk;
}

// Its own name, or that of its folder.
Result<std::string> name_for(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    BW_RETURN_IF_ERROR(local_cluster::Folder::open(path, local_cluster::Folder::Use::kLook));
    return std::filesystem::path(path).filename().string();
  }
  const auto read = read_client_settings(path);
  if (!read.config) return fail(Errc::kInvalid, "'{}' cannot be used as the settings of a client", path);
  return read.config->cluster;
}

Result<int> use_cluster(const UseArguments& given) {
  BW_TRY(auto known, KnownClusters::read());
  if (given.cluster.empty() && !given.unset && given.forgotten.empty()) return list_clusters(given, known);
  if (!given.forgotten.empty()) {
    if (!known.has(given.forgotten)) {
      return fail(Errc::kInvalid, "--forget '{}': no such name is remembered; `bellwether cluster use` lists them",
                  given.forgotten);
    }
    known.forget(given.forgotten);
  }
  if (given.unset) known.use("");
  if (!given.cluster.empty()) {
    BW_TRY(const auto cluster, known.choose(given.cluster));
    std::string name = cluster.name;
    if (name == cluster.path || !given.name.empty()) {
      // Also of a path that has a name already: the file must be good.
      BW_TRY(const std::string own, name_for(cluster.path));
      name = given.name.empty() ? own : given.name;
      if (const Status done = known.remember(name, cluster.path); !done) {
        return fail(Errc::kInvalid, done.error().message + "; give it a name with --as NAME");
      }
    }
    known.use(name);
  }
  BW_RETURN_IF_ERROR(known.write());
  return list_clusters(given, known);
}

}  // namespace

void add_cluster_use(CLI::App& cluster, int& exit_code) {
  auto given = std::make_shared<UseArguments>();
  CLI::App* command = new_verb(cluster, "use");
  CLI::Option* which = add_text(command, "CLUSTER", given->cluster, "NAME|FILE|FOLDER",
                                "As --cluster; `local` is the default. None: list the known clusters");
  CLI::Option* unset = command->add_flag("--unset", given->unset, "Return to the default cluster");
  add_text(command, "--as", given->name, "NAME",
           "Name to remember it by (default: `cluster` in the FILE, or the last part of the FOLDER)")
      ->needs(which);
  add_text(command, "--forget", given->forgotten, "NAME", "Remove this name from the list");
  command->add_flag("--json", given->json, "Print JSON");
  which->excludes(unset);
  command->footer(
      "The cluster of a command is the first of: --cluster, BELLWETHER_CLUSTER, `cluster use`, local. Only --cluster "
      "and BELLWETHER_CLUSTER move `bellwether run` to a cluster. The known clusters are in "
      "~/.config/bellwether/clusters.json.\n"
      "\n"
      "Exit codes: 0 done, 104 no such cluster, or unusable settings.");
  command->callback([given, &exit_code] {
    auto done = use_cluster(*given);
    if (!done) done.error().message = printable(done.error().message);
    exit_code = answer("cluster", done);
  });
}

}  // namespace bellwether::cli
