// The processes that a command left behind when it went into the background.
#pragma once

#include <string_view>
#include <sys/types.h>
#include <vector>

namespace bellwether::lead {

// Those that come from this process and still live, over all generations. REQUIRES that this process is their
// subreaper, so that orphans come back to it.
std::vector<pid_t> descendants();
void signal_descendants(int number);

// Those that live and are of this process group, or have "NAME=VALUE" in the environment that they were started with,
// whoever their parents are by now. Outside the group it does not find what was started with an environment made anew,
// nor what this process may not look at.
struct Living {
  std::vector<pid_t> pids;
  bool complete =
      true;  // false: a process shows no environment, because it becomes another program or ends; look again
};
Living living_of(pid_t group, std::string_view mark);

}  // namespace bellwether::lead
