// Whether the process that writes a run is still there.
#pragma once

#include <cstdint>
#include <string>

namespace bellwether::results {

// What runtime::identify_self() has said in that process. One of another namespace of processes counts as alive, for
// its number means nothing here.
bool is_alive(int64_t pid, uint64_t start_time, const std::string& boot_id, const std::string& pid_namespace);

}  // namespace bellwether::results
