// What texts and folders of the kernel say about the machine (proc(5), and control groups v2). Each gives nothing when
// what it is given is not what it should be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bellwether::runtime {

// The numbers of the first line that begins with `key`, up to the first word that is none.
std::vector<uint64_t> numbers_after(std::string_view text, std::string_view key);
// The first of them.
std::optional<uint64_t> number_after(std::string_view text, std::string_view key);

// /proc/self/cgroup: the group of the one hierarchy, as a path from its root.
std::optional<std::string> group_of(std::string_view cgroup);

// Entries of a folder, without the two that every one has; 0 when it cannot be read.
uint64_t entries_of(const char* folder);

}  // namespace bellwether::runtime
