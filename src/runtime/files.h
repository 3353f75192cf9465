// Files of the operating system, used through a thread that may block. Paths in messages are as given.
#pragma once

#include <memory>
#include <string>

#include "runtime/blocking_pool.h"
#include "runtime/runtime.h"

namespace bellwether::runtime {

// `pool` must outlive the file.
task<Result<std::unique_ptr<File>>> open_file(BlockingPool& pool, std::string path, OpenOptions options);
task<Status> rename_file(BlockingPool& pool, std::string from, std::string to);
task<Status> remove_file(BlockingPool& pool, std::string path);
task<Status> sync_directory(BlockingPool& pool, std::string path);

}  // namespace bellwether::runtime
