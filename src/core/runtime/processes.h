// The processes of the operating system, as /proc and kill(2) show them. Nothing here waits for a disk.
#pragma once

#include <optional>
#include <string_view>

#include "core/runtime/process.h"

namespace bellwether::runtime {

ProcessIdentity identify_self();
// An id that no process can have (zero, negative, too large) is one of a dead process.
ProcessSight look_at_process(int64_t pid);

// What is needed of /proc/PID/stat: "17 (name, with any characters) S 1 …".
struct ProcessStat {
  char state;
  uint64_t start_time;
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace bellwether::runtime
