// The processes that come from this one and still live, over all generations: what a command left behind when it went
// into the background. REQUIRES that this process is their subreaper, so that orphans come back to it.
#pragma once

#include <sys/types.h>
#include <vector>

namespace bellwether::lead {

std::vector<pid_t> descendants();
void signal_descendants(int number);

}  // namespace bellwether::lead
