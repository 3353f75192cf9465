// The state of this process: the part of its processors and memory that it uses, and the lag of its loop. Its limits
// are the least of the machine's and of those that its control groups (cgroup v2) allow: in a container the machine's
// own figures would say that all is well until the end. One thread, that of its runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/callback.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"

namespace bellwether::cluster {

struct ResourceUsage {
  double cores = 1;          // that it may use
  double cpu_ratio = 0;      // of those, 0 to 1, over the last interval
  uint64_t memory = 0;       // bytes, resident or charged to its group, without those that could be dropped at once
  uint64_t memory_most = 0;  // 0: not known
  double memory_ratio() const {
    return memory_most == 0 ? 0 : static_cast<double>(memory) / static_cast<double>(memory_most);
  }
  uint64_t descriptors = 0;       // open files and connections
  uint64_t descriptors_most = 0;  // 0: no limit, or an unknown one
  double descriptor_ratio() const {
    return descriptors_most == 0 ? 0 : static_cast<double>(descriptors) / static_cast<double>(descriptors_most);
  }
  Duration run_delay;   // for how long its thread could have run and had no processor, over the last interval
  double loop_lag = 0;  // how late a timer fired, over its period; the worst of the last interval
};

// The source of these figures of a process.
class ResourceSource {
 public:
  virtual ~ResourceSource() = default;
  // All of them but the lag of the loop, which only the loop itself can measure.
  virtual runtime::task<ResourceUsage> measure() = 0;
};

// Of this very process, from the system.
class ProcessResources final : public ResourceSource {
 public:
  // The runtime must outlive it, and is that of the thread whose waits for a processor count.
  explicit ProcessResources(runtime::Runtime& runtime) : runtime_(runtime) {}
  runtime::task<ResourceUsage> measure() override;

 private:
  void count_descriptors();

  runtime::Runtime& runtime_;
  ResourceUsage signs_;
  std::optional<Duration> cpu_before_;
  std::optional<Duration> waited_before_;
  int uncounted_ = 0;  // measures since descriptors were counted
  Instant measured_;
};

inline constexpr Duration kLoopBeat = Duration::millis(100);

class ResourceMonitor {
 public:
  // Every kLoopBeat, and every second.
  using LoopLag = Callback<void(double ratio)>;
  using Measured = Callback<void(const ResourceUsage& signs)>;
  // All must outlive it. `source` may be nullptr: then only the lag of the loop is known.
  ResourceMonitor(runtime::Runtime& runtime, ResourceSource* source, LoopLag loop_lag, Measured measured)
      : runtime_(runtime), source_(source), loop_lag_(loop_lag), measured_(measured) {}
  ResourceMonitor(const ResourceMonitor&) = delete;
  ResourceMonitor& operator=(const ResourceMonitor&) = delete;

  runtime::task<void> run(runtime::Cancellation* cancel);

 private:
  runtime::Runtime& runtime_;
  ResourceSource* source_;
  LoopLag loop_lag_;
  Measured measured_;
  double worst_lag_ = 0;
};

// A small file of the kernel, as it is now; empty when it cannot be read.
runtime::task<std::string> read_small(runtime::Runtime& runtime, std::string path);

// The parts that need no system. Each gives nothing for an invalid text. /proc/self/stat: processor time that the
// process has used.
std::optional<Duration> cpu_time_of(std::string_view stat, int64_t ticks_a_second);
// /proc/self/task/ID/schedstat: the total time that the thread has waited for a processor.
std::optional<Duration> waited_of(std::string_view schedstat);
// /proc/self/statm: resident pages.
std::optional<uint64_t> resident_pages_of(std::string_view statm);
// cpu.max: processors that the group may use; nothing when it has no limit.
std::optional<double> cores_of(std::string_view cpu_max);
// memory.max, memory.current: bytes; nothing for "max".
std::optional<uint64_t> bytes_of(std::string_view memory);
// memory.stat: bytes of files that are kept in memory and could be dropped at once.
std::optional<uint64_t> droppable_of(std::string_view memory_stat);
// /proc/meminfo: MemTotal in bytes.
std::optional<uint64_t> total_memory_of(std::string_view meminfo);

}  // namespace bellwether::cluster
