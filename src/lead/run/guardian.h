// The guardian: a small process between `bellwether lead` and its command. It starts the command in a new process
// group, and ends it and everything it has left behind on order, when the leader's process is gone, or when the time
// for it has come (DeadlinePage). It needs no store, no network and no disk, so it acts in time when its leader is
// stopped, starved or stuck.
//
// Between the two lies a socket of packets. To the guardian: "signal N" (to the group), "stop" (in good order; killed
// at the kill time), "kill" (now), "look" (the times on the page are earlier than before). From it: "started PID",
// "failed TEXT", "exit N" or "signal N" when the command itself has ended, and "empty" when nothing is left of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::lead {

// The processes that a command left behind when it went into the background.

// The living descendants of this process, over all generations. REQUIRES that this process is their subreaper, so that
// orphans come back to it.
std::vector<pid_t> descendants();
void signal_descendants(int number);

// The living processes of this process group, or with "NAME=VALUE" in the environment that they were started with,
// regardless of their present parents. Outside the group it misses processes with a new environment, and those that
// this process may not inspect.
struct Living {
  std::vector<pid_t> pids;
  bool complete =
      true;  // false: a process shows no environment, because it becomes another program or ends; look again
};
Living living_of(pid_t group, std::string_view mark);

// The two times by which guarded work must end, in memory that the leader's process writes and its guardian reads. So
// the guardian knows them even when the leader is stopped, hangs on a disk, or is gone. Times are of the boot clock.
struct Deadlines {
  std::atomic<int64_t> term_ends_ns;  // from then on the work gets the stop signal
  std::atomic<int64_t> kill_at_ns;    // from then on it is killed, regardless of its state
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

// Owns its memory and its descriptor. Any thread may read the times; one sets them.
class DeadlinePage {
 public:
  // Both times are those of the machine's start: set() comes before a guardian reads. Errors: no memory, no descriptor.
  static Result<DeadlinePage> create();
  // The page behind a descriptor that another process has handed on. Takes the descriptor, and closes it on failure.
  static Result<DeadlinePage> map(int fd);
  DeadlinePage(DeadlinePage&& other) noexcept;
  DeadlinePage& operator=(DeadlinePage&&) = delete;
  ~DeadlinePage();

  // To hand on; it is closed on exec unless the spawner keeps it open.
  int descriptor() const { return fd_; }
  void set(Instant term_ends, Instant kill_at) {
    // The kill time first when both move on, so that no reader ever sees the new end with the old kill time before it.
    deadlines_->kill_at_ns.store(kill_at.ns());
    deadlines_->term_ends_ns.store(term_ends.ns());
  }
  Instant term_ends() const { return Instant::from_ns(deadlines_->term_ends_ns.load()); }
  Instant kill_at() const { return Instant::from_ns(deadlines_->kill_at_ns.load()); }

 private:
  DeadlinePage(int fd, Deadlines* deadlines) : fd_(fd), deadlines_(deadlines) {}
  int fd_;
  Deadlines* deadlines_;
};

struct GuardianCall {
  int page_fd = -1;
  int socket_fd = -1;
  int lock_fd = -1;              // kept open to the end, unless it is -1
  bool command_has_lock = true;  // and by the command
  int stop_signal = 15;          // SIGTERM
  std::vector<std::string> command;

  // The command line of the guardian after the program's name, and back.
  std::vector<std::string> arguments() const;
  static bool is_one(int argc, char** argv);
  static GuardianCall parse(int argc, char** argv);
};

// The whole life of the process. Its exit code means nothing.
int guardian_main(const GuardianCall& call);

}  // namespace bellwether::lead
