// The processes of the operating system, as /proc and kill(2) show them. Nothing here waits for a disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bellwether::runtime {

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
