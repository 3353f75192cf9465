// A Kv in an SQLite file (https://sqlite.org), with a write-ahead log that is synchronised at every change. Each value
// carries a checksum, because SQLite adds none. The work happens on a separate thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/runtime.h"

namespace bellwether::cluster {

// The state that a node needs after a crash: keys and values, changed all at once, durable before anything relies on
// them. The term and vote of an election, the promises of a voter, and the accepted writes of job registers go here.
// One node has it open at a time. A Kv belongs to one runtime and its thread.
struct KvChange {
  std::string key;
  std::optional<std::string> value;  // nothing: the key is removed
};

class Kv {
 public:
  // Of keys and of values; a change beyond them is kTooLarge, and nothing of it is done.
  static constexpr std::size_t kMaxKeyBytes = 512;
  static constexpr std::size_t kMaxValueBytes = 1u << 20;

  virtual ~Kv() = default;
  // kInvalid when the stored value is damaged: its owner must not take it for a missing one.
  virtual runtime::task<Result<std::optional<std::string>>> get(std::string key) = 0;
  // All keys that begin with `prefix`, in their order.
  virtual runtime::task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string prefix) = 0;
  // All changes or none, durable when it has succeeded; changes take effect in the order of the calls. After a failure
  // it is not known which of the two it was. kNoSpace: the disk is full, and trying again may work. After kIo nothing
  // can be read or written any more until it is opened again, because the system may have dropped unwritten data.
  virtual runtime::task<Status> put(std::vector<KvChange> changes) = 0;
};

// Creates the file when it is missing, readable for its owner only; the folder must exist. `runtime` must outlive it
// and must not run any more when it is destroyed. kExists when another process has it open, kInvalid when the file is
// something else or damaged, kUnsupported when a newer version of the product wrote it.
runtime::task<Result<std::unique_ptr<Kv>>> open_sqlite_kv(runtime::Runtime& runtime, std::string path);

}  // namespace bellwether::cluster
