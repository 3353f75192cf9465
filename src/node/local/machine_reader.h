// What the operating system says of the machine and of the control groups (cgroup v2) this process is in: a few small
// texts of the kernel, a fraction of a millisecond together. Not for a thread that makes load.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/strain.h"

namespace bellwether::node {

class MachineReader {
 public:
  // `root`: the folder that holds proc and sys; empty: those of the system.
  explicit MachineReader(std::string root = {});

  // What cannot be read is left out.
  aggregate::MachineReading read();

 private:
  std::string text(const std::string& path) const;
  void read_groups(aggregate::MachineReading& out) const;
  std::optional<double> descriptor_share();

  std::string root_;
  std::vector<std::string> groups_;  // folders, from the own group upwards
  uint64_t descriptors_ = 0;
  int uncounted_ = 0;  // readings since they were counted
};

}  // namespace bellwether::node
