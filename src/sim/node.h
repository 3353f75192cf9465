// A simulated machine: a name, an address, clocks, a disk, a kernel with sockets, and at most one process. The machine
// has power or not; its process runs, is paused, or is absent.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/runtime/processes.h"
#include "core/runtime/runtime.h"
#include "core/runtime/task.h"
#include "sim/disk.h"
#include "sim/network.h"
#include "sim/sim_runtime.h"
#include "sim/sockets.h"
#include "sim/timeline.h"

namespace bellwether::sim {

// The programs of a simulated machine: at each start a function of the test decides the behaviour of the program.

// The behaviour of a started program.
struct ProgramScript {
  std::optional<Error> refusal;             // it cannot be started, for this reason
  Duration runs_for = Duration::millis(1);  // max(): until a signal ends it
  runtime::ChildEnd end;                    // how it ends by itself
  std::string output;                       // written at its end
  bool ignores_terminate = false;           // only SIGKILL ends it early; otherwise any signal but 0 does
  std::vector<int>* signals = nullptr;      // records its signals; outlives the program
};

class Programs {
 public:
  using Script = ProgramScript (*)(void* context, const runtime::SpawnOptions& options);
  // From now on calls `script` at each start. Without one, no program exists.
  void set(Script script, void* context) {
    script_ = script;
    context_ = context;
  }
  // `runtime` outlives the child. The child ends with its simulated process, regardless of its options.
  Result<std::unique_ptr<runtime::Child>> start(runtime::Runtime& runtime, const runtime::SpawnOptions& options);

 private:
  Script script_ = nullptr;
  void* context_ = nullptr;
  int64_t next_pid_ = 100'000;  // far from the ids of processes
};

// The processes on a simulated machine: its own, and others that a test adds.
class Processes {
 public:
  explicit Processes(std::string host) { self_.host = std::move(host); }

  // The machine was switched on: all other processes have gone, and process ids start anew.
  void power_on(std::string boot_id);
  // The node's own process begins at this time of the boot clock, with the next process id; the one before it is gone.
  void begin_own(Instant boot);
  void end_own() { own_runs_ = false; }

  // The node's process, or the last one.
  const runtime::ProcessIdentity& self() const { return self_; }
  runtime::ProcessSight look_at(int64_t pid) const;

  // For tests: the visible state of another process id, until the power goes. Overrides that of the node's own process.
  void set(int64_t pid, runtime::ProcessSight sight) { others_[pid] = sight; }
  // The next process of the node gets this id, even if another process had it before.
  void set_next_pid(int64_t pid) { next_pid_ = pid; }

 private:
  runtime::ProcessIdentity self_;
  std::map<int64_t, runtime::ProcessSight> others_;
  int64_t next_pid_ = 0;
  bool own_runs_ = false;
};

// The clocks of one simulated node as functions of world time: each runs at its own rate and starts where it likes.
class Clock {
 public:
  struct Start {
    Instant monotonic;    // the values of the clocks at the start
    Duration boot_ahead;  // by how much the boot clock is ahead of the monotonic one: the machine has slept
    WallTime wall;
  };
  Clock(Instant world, Start start, int64_t drift_ppm);

  Instant monotonic(Instant world) const;
  Instant boot(Instant world) const { return monotonic(world) + boot_ahead_; }
  WallTime wall(Instant world) const { return {wall_ahead_ + monotonic(world).ns()}; }

  // The first world time at which the monotonic clock shows at least `local`.
  Instant world_at(Instant local) const;
  // The same for the boot clock.
  Instant world_at_boot(Instant boot) const { return world_at(boot - boot_ahead_); }

  // From now on the clocks gain `ppm` microseconds in each second of the world. REQUIRES more than -1,000,000: no clock
  // stands still.
  void set_drift(Instant world, int64_t ppm);
  int64_t drift_ppm() const { return drift_ppm_; }
  // Somebody sets the wall clock.
  void step_wall(Duration by) { wall_ahead_ += by.ns(); }
  // The machine has slept for `by`: the boot clock saw it, the monotonic one did not. REQUIRES by >= 0.
  void step_boot(Duration by);

 private:
  Instant world_base_;  // the rate holds from here on,
  Instant local_base_;  // where the monotonic clock showed this
  int64_t drift_ppm_;
  Duration boot_ahead_;
  int64_t wall_ahead_;
};

class Node {
 public:
  // The main function of a process, which ends when the task does. `context` must outlive the process, and so the
  // world.
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
  // Starts the last process again from its beginning. REQUIRES a last process, which does not run any more.
  void restart();
  // The process ends at any point of its work (SIGKILL). The machine lives: peers get notice, written data stays. Does
  // nothing when none runs.
  void kill();
  // The machine goes dark: peers get no notice; unsynced data is lost, kept or torn (disk.h).
  void lose_power();
  // The process gets no turns (SIGSTOP) while the kernel goes on; missed events come at once when it may run again.
  void pause() { paused_ = is_running(); }
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
