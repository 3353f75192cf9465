// Small texts that the kernel makes up when they are read, such as those below /proc: they have no size, and reading
// them does not wait for a disk.
#pragma once

#include <cstddef>
#include <string>

namespace bellwether::runtime {

// The text, or its first `most` bytes; empty when it cannot be read.
std::string read_system_text(const char* path, std::size_t most = 4096);

}  // namespace bellwether::runtime
