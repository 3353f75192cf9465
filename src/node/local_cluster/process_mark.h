// A process that was started once and may run for days, so that a later command finds it again and nothing else: its id
// with the time of its start, on this boot of this machine.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace bellwether::local_cluster {

struct ProcessMark {
  int64_t pid = 0;  // 0: there never was one
  uint64_t start_time = 0;
  std::string boot_id;
  std::string pid_namespace;
  bool operator==(const ProcessMark&) const = default;
};

// Of a process that runs now. Incomplete when the system hides it, and then it lives for nobody.
ProcessMark mark_of(int64_t pid);
bool lives(const ProcessMark& mark);
// Reaches that process or none. kNotFound: it lives no more.
Status signal_process(const ProcessMark& mark, int number);

}  // namespace bellwether::local_cluster
