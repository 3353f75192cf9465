// The common parts of every process that stands for a key on behalf of other code: the store and its key, the epochs
// that this machine remembers, a lease that follows the store, and the page of figures. A derived class supplies the
// work. One thread, that of its runtime.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/journal/journal.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "election/epoch.h"
#include "election/lease_timing.h"
#include "election/store/candidate.h"
#include "election/store/lease_store.h"
#include "lead/metrics/lease_figures.h"

namespace bellwether::lead {

// The exit codes of the commands that lead, beside those of their children.

inline constexpr int kExitLostLeadership = 75;  // with --once: the term ended before the command did
inline constexpr int kExitWrong = 104;          // the request cannot be met; nothing was begun
inline constexpr int kExitCannotExecute = 126;
inline constexpr int kExitNotFound = 127;

// The highest epoch of a key that this machine has ever seen, kept over restarts. So every process that was there
// notices a store that comes back with less than it had. A file for each store and key in one folder.
class EpochMemory {
 public:
  // `folder` is made at the first save. `store` is LeaseStore::describe().
  EpochMemory(runtime::Runtime& runtime, std::string folder, const std::string& store, const std::string& key);

  // 0 when no epoch was kept. kInvalid when the kept one is damaged.
  runtime::task<Result<election::Epoch>> load();
  // Durable when it has succeeded. Calls do not overlap.
  runtime::task<Status> save(election::Epoch epoch);
  // As if this machine had never seen the key.
  runtime::task<Status> forget();
  const std::string& path() const { return path_; }

 private:
  runtime::Runtime& runtime_;
  std::string folder_;
  std::string path_;
};

// $XDG_STATE_HOME/bellwether/epochs, or that below ~/.local/state; empty without a home.
std::string default_epoch_folder();

class CandidateHost : public CandidateListener {
 public:
  // Logs the candidate's notes, and keeps the epochs that it learns.
  void on_floor(election::Epoch floor) final;
  void on_note(bool warning, const std::string& text) final;

 protected:
  // `follow`: the lease follows the store within these bounds, beginning with `first`. All must outlive it.
  CandidateHost(runtime::EpollRuntime& runtime, Journal& journal,
                const std::optional<election::AdaptiveSettings>& follow, Duration first);

  // Opens the store at `url` and a key in it.
  runtime::task<Status> open_key(std::string url, std::string key);
  // The highest epoch of the key that was ever seen on this machine; from now on it is kept. Zero without a home.
  runtime::task<Result<election::Epoch>> recall_epoch(std::string key);
  // A renewal was confirmed after this time, or failed.
  void store_answered(Duration took) {
    if (adaptive_) follow_store(adaptive_->renewed(took));
  }
  void store_failed() {
    if (adaptive_) follow_store(adaptive_->failed());
  }
  // HOST:PID, where neither the user nor the environment names this process.
  std::string own_name() const;

  runtime::EpollRuntime& runtime_;
  Journal& journal_;
  std::unique_ptr<store::LeaseStore> store_;
  std::unique_ptr<store::StoreKey> key_;
  std::unique_ptr<Candidate> candidate_;
  runtime::Scope* scope_ = nullptr;  // of the coroutines beside the candidate

 private:
  runtime::task<void> keep(election::Epoch floor);
  void follow_store(const std::optional<election::LeaseTiming>& timing);

  std::optional<election::AdaptiveTiming> adaptive_;
  std::unique_ptr<EpochMemory> memory_;
};

// Serves the figures at `at` (HOST:PORT; empty: nowhere) for as long as the answer lives; false when that cannot be,
// which has been told.
struct FiguresPage {
  bool good = true;
  std::unique_ptr<MetricsServer> server;
};
FiguresPage serve_figures(const std::string& at, std::vector<const LeaseFigures*> figures, WallTime now,
                          Journal& journal);

}  // namespace bellwether::lead
