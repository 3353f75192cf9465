// Files that a run looks into all the time without having them in memory.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "load/scenario/sources.h"

namespace bellwether::client::detail {

// The bytes of a file: of a small one a copy, which no change of the file can reach; a larger one is mapped, and
// whoever writes into it changes what is seen, whoever cuts it off ends the process. Errors: as of read_whole_file().
bellwether::Result<scenario::FileView> view_whole_file(const std::string& path, uint64_t bytes_max);

}  // namespace bellwether::client::detail
