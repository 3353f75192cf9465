// The runtime of one simulated process: timers in its node's local time, and the node's sockets, disk and names. The
// node gives it turns (node.h); in a turn all ready coroutines run, and no time passes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/runtime.h"
#include "sim/sockets.h"
#include "sim/timeline.h"

namespace bellwether::sim {

class Node;

class SimRuntime final : public runtime::Runtime {
 public:
  using Endpoint = runtime::Endpoint;
  using Cancellation = runtime::Cancellation;

  SimRuntime(Node& node, Timeline& timeline);
  ~SimRuntime() override;

  // A turn has two halves, between which the node starts its process in the first one. now() becomes the node's present
  // time, then ready coroutines run.
  void begin_turn();
  void turn();
  // When, in world time, the next turn is needed; never() when only the outside can bring one about.
  Instant next_turn();

  Node& node() { return node_; }
  Timeline& timeline() { return timeline_; }

  Instant boot_now() override;
  WallTime wall_now() override;
  runtime::task<Result<std::unique_ptr<runtime::Stream>>> connect(Endpoint to, runtime::ConnectOptions options,
                                                                  Cancellation* cancel) override;
  Result<std::unique_ptr<runtime::Listener>> listen(Endpoint at, runtime::ListenOptions options) override;
  Result<std::unique_ptr<runtime::UdpSocket>> bind_udp(Endpoint at) override;
  runtime::task<Result<std::vector<runtime::IpAddress>>> resolve(std::string name, Cancellation* cancel) override;
  runtime::task<Result<std::vector<runtime::ServicePlace>>> resolve_service(std::string name,
                                                                            Cancellation* cancel) override;
  runtime::task<Result<std::unique_ptr<runtime::File>>> open(std::string path, runtime::OpenOptions options) override;
  runtime::task<Status> rename(std::string from, std::string to) override;
  runtime::task<Status> remove(std::string path) override;
  runtime::task<Status> sync_directory(std::string path) override;
  runtime::task<Status> make_directory(std::string path, uint32_t mode) override;
  runtime::task<Result<std::vector<std::string>>> list_directory(std::string path) override;
  runtime::task<Result<std::string>> network_file_system(std::string path) override;
  runtime::task<Result<std::unique_ptr<runtime::Child>>> spawn(runtime::SpawnOptions options) override;
  runtime::task<Result<runtime::Readiness>> wait_descriptor(int fd, bool read, bool write, Instant deadline,
                                                            Cancellation* cancel) override;
  runtime::ProcessIdentity self() override;
  runtime::ProcessSight look_at_process(int64_t pid) override;
  // From the world's one thread only.
  bool post(void (*call)(void* context), void* context) override;

 private:
  friend class Source;
  runtime::task<Status> ask_name_server(std::string name, Cancellation* cancel);
  void mark(Source& source);
  void forget(Source& source) { std::erase(marked_, &source); }

  Node& node_;
  Timeline& timeline_;
  std::vector<Source*> marked_;
  std::vector<Source*> in_turn_;
  std::vector<std::pair<void (*)(void*), void*>> posts_;
  runtime::RunQueue left_;  // left over from the last turn
};

}  // namespace bellwether::sim
