// Writes a run into the store while it goes on, on a thread of its own: whoever makes the load or watches it never
// waits for the disk. What goes wrong is kept for the end and never ends a run.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "results/store.h"

namespace bellwether::results {

class Recorder {
 public:
  // Seconds that wait for a slow disk. When there are more, the oldest is left out, and it is said at the end.
  static constexpr std::size_t kMostWaiting = 120;

  // From the control thread, all of them. Opens the store and begins the run in it, on the other thread.
  Recorder(std::string path, std::string id, const plan::Plan& plan, WallTime started_at, int cores);
  // Without end(), the run is one that was aborted.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // In rising order; one that is not is left out. Takes a copy of what it needs of the window; the parts of the
  // exchanges are left out (metrics::Phase).
  void second(const metrics::Window& window, Duration covered);

  struct Outcome {
    std::string problem;      // in words; empty: the run is stored
    std::size_t removed = 0;  // old runs, beyond the limits
  };
  // Writes the last of it and waits until that is done. Once.
  Outcome end(std::string document, std::string verdict, int exit_code, const Limits& limits);

 private:
  struct Work;
  std::unique_ptr<Work> work_;
  Figures figures_;
  metrics::Window scratch_;
  uint64_t next_ = 0;  // the least that the next second can be
};

}  // namespace bellwether::results
