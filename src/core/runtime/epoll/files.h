// Files of the operating system, through a thread that may block. Paths in error texts are as given.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime/epoll/blocking_pool.h"
#include "core/runtime/runtime.h"

namespace bellwether::runtime {

// Names on the disks of the operating system, through a thread that may block: folders, renaming and removing for
// Runtime. Paths in messages are as given.
task<Status> rename_file(BlockingPool& pool, std::string from, std::string to);
task<Status> remove_file(BlockingPool& pool, std::string path);
task<Status> sync_directory(BlockingPool& pool, std::string path);
task<Status> make_directory(BlockingPool& pool, std::string path, uint32_t mode);
task<Result<std::vector<std::string>>> list_directory(BlockingPool& pool, std::string path);

// `runtime` and `pool` must outlive the file.
task<Result<std::unique_ptr<File>>> open_file(Runtime& runtime, BlockingPool& pool, std::string path,
                                              OpenOptions options);

}  // namespace bellwether::runtime
