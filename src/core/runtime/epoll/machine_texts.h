// Reads texts and folders of the kernel about the machine (proc(5), and control groups v2). Each function returns
// nothing for malformed input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/epoll/blocking_pool.h"

namespace bellwether::runtime {

// A small text that the kernel makes at each reading, such as those below /proc: it has no size, and reading it does
// not wait for a disk. At most its first `most` bytes; empty when it cannot be read.
std::string read_system_text(const char* path, std::size_t most = 4096);

// The numbers of the first line that begins with `key`, up to the first word that is none.
std::vector<uint64_t> numbers_after(std::string_view text, std::string_view key);
// The first number.
std::optional<uint64_t> number_after(std::string_view text, std::string_view key);

// /proc/self/cgroup: the group of the one hierarchy, as a path from its root.
std::optional<std::string> group_of(std::string_view cgroup);

// Entries of a folder, without the two that every one has; 0 when it cannot be read.
uint64_t entries_of(const char* folder);

// Which file systems share their files with other machines. A lock on such a file may hold on one machine only, and a
// process id in it may be one of another machine.

// The kind of network file system that the existing `path` is on ("nfs", "cifs", "fuse.sshfs"); empty for a local one.
task<Result<std::string>> network_file_system(BlockingPool& pool, std::string path);

// The parts of it that need no disk. The kind for a magic number of statfs(2); empty for a local one. The locks of a
// program behind FUSE are unknown, so all of them count, except block devices. `type` comes from the system's list of
// mounts, or is empty.
std::string network_kind(uint64_t magic, std::string_view type);
// The type of the mounted file system with this device number, from the text of /proc/self/mountinfo; empty when it is
// not in there.
std::string_view mounted_type(std::string_view mountinfo, unsigned device_major, unsigned device_minor);
// Whether the kind for this magic number depends on the type of the mount.
bool needs_mounted_type(uint64_t magic);

}  // namespace bellwether::runtime
