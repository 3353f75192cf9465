// Which file systems share their files with other machines. A lock on such a file may hold on one machine only, and a
// process id in it may be one of another machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/runtime/blocking_pool.h"

namespace bellwether::runtime {

// The kind of network file system that the existing `path` is on ("nfs", "cifs", "fuse.sshfs"); empty for a local one.
task<Result<std::string>> network_file_system(BlockingPool& pool, std::string path);

// The parts of it that need no disk. The kind for a magic number of statfs(2); empty for a local one. What a program
// behind FUSE does with locks is unknown, so that all of them count, but for block devices.
// `type` is what the system's list of mounts says, empty when it says nothing.
std::string network_kind(uint64_t magic, std::string_view type);
// The type of the mounted file system with this device number, from the text of /proc/self/mountinfo; empty when it is
// not in there.
std::string_view mounted_type(std::string_view mountinfo, unsigned device_major, unsigned device_minor);
// Whether the kind for this magic number depends on the type of the mount.
bool needs_mounted_type(uint64_t magic);

}  // namespace bellwether::runtime
