// The one way to name a cluster: --cluster NAME|FILE|FOLDER, else BELLWETHER_CLUSTER, else the choice of `bellwether
// cluster use`, else the local cluster of the default folder.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/net/node_config.h"
#include "cluster/node/dialling.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "election/store/environment.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

inline constexpr const char* kClusterVariable = "BELLWETHER_CLUSTER";
inline constexpr const char* kLocalCluster = "local";      // that of the default folder
inline constexpr const char* kCurrentCluster = "current";  // the cluster that a command without --cluster means

// What every command that asks a cluster knows about it. The members must outlive the verb.
struct ClusterOptions {
  std::string cluster;                       // NAME, FILE or FOLDER; empty: the current one
  std::string node;                          // HOST:PORT; empty: any node that the settings name
  std::string by;                            // for audit logs; empty: $USER
  std::optional<Duration> quorum_wait = {};  // of a command that follows a job; none: the usual
};
// `otherwise`: what the command does without the option.
void add_cluster_option(CLI::App* command, std::string& cluster,
                        const char* otherwise = "BELLWETHER_CLUSTER, `cluster use`, local");
// --quorum-wait.
void add_quorum_wait(CLI::App* command, ClusterOptions& options);
// --cluster, --node and --by.
void add_cluster_options(CLI::App* command, ClusterOptions& options);

struct NamedCluster {
  std::string name;    // for --cluster: its name, or its path if it has none
  std::string path;    // absolute: a client's settings file, or the folder of a local cluster
  std::string source;  // of the choice: "--cluster", "BELLWETHER_CLUSTER", "cluster use" or "default"
};

// The clusters that this user remembers, in clusters.json of $XDG_CONFIG_HOME/bellwether or ~/.config/bellwether.
class KnownClusters {
 public:
  // kInvalid: the file cannot be read.
  static Result<KnownClusters> read(store::Environment environment = &store::own_environment);
  // Replaces the file at once.
  Status write() const;

  // The cluster that `given`, the value of --cluster, or the next source names. It may be gone. kInvalid: no cluster
  // has this name.
  Result<NamedCluster> choose(const std::string& given) const;
  // All of them, the local one first.
  std::vector<NamedCluster> all() const;
  // What a command needs beside it to mean this cluster: " --cluster NAME", for a shell, or nothing.
  std::string option_for(const NamedCluster& cluster) const;

  bool has(const std::string& name) const { return paths_.contains(name); }
  // Replaces an earlier name of the path. kInvalid: this is no name, or another cluster has it.
  Status remember(const std::string& name, const std::string& path);
  void forget(const std::string& name);
  // An empty name, or the local one: back to the default.
  void use(const std::string& name) { current_ = name == kLocalCluster ? "" : name; }

 private:
  Result<NamedCluster> find(const std::string& text, const char* source) const;

  store::Environment environment_ = nullptr;
  std::string file_;   // empty: there is no place for it
  std::string local_;  // the default folder; empty: there is no place for it
  std::map<std::string, std::string> paths_;
  std::string current_;  // empty: none was chosen
};

// The access to a cluster.
struct AskedCluster {
  std::string name;      // as in NamedCluster
  std::string settings;  // the file of a client's settings
};
// kUnreachable: it is a local cluster, and does not run; kInvalid, kNotFound: there is no such cluster.
Result<AskedCluster> cluster_to_ask(const std::string& given, const KnownClusters& known);
Result<AskedCluster> cluster_to_ask(const std::string& given);
// The exit code of a command that cannot ask a cluster for that reason.
int exit_code_of_unasked(const Error& error);

// A command's access to the nodes of a cluster: the settings of a node (--config FILE, the environment, --set
// NAME=VALUE), and an operator's connection to a named cluster.
struct NodeSettings {
  std::string file;
  std::vector<std::string> assignments;
};

void add_node_settings(CLI::App* command, NodeSettings& given);

struct ReadSettings {
  cluster::Settings settings{cluster::node_settings()};
  std::optional<cluster::NodeConfig> config;  // empty: no node can start with them
  std::string wrong;                          // then the errors, a line each
};
// `over`: assignments that win over all others. Prints nothing.
ReadSettings look_at_node_settings(const NodeSettings& given, const std::vector<std::string>& over = {});
// The same, and prints the errors on standard error.
ReadSettings read_node_settings(const NodeSettings& given, const std::vector<std::string>& over = {});

// Of a client or an operator: the same, from a file that may also be that of a node. An operator's machine needs
// neither a role nor a disk.
ReadSettings read_client_settings(const std::string& file);

struct OperatorOptions : ClusterOptions {
  Duration timeout = Duration::seconds(5);
};

struct OperatorSession {
  std::string cluster;  // for --cluster
  std::unique_ptr<runtime::EpollRuntime> runtime;
  std::unique_ptr<node::OperatorClient> client;
  std::vector<HostPort> nodes;  // nodes to ask; the first reachable one answers
  std::string by;
};
// The error is the exit code; its text was printed on standard error in the name of `verb`.
tl::expected<OperatorSession, int> open_operator_session(const OperatorOptions& options, std::string_view verb);

Result<node::AdminAnswer> ask(OperatorSession& session, const HostPort& node, const node::AdminRequest& request,
                              Duration timeout);
void pause(OperatorSession& session, Duration span);
// The first reachable node answers; a refusal is an answer.
Result<node::AdminAnswer> ask_any(OperatorSession& session, const node::AdminRequest& request, Duration timeout);

}  // namespace bellwether::cli
