// Restores a terminal on each end of the process: by a signal that kills it, by a failed check, by exit(). Only SIGKILL
// leaves no time for that. One terminal a process.
#pragma once

#include <cstddef>
#include <string>

struct termios;

namespace bellwether::console {

struct RescuePlan {
  int terminal = -1;               // a separate description of it, without blocking
  const termios* modes = nullptr;  // to set; copied
  std::string leave;               // to write; at most kMaxRescueLeave
  int kept_errors = -1;  // a file with the text for standard error meanwhile, to be written after it; -1: none
  int errors = -1;       // standard error before that
};
inline constexpr std::size_t kMaxRescueLeave = 512;

// From now on. REQUIRES that nothing is armed.
void arm_rescue(const RescuePlan& plan);
// Undoes arm_rescue(). The caller does the restoring itself.
void disarm_rescue();

// Writes what a terminal takes within `patience_ms`, and returns the number of bytes. Safe in a signal handler.
std::size_t write_patiently(int fd, const char* bytes, std::size_t size, int patience_ms);
// Writes the content of a file, in the same way.
void copy_patiently(int from, int to, int patience_ms);

}  // namespace bellwether::console
