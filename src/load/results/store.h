// The runs of this machine in one SQLite file (https://sqlite.org), for later views and comparisons. Several processes
// may use it at once: with a write-ahead log all may read while one writes. Every call may wait for the disk, so none
// of them belongs on a thread that makes load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/callback.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "load/metrics/window.h"
#include "load/plan/plan.h"

namespace bellwether::results {

class Database;

// A run in a list, as a person sees it.
struct Figures {
  Duration elapsed;
  uint64_t requests = 0;
  uint64_t failed = 0;
};

enum class State : uint8_t {
  kRunning,
  kAborted,  // the process that wrote it is gone, and has not recorded its end
  kEnded,
};
// "running", "aborted", "ended".
std::string_view to_string(State state);

// The verdict of a run that ended without a confirmed result, which a later process may complete.
inline constexpr std::string_view kUnconfirmed = "unconfirmed";

// Of a run that a cluster made: its id is that of the job.
struct Cluster {
  std::string name;
  std::string workers;  // their names, with spaces between; as many as fit into kMaxWorkersBytes
};
inline constexpr std::size_t kMaxWorkersBytes = 4096;

struct Run {
  std::string id;
  std::string scenario;
  WallTime started_at;
  State state = State::kRunning;
  std::string verdict;  // of one that ended
  int exit_code = 0;
  Figures figures;
  uint64_t bytes = 0;              // of its seconds and its document
  std::optional<Cluster> cluster;  // none: this machine made it
};

// A interval of a run.
struct Interval {
  uint64_t first = 0;  // second since the start
  uint64_t span = 1;   // seconds
  Duration covered;    // measured time in it
  std::string window;  // as load/codec/window_codec.h writes it, without `covered`
};

struct Limits {
  uint64_t runs = 200;
  uint64_t bytes = uint64_t{1} << 30;
};

class Store {
 public:
  enum class Use : uint8_t {
    kRead,   // kNotFound when the file does not exist
    kWrite,  // made when it is missing, with its folder, for its owner only
  };
  // kInvalid: damaged, or a file of another program. kUnsupported: a newer version of the product made it. kRefused: no
  // permission.
  static Result<Store> open(const std::string& path, Use use);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  // A run of this process begins. kExists: the id is taken.
  Status begin(const std::string& id, const plan::Plan& plan, WallTime started_at, int cores);
  // One second more, and its folds, all or nothing.
  Status add(const std::string& id, const Interval& second, const Figures& so_far,
             const std::vector<metrics::Fold>& folds);
  // --- of a run that a cluster makes, and this process only follows

  // The cluster and the workers of the run, in place of an earlier note.
  Status note_cluster(const std::string& id, const Cluster& cluster);
  // This process continues the run of another process that is gone and has not recorded its end, or only an unconfirmed
  // one. Returns the second after the last stored one; empty: no such run of this plan.
  Result<std::optional<uint64_t>> resume(const std::string& id, const plan::Plan& plan);
  // Adds a part of a past second that was unknown then. It goes into the interval that has that second, or into a new
  // one. The time that it measured and the parts before it did not counts, unless the interval has more seconds.
  Status amend(const std::string& id, uint64_t second, const metrics::Window& part, const Figures& so_far);
  // `whole` is everything from the start to before `whole.span`. If the stored data of that time agree, they stay, and
  // only later data go; else `whole` replaces all, as one interval. Returns whether they stayed.
  Result<bool> settle(const std::string& id, const Interval& whole, const Figures& so_far);

  // The run has ended, and `document` is its result file.
  Status end(const std::string& id, const std::string& document, std::string_view verdict, int exit_code,
             const Figures& figures);

  // The newest first.
  Result<std::vector<Run>> list();
  // A run by its id, by the beginning of an id that only one has, or as `last`, `last~1` (the one before) and so on.
  // kNotFound with the nearest id, kInvalid for a beginning that several have.
  Result<Run> find(std::string_view name);
  // The result file of a run; for an aborted run it comes from the stored seconds. kNotFound: it runs.
  Result<std::string> document(const Run& run);
  // The plan of its windows (load/results/database.h).
  Result<plan::Plan> plan_of(const Run& run);
  // All intervals in their order, one after the other, each with its seconds.
  using Visit = Callback<void(const metrics::Window& window, uint64_t span)>;
  Status each_interval(const Run& run, const plan::Plan& plan, Visit visit);

  // Puts everything into the one file, without a log beside it, ready to send.
  Status close_whole();
  Status remove(const Run& run);
  // Blobs the run into another store. kExists: it is there.
  Status copy(const Run& run, Store& to);
  // Removes the oldest runs beyond the limits, and frees their room. Runs in progress, and `keep`, stay. Returns their
  // number.
  Result<std::size_t> prune(const Limits& limits, const std::string& keep);

 private:
  explicit Store(std::unique_ptr<Database> database);
  Result<std::vector<Run>> list_plain();
  // By the ids of their runs.
  Result<std::map<std::string, Cluster>> clusters_of_all();
  Status set_figures(const std::string& id, const Figures& figures);
  std::unique_ptr<Database> database_;
};

// The run that a name means.

// The index of the run that `name` means, among the ids of all runs, the newest first: an id, the beginning of one,
// `last`, or `last~N` for the Nth before it. kNotFound, with the nearest id; kInvalid when several begin so.
Result<std::size_t> pick(std::string_view name, const std::vector<std::string_view>& ids);

}  // namespace bellwether::results
