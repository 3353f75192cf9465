// The epochs of keys as runs of a command saw them, in a file, so that changes of leader can be counted over an hour
// although each run only looks for a moment.
#pragma once

#include <cstdint>
#include <string>

#include "election/epoch.h"
#include "lead/agents/shared_file.h"

namespace bellwether::cli {

class EpochHistory {
 public:
  // `runtime` must outlive it.
  EpochHistory(runtime::Runtime& runtime, std::string path)
      : runtime_(runtime), file_(runtime, std::move(path), lead::SharedFile::WhenBroken::kQuarantine) {}

  // Notes the epoch of a key, and gives by how much it has grown within the last hour, as far as runs have seen it.
  runtime::task<Result<uint64_t>> note(std::string key, election::Epoch epoch);

 private:
  runtime::Runtime& runtime_;
  lead::SharedFile file_;
};

}  // namespace bellwether::cli
