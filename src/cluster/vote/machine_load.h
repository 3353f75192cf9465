// The load of a machine, or of the part that its control groups (cgroup v2) leave of it: a node's claim about its
// resources when it stands for admin. All of the machine counts, not this process alone: other processes take from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/runtime/runtime.h"
#include "election/vote/score.h"

namespace bellwether::cluster {

// Means are over about this time: a score that jumps elects no better admin.
inline constexpr Duration kLoadMean = Duration::seconds(30);

// The kernel's texts, unchanged (proc(5); cgroup v2); empty where it has none.
struct MachineTexts {
  std::string stat;     // /proc/stat
  std::string meminfo;  // /proc/meminfo
  struct Group {
    std::string cpu_max;
    std::string cpu_stat;
    std::string memory_max;
    std::string memory_current;
    std::string memory_stat;
  };
  std::vector<Group> groups;                  // the own one first, then those above it
  std::optional<double> disk_used;            // of the file system with the node's data
  uint64_t disk_free = 0;                     // bytes of it
  std::optional<uint64_t> network_bandwidth;  // bits per second of the fastest device; nothing where none states it
};

// The size of the machine or of the tightest of its groups; zero where it is unknown.
struct MachineSize {
  double cores = 0;
  uint64_t memory = 0;     // bytes
  uint64_t disk_free = 0;  // bytes
  std::optional<uint64_t> network_bandwidth;
};
MachineSize size_of(const MachineTexts& texts);

class MachineLoad {
 public:
  void read(Instant now, const MachineTexts& texts);
  // Means, each from 0 to 1. Unknown values count as used by half. Without the network.
  const vote::Resources& resources() const { return resources_; }

 private:
  struct Counted {
    uint64_t busy = 0;  // ticks
    uint64_t all = 0;
    std::vector<std::optional<uint64_t>> groups;  // microseconds
  };
  std::optional<double> cpu_used(Instant now, const MachineTexts& texts);
  void mix(double& mean, std::optional<double> value, bool first) const;

  vote::Resources resources_{0.5, 0.5, 0.5, 1};
  Counted before_;
  Instant read_at_;
  Duration since_;
  bool any_ = false;
  bool any_cpu_ = false;
};

// The parts. Busy and all ticks of the first line of /proc/stat; stolen time counts as busy.
std::optional<std::pair<uint64_t, uint64_t>> ticks_of(std::string_view stat);
// The most that is used of the machine, or of any group.
std::optional<double> memory_used_of(const MachineTexts& texts);

// The resources of a node, as measured last.
class ResourceSource {
 public:
  virtual ~ResourceSource() = default;
  // Without the network, which the driver measures itself.
  virtual vote::Resources resources() const = 0;
  virtual MachineSize size() const { return {}; }
  // Measures again and again, until cancelled.
  virtual runtime::task<void> run(runtime::Cancellation* /*cancel*/) { co_return; }
};

// Reads the system's figures of this machine and of its control groups, again and again. One thread, that of its
// runtime.
class ResourceMeter final : public ResourceSource {
 public:
  // `folder`: on the disk that counts. The runtime must outlive it.
  ResourceMeter(runtime::Runtime& runtime, std::string folder) : runtime_(runtime), folder_(std::move(folder)) {}
  ResourceMeter(const ResourceMeter&) = delete;
  ResourceMeter& operator=(const ResourceMeter&) = delete;

  // About every second, until cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel) override;
  vote::Resources resources() const override { return load_.resources(); }
  MachineSize size() const override { return size_; }

 private:
  runtime::task<MachineTexts> read_all();

  runtime::Runtime& runtime_;
  std::string folder_;
  MachineLoad load_;
  MachineSize size_;
};

}  // namespace bellwether::cluster
