// The self-observation of a load generator (load/aggregate/self_monitor.h), on its control thread and once a second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "load/aggregate/self_monitor.h"
#include "load/metrics/window.h"

namespace bellwether::node {

// The operating system's figures of the machine and of the control groups (cgroup v2) of this process: a few small
// texts of the kernel, a fraction of a millisecond together. Not for a thread that makes load.
class MachineReader {
 public:
  // `root`: the folder that holds proc and sys; empty: those of the system.
  explicit MachineReader(std::string root = {});

  // Leaves out unreadable figures.
  aggregate::MachineReading read();

 private:
  std::string text(const std::string& path) const;
  void read_groups(aggregate::MachineReading& out) const;
  std::optional<double> descriptor_ratio();

  std::string root_;
  std::vector<std::string> groups_;  // folders, from the own group upwards
  uint64_t descriptors_ = 0;
  int uncounted_ = 0;  // readings since they were counted
};

class SelfWatch {
 public:
  // A report at a time of the run: a finding begins, or is over.
  struct News {
    std::string kind;  // "generator_saturated", "generator_relieved"
    std::string text;
  };

  // REQUIRES threads > 0: those that make load.
  explicit SelfWatch(uint32_t threads);

  // The counts of all threads in a second, of which they covered this part; reported at `now` since the start of the
  // run.
  std::vector<News> second(Duration now, const metrics::Window& window, Duration covered);
  // The run has ended.
  void end(Duration now) { watch_.end(now); }

  const std::vector<aggregate::Finding>& findings() const { return watch_.findings(); }

 private:
  uint32_t threads_;
  MachineReader machine_;
  aggregate::SelfMonitor watch_;
  std::optional<Duration> read_at_;
};

}  // namespace bellwether::node
