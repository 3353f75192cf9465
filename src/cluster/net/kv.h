// What a node must still know after a crash: keys and values, changed all at once, durable before anybody relies on
// them. The term and vote of an election, what a voter promised, and what an acceptor of job registers accepted go
// here. One node has it open at a time. A Kv belongs to one runtime and its thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/runtime.h"

namespace bellwether::cluster {

struct KvChange {
  std::string key;
  std::optional<std::string> value;  // nothing: the key is removed
};

class Kv {
 public:
  // Of keys and of values; a change beyond them is kTooLarge, and nothing of it is done.
  static constexpr std::size_t kKeyBytesMax = 512;
  static constexpr std::size_t kValueBytesMax = 1u << 20;

  virtual ~Kv() = default;
  // kInvalid when what was stored is damaged: its owner must not take that for nothing.
  virtual runtime::task<Result<std::optional<std::string>>> get(std::string key) = 0;
  // All keys that begin with `prefix`, in their order.
  virtual runtime::task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string prefix) = 0;
  // All changes or none, durable when it has succeeded; changes take effect in the order in which they were asked for.
  // After a failure it is not known which of the two it was. kNoSpace: the disk is full, and trying again may work.
  // After kIo nothing can be read or written any more until it is opened again, because the system may have thrown away
  // what it could not write.
  virtual runtime::task<Status> put(std::vector<KvChange> changes) = 0;
};

}  // namespace bellwether::cluster
