// Which cores of a worker serve which parts of the load. A core is free while no part is on it; cores are numbered from
// 0 and given one by one, the lowest first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace bellwether::dispatch {

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

}  // namespace bellwether::dispatch
