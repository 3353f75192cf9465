// What a worker has for shares: its cores, and the bundles of scenarios.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace bellwether::dispatch {

// Which cores of a worker serve which parts of the load. A core is free while no part is on it; cores are numbered from
// 0 and given one by one, the lowest first.
class WorkerCores {
 public:
  static constexpr uint32_t kSqueezedMost = 4;  // parts on one core, for a share that is squeezed in

  explicit WorkerCores(uint32_t count) : parts_(count, 0) {}

  // The core of each part of a share: `cores` free ones, over which its parts are spread evenly. One that is squeezed
  // in takes the cores with the fewest parts, in use or not, and all of them when there are fewer than it asks for.
  // Nothing when there is no such room; nothing is taken then. REQUIRES cores and parts above 0.
  std::optional<std::vector<uint32_t>> take(uint32_t cores, uint32_t parts, bool squeeze);
  // Each part leaves its core. REQUIRES what take() gave, once.
  void give_back(const std::vector<uint32_t>& core_of_part);

  uint32_t count() const { return static_cast<uint32_t>(parts_.size()); }
  uint32_t free() const;
  uint32_t parts_on(uint32_t core) const { return parts_.at(core); }

 private:
  std::vector<uint32_t> parts_;  // by core
};

// The bundles that a worker has at hand, by their hashes. What nobody has used for the longest makes room; what is in
// use stays.
class BundleShelf {
 public:
  using Bytes = std::shared_ptr<const std::string>;
  static constexpr std::size_t kOverhead = 1'024;  // that each counts for, beside its bytes

  explicit BundleShelf(std::size_t bytes_most) : bytes_most_(bytes_most) {}

  // kTooLarge when it never fits, kExhausted when what is in use leaves no room. One that is here already stays.
  Status put(const std::string& hash, std::string bytes);
  // Nothing when it is not here. In use for as long as somebody keeps what this gave.
  Bytes find(const std::string& hash);

  std::size_t bytes() const { return bytes_; }

 private:
  struct Bundle {
    std::string hash;
    Bytes bytes;
  };
  std::size_t bytes_most_;
  std::size_t bytes_ = 0;
  std::list<Bundle> bundles_;  // what was used last comes first
};

}  // namespace bellwether::dispatch
