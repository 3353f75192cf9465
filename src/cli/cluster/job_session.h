// A cluster's jobs from the command line: the session to its managers, and following one job to its end.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bellwether/client.h"
#include "cli/cluster_choice.h"
#include "cli/run/reports.h"
#include "cli/run/screen.h"
#include "load/plan/load.h"

namespace bellwether::cli {

// The error is the exit code; its text was printed in the name of `verb`.
tl::expected<std::unique_ptr<client::Client>, int> open_client(const ClusterOptions& options, std::string_view verb);

struct FollowOptions {
  Ui ui = Ui::kCi;
  std::vector<Out> outs;
  std::string windows_file;      // for live windows, a JSON line each; empty: none
  bool cancel_on_signal = true;  // else a signal only ends the watching
  std::string_view verb = "run";
  std::string store;    // the file in which the run is kept; empty: in none
  std::string cluster;  // of --cluster, for the command that watches again
};
// Continues the stored run of a `run` that is gone; makes no new one. The exit code of the process: that of the job's
// verdict, when it has ended.
int watch_job(client::Client& client, const std::string& job, const FollowOptions& options);

// Puts the result of a finished job into the store, where a `run` that is gone has left it without one.
void complete(const client::Client& client, const client::Job& job, const std::string& store);

// Submits and follows.
int run_on_cluster(const plan::Bundled& bundled, const ClusterOptions& cluster, uint64_t seed,
                   const FollowOptions& options);

}  // namespace bellwether::cli
