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

// The result of runtime::identify_self() in that process. A process of another namespace counts as alive, because its
// number means nothing here.
bool is_alive(int64_t pid, uint64_t start_time, const std::string& boot_id, const std::string& pid_namespace);

class Recorder {
 public:
  // The most seconds that wait for a slow disk. Beyond it the oldest is left out, which end() reports.
  static constexpr std::size_t kMaxWaiting = 120;

  enum class Entry : uint8_t {
    kNew,
    // A run with this id that another process has begun and not ended (Store::resume). Without such a run nothing is
    // written, which is no problem.
    kUnfinished,
  };
  // All calls from one thread at a time. Opens the store and begins the run in it, on the other thread.
  Recorder(std::string path, std::string id, const plan::Plan& plan, WallTime started_at, int cores,
           Entry entry = Entry::kNew);
  // Without end(), the run counts as aborted.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // In rising order; other seconds are left out. The store does not keep the phases of the exchanges (metrics::Phase)
  // and the times that thresholds select (plan::Watch).
  void second(const metrics::Window& window, Duration covered);

  // --- of a run that a cluster makes

  // The workers of the run; call it at each change.
  void cluster(const Cluster& cluster);
  // A part of a past second that was unknown then.
  void amend(const metrics::Window& part);
  // The whole run up to now: earlier seconds count only if they agree with it.
  void whole(const aggregate::Totals& totals);

  struct Outcome {
    std::string problem;      // in words; empty: the run is stored, or had nothing to complete
    std::size_t removed = 0;  // old runs, beyond the limits
  };
  // Writes the rest and waits until that is done. Once.
  Outcome end(std::string document, std::string verdict, int exit_code, const Limits& limits);

 private:
  struct Work;
  // Takes the stored parts of a window, and returns its requests.
  Figures take(const metrics::Window& window);
  std::unique_ptr<Work> work_;
  Figures figures_;
  metrics::Window scratch_;
  uint64_t next_ = 0;  // the least possible next second
};

}  // namespace bellwether::results
