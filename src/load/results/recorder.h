// Writes a run into the store during the run, on a separate thread: the load and the screen never wait for the disk.
// Problems are kept for the end and never end a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "load/aggregate/totals.h"
#include "load/results/store.h"

namespace bellwether::results {

// Whether the process that writes a run is still there.

// What runtime::identify_self() has said in that process. One of another namespace of processes counts as alive, for
// its number means nothing here.
bool is_alive(int64_t pid, uint64_t start_time, const std::string& boot_id, const std::string& pid_namespace);

class Recorder {
 public:
  // Seconds that wait for a slow disk. When there are more, the oldest is left out, and it is said at the end.
  static constexpr std::size_t kMostWaiting = 120;

  enum class Entry : uint8_t {
    kNew,
    // A run with this id that another process has begun and not ended (Store::resume). Without such a run nothing is
    // written, which is no problem.
    kUnfinished,
  };
  // From one thread at a time, all of them. Opens the store and begins the run in it, on the other thread.
  Recorder(std::string path, std::string id, const plan::Plan& plan, WallTime started_at, int cores,
           Entry entry = Entry::kNew);
  // Without end(), the run is one that was aborted.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // In rising order; one that is not is left out. Takes a copy of what it needs of the window; the parts of the
  // exchanges are left out (metrics::Phase).
  void second(const metrics::Window& window, Duration covered);

  // --- of a run that a cluster makes

  // Who makes it; at any time, as often as it changes.
  void cluster(const Cluster& cluster);
  // What was measured in a second of the past too, and was not known then.
  void amend(const metrics::Window& part);
  // The whole run up to now: earlier seconds count only if they agree with it.
  void whole(const aggregate::Totals& totals);

  struct Outcome {
    std::string problem;      // in words; empty: the run is stored, or there was nothing to complete
    std::size_t removed = 0;  // old runs, beyond the limits
  };
  // Writes the last of it and waits until that is done. Once.
  Outcome end(std::string document, std::string verdict, int exit_code, const Limits& limits);

 private:
  struct Work;
  // Takes over what is kept of a window, and gives its requests.
  Figures take(const metrics::Window& window);
  std::unique_ptr<Work> work_;
  Figures figures_;
  metrics::Window scratch_;
  uint64_t next_ = 0;  // the least that the next second can be
};

}  // namespace bellwether::results
