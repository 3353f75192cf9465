// A Kv in an SQLite file (https://sqlite.org), with a write-ahead log that is synchronised at every change. Each value
// carries a checksum, because SQLite adds none. The work happens on a separate thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/message/message.h"
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

// The record of a voter, of either election (election/durable_record.h).

// All earlier statements of this voter. An empty disk proves nothing: it may have been replaced. `first_start`: a
// person says that this voter never voted before. `missing` warns when there is no record.
template <class Start, class Listener>
runtime::task<Start> load_record(Kv& kv, const char* key, bool first_start, std::string missing, Listener& listener) {
  using Found = typename Start::Found;
  const auto stored = co_await kv.get(key);
  if (!stored) {
    listener.on_note(true, "this node's record of votes cannot be read: " + stored.error().message);
  } else if (stored->has_value()) {
    auto record = message::decode<decltype(Start::record)>(**stored);
    if (record) co_return Start{Found::kRecord, std::move(*record)};
    listener.on_note(true, record.error().message);
  } else if (first_start) {
    co_return Start{Found::kNew, {}};
  } else {
    listener.on_note(true, missing);
  }
  co_return Start{Found::kUnreadable, {}};
}

}  // namespace bellwether::cluster
