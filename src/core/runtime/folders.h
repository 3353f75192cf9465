// Names on the disks of the operating system, used through a thread that may block: what Runtime offers of folders,
// renaming and removing. Paths in messages are as given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/runtime/blocking_pool.h"

namespace bellwether::runtime {

task<Status> rename_file(BlockingPool& pool, std::string from, std::string to);
task<Status> remove_file(BlockingPool& pool, std::string path);
task<Status> sync_directory(BlockingPool& pool, std::string path);
task<Status> make_directory(BlockingPool& pool, std::string path, uint32_t mode);
task<Result<std::vector<std::string>>> list_directory(BlockingPool& pool, std::string path);

}  // namespace bellwether::runtime
