// The stock of a worker for assignments: its cores, and the bundles of scenarios. One thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace bellwether::dispatch {

// The cores of a worker, and the parts on them. A core without a part is free. Cores have numbers from 0; the lowest
// free one goes first.
class WorkerCores {
 public:
  static constexpr uint32_t kMaxSqueezed = 4;  // parts on one core, for an assignment that is squeezed in

  explicit WorkerCores(uint32_t count) : parts_(count, 0) {}

  // Returns the core of each part: `cores` free ones, with the parts spread evenly. An assignment that is squeezed in
  // takes the cores with the fewest parts, in use or not, and all of them if it asks for more than there are. Without
  // room it takes and returns nothing. REQUIRES cores and parts above 0.
  std::optional<std::vector<uint32_t>> take(uint32_t cores, uint32_t parts, bool squeeze);
  // Each part leaves its core. REQUIRES the result of take(), once.
  void give_back(const std::vector<uint32_t>& core_of_part);

  uint32_t count() const { return static_cast<uint32_t>(parts_.size()); }
  uint32_t free() const;
  uint32_t parts_on(uint32_t core) const { return parts_.at(core); }

 private:
  std::vector<uint32_t> parts_;  // by core
};

// The bundles of a worker, by hash. The least recently used one makes room; one that is in use stays.
class BundleStore {
 public:
  using Bytes = std::shared_ptr<const std::string>;
  static constexpr std::size_t kOverhead = 1'024;  // that each bundle counts in addition to its bytes

  explicit BundleStore(std::size_t bytes_most) : bytes_most_(bytes_most) {}

  // kTooLarge: it never fits. kExhausted: bundles in use leave no room. A bundle that is here already stays.
  Status put(const std::string& hash, std::string bytes);
  // Nothing if it is not here. The bundle is in use while the caller keeps the result.
  Bytes find(const std::string& hash);

  std::size_t bytes() const { return bytes_; }

 private:
  struct Bundle {
    std::string hash;
    Bytes bytes;
  };
  std::size_t bytes_most_;
  std::size_t bytes_ = 0;
  std::list<Bundle> bundles_;  // the most recently used one first
};

}  // namespace bellwether::dispatch
