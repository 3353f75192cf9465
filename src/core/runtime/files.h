// Files of the operating system, used through a thread that may block. Paths in messages are as given.
#pragma once

#include <memory>
#include <string>

#include "core/runtime/blocking_pool.h"
#include "core/runtime/runtime.h"

namespace bellwether::runtime {

// `runtime` and `pool` must outlive the file.
task<Result<std::unique_ptr<File>>> open_file(Runtime& runtime, BlockingPool& pool, std::string path,
                                              OpenOptions options);

}  // namespace bellwether::runtime
