// A load generator that watches itself while it runs (aggregate/strain.h), on its control thread and once a second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate/strain.h"
#include "base/time.h"
#include "metrics/window.h"
#include "node/local/machine_reader.h"

namespace bellwether::node {

class SelfWatch {
 public:
  // Something to tell at a time of the run: when it begins, and when it is over.
  struct News {
    std::string kind;  // "generator_strained", "generator_relieved"
    std::string text;
  };

  // REQUIRES threads > 0, that make load.
  explicit SelfWatch(uint32_t threads);

  // All that the threads counted in a second of which they covered so much, told at `now` since the start of the run.
  std::vector<News> second(Duration now, const metrics::Window& window, Duration covered);
  // The run has ended.
  void end(Duration now) { watch_.end(now); }

  const std::vector<aggregate::Finding>& findings() const { return watch_.findings(); }

 private:
  uint32_t threads_;
  MachineReader machine_;
  aggregate::StrainWatch watch_;
  std::optional<Duration> read_at_;
};

}  // namespace bellwether::node
