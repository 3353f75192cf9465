// The processes of the operating system: programs that this process starts, and others, as /proc and kill(2) show them.
// Nothing here waits for a disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/task.h"

namespace bellwether::runtime {

// --- children --------------------------------------------------------------------------------------------------------

// Programs that this process starts: hooks, health commands, work that is done only while leading. A child has one
// owner, on the thread of its runtime.

struct SpawnOptions {
  enum class Group : unsigned char {
    kOurs,  // that of this process: a terminal signals both
    // A new process group, which signal_group() reaches with all its descendants. A terminal treats it as a background
    // group: reading from there stops it.
    kOwnGroup,
    kOwnSession,  // that, and no terminal
  };
  // The program and its arguments. A name without a slash is searched in PATH; a relative one with a slash counts from
  // `directory`.
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  // names and values, beside those of this process
  std::string directory;                                         // empty: that of this process
  Group group = Group::kOurs;
  bool no_input = false;       // its standard input is empty; else it is that of this process
  std::size_t capture = 0;     // most bytes of its standard output to keep for output(); 0: it is that of this process
  std::vector<int> keep_open;  // descriptors that it has too, with the same numbers; all others are closed for it
  // It is killed when this process dies, however that comes about, or when the runtime that started it ends. Reaches
  // neither the child's own children nor a program with other rights (set-user-ID).
  bool die_with_us = false;
};

// How a program ended.
struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  // the signal that ended it; then it has no exit code
  bool succeeded() const { return exit_code == 0 && signal == 0; }
};

class Child {
 public:
  // A child that has not ended is killed, with its group when that is separate.
  virtual ~Child() = default;
  virtual int64_t pid() const = 0;
  // Its end, as often as asked; kTimeout when it still runs at `deadline`, on the monotonic clock. Does not wait for
  // its descendants. One at a time.
  virtual task<Result<ChildEnd>> wait(Instant deadline, Cancellation* cancel) = 0;
  // A signal to a child that has ended has no effect. The group (only a separate one) is also reached after the child
  // itself has ended: what it left behind is still in there, and the system does not reuse its number while this object
  // lives.
  virtual Status signal(int number) = 0;
  virtual Status signal_group(int number) = 0;
  // Its standard output so far, with SpawnOptions::capture; after wait() all its own output.
  virtual const std::string& output() const = 0;
  // It wrote more than was to be kept.
  virtual bool output_was_cut() const = 0;
  // Destroying this object shall not end it any more.
  virtual void let_go() = 0;
};

// --- any process -----------------------------------------------------------------------------------------------------

// The identity of a process, so that another process can later determine whether it still lives. A process id alone is
// not enough: the system reuses it, and it means nothing on another machine, after a restart of this one, or in another
// container. Unknown members (because /proc is absent) are 0 or empty, and equal nothing.
struct ProcessIdentity {
  int64_t pid = 0;
  uint64_t start_time = 0;    // clock ticks from the start of the machine to that of the process
  std::string boot_id;        // another one at each start of the machine
  std::string pid_namespace;  // process ids are valid only within it
  std::string host;           // the name of the machine, for people
};

struct ProcessSight {
  enum class State : unsigned char {
    kDead,   // certain: no such process exists, or it has ended and its parent has not noticed yet
    kAlive,  // a process of this id exists, or its state is unknown
  };
  State state = State::kAlive;
  std::optional<uint64_t> start_time;  // as in ProcessIdentity; none when the system hides it
};

ProcessIdentity identify_self();
// An id that no process can have (zero, negative, too large) is one of a dead process.
ProcessSight look_at_process(int64_t pid);

// The needed fields of /proc/PID/stat: "17 (name, with any characters) S 1 …".
struct ProcessStat {
  char state;
  uint64_t start_time;
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace bellwether::runtime
