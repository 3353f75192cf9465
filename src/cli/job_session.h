// A cluster's jobs from the command line: whom to ask, and following one job to its end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/node_settings.h"
#include "node/client/job_follower.h"
#include "plan/bundle.h"
#include "runtime/epoll_runtime.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

// How the cluster is reached.
struct ClusterOptions {
  std::string managers;  // HOST:PORT,...; empty: the seeds of the settings
  NodeSettings settings;
  std::string by;
};
void add_cluster_options(CLI::App* command, ClusterOptions& options);

struct JobSession {
  std::unique_ptr<runtime::EpollRuntime> runtime;
  std::unique_ptr<node::JobClient> client;
  std::string by;

  // Asks, and waits for the answer for so long.
  Result<dispatch::Response> ask(const dispatch::Letter& letter, Duration patience);
  void close();
};
// Nothing when something is wrong, which has been told. `verb` speaks in messages: "job".
std::optional<JobSession> open_job_session(const ClusterOptions& options, std::string_view verb);

struct FollowOptions {
  bool progress = true;
  std::vector<std::string> json_files;
  bool cancel_on_signal = true;  // else a signal only ends the watching
  std::string_view verb = "run";
};
// The exit code of the process: that of the job's verdict, when it has ended.
int follow_job(JobSession& session, const plan::Plan& plan, const std::string& job, const FollowOptions& options);

// Submits and follows.
int run_on_cluster(const plan::Bundled& bundled, const ClusterOptions& cluster, uint64_t seed, FollowOptions options);

// Says what it was told; the id of the job, or nothing, which has been told.
std::optional<std::string> submit_job(JobSession& session, const plan::Bundled& bundled, uint64_t seed,
                                      const std::string& id, std::string_view verb);

}  // namespace bellwether::cli
