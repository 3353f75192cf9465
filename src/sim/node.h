// A simulated machine: a name, an address, clocks, a disk, a kernel with sockets, and at most one process. The machine
// has power or not; its process runs, is paused, or is not there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/runtime.h"
#include "runtime/task.h"
#include "sim/clock.h"
#include "sim/disk.h"
#include "sim/network.h"
#include "sim/processes.h"
#include "sim/programs.h"
#include "sim/sim_runtime.h"
#include "sim/sockets.h"
#include "sim/timeline.h"

namespace bellwether::sim {

class Node {
 public:
  // What a process does: it ends when the task does. `context` must outlive the process,
  // and so the world.
  using Main = runtime::task<void> (*)(runtime::Runtime& runtime, void* context);

  Node(Timeline& timeline, Network& network, uint32_t index, std::string name, runtime::IpAddress address);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  uint32_t index() const { return index_; }
  const std::string& name() const { return name_; }
  runtime::IpAddress address() const { return address_; }

  // None of these may be called by the node's own process.
  // Switches the machine on when it has no power, and starts a process. REQUIRES that none runs.
  void start(Main main, void* context);
  // Starts the last process again from its beginning. REQUIRES that none runs, and that one ran.
  void restart();
  // The process is gone in the middle of whatever it did (SIGKILL). The machine lives: peers are told, what was
  // written stays. Does nothing when none runs.
  void kill();
  // The machine goes dark: peers hear nothing, what was not synced is lost, kept or torn (disk.h).
  void lose_power();
  // The process gets no turns (SIGSTOP) while the kernel goes on; what it missed comes at once when it may run again.
  void pause();
  void resume();

  bool has_power() const { return sockets_ != nullptr; }
  bool is_running() const { return runtime_ != nullptr; }
  bool is_paused() const { return paused_; }
  // How many processes have ended by themselves here.
  uint32_t ended() const { return ended_; }

  // How the machine's clocks run from now on. A machine gets new ones at each start of its power; the wall clock goes
  // on over it.
  const Clock& clock() const { return clock_; }
  void set_drift(int64_t ppm);
  void step_wall(Duration by) { clock_.step_wall(by); }
  void step_boot(Duration by);

  Disk& disk() { return disk_; }
  Processes& processes() { return processes_; }
  Programs& programs() { return programs_; }
  TcpSettings& tcp() { return tcp_; }
  // REQUIRES has_power().
  Sockets& sockets() { return *sockets_; }
  Network& network() { return network_; }
  // REQUIRES is_running().
  SimRuntime& runtime() { return *runtime_; }

  // For the parts of the machine: the process wants a turn at this world time at the latest.
  void request_turn(Instant world);

 private:
  void power_on();
  void turn();
  void end_process();

  Timeline& timeline_;
  Network& network_;
  uint32_t index_;
  std::string name_;
  runtime::IpAddress address_;
  Clock clock_;
  Disk disk_;
  Processes processes_;
  Programs programs_;
  uint64_t boots_ = 0;
  TcpSettings tcp_;
  std::unique_ptr<Sockets> sockets_;

  Main main_ = nullptr;
  void* context_ = nullptr;
  std::unique_ptr<SimRuntime> runtime_;
  runtime::task<void> process_;
  Instant next_turn_ = Instant::never();  // in world time
  uint64_t process_number_ = 0;
  uint32_t ended_ = 0;
  bool in_turn_ = false;
  bool paused_ = false;
};

}  // namespace bellwether::sim
