// A Kv in an SQLite file (https://sqlite.org), with a write-ahead log that is synchronised at every change. Each value
// carries a checksum, which SQLite does not do by itself. The work happens on a thread of its own.
#pragma once

#include <memory>
#include <string>

#include "cluster/net/kv.h"
#include "core/runtime/runtime.h"

namespace bellwether::cluster {

// Creates the file when it is missing, readable for its owner only; the folder must exist. `runtime` must outlive it
// and must not run any more when it is destroyed. kExists when another process has it open, kInvalid when the file is
// something else or damaged, kUnsupported when a newer version of the product wrote it.
runtime::task<Result<std::unique_ptr<Kv>>> open_sqlite_kv(runtime::Runtime& runtime, std::string path);

}  // namespace bellwether::cluster
