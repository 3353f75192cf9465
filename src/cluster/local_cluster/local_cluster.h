// A whole cluster of processes on this machine, started, inspected and ended by one command each. The processes are
// those of `bellwether node`. They go on when the command ends, and the folder identifies them later.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/local_cluster/folder.h"
#include "core/base/callback.h"
#include "core/runtime/epoll/epoll_runtime.h"

namespace bellwether::local_cluster {

// A person's wishes; nothing: the present value of the cluster, or the default.
struct WantedShape {
  std::optional<unsigned> managers;
  std::optional<unsigned> workers;
  std::optional<unsigned> cores;
  std::optional<unsigned> datacenters;
  std::optional<bool> tls;
  std::optional<std::string> trust_keys;  // absolute
};

struct UpOptions {
  std::string folder;
  std::string program;  // the path of this binary
  WantedShape shape;
  std::optional<uint16_t> base_port;  // of a new cluster; nothing: ports that are free
  Duration limit = Duration::seconds(60);
};

struct MemberSight {
  std::string name;
  std::string state;  // "alive", "suspect", "dead", "left"
  uint32_t incarnation = 0;
};

struct Sight {
  std::string folder;
  Layout layout;
  std::vector<bool> runs;            // the processes, in the order of the nodes
  std::vector<MemberSight> members;  // as one of the managers sees them; empty: none could be asked
  std::string leader;                // as it says itself; empty: no known leader
  std::string trouble;               // why no manager could be asked
  // All processes run, all nodes are members, and one leads.
  bool well() const;
};

// A line for the person who waits.
using Progress = Callback<void(const std::string& text)>;

// Starts missing processes, and waits until all nodes have joined, as they say themselves too, and one leads.
// Cancelled, or when that fails, it ends what it has started. kExists: everything runs already; kInvalid: the options
// do not fit; kRefused: a port is taken.
runtime::task<Result<Sight>> bring_up(runtime::EpollRuntime& runtime, UpOptions options, Progress progress,
                                      runtime::Cancellation* cancel);

struct DownOptions {
  std::string folder;
  bool purge = false;  // remove the folder too
  Duration limit = Duration::seconds(20);
};
struct Ended {
  std::string folder;
  std::vector<std::string> stopped;  // in good order
  std::vector<std::string> killed;   // because they did not end within the limit
  bool purged = false;
};
runtime::task<Result<Ended>> bring_down(runtime::EpollRuntime& runtime, DownOptions options, Progress progress);

runtime::task<Result<Sight>> look_at(runtime::EpollRuntime& runtime, std::string folder);

}  // namespace bellwether::local_cluster
