// One configured peer that keeps registers of jobs, at work: the kernel (dispatch/job_acceptor.h) with a disk and lines
// to those who ask. What it promises or accepts is durable before it is said; changes that are asked for while the disk
// is busy become durable together. A disk that is full or fails makes it abstain, and say so, and nothing worse.
// One thread, that of its runtime.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "cluster/jobs/job_lines.h"
#include "cluster/jobs/job_view.h"
#include "cluster/kv.h"
#include "dispatch/job_acceptor.h"
#include "runtime/scope.h"

namespace bellwether::jobs {

struct KeeperSettings {
  // A person says that nothing was ever promised or accepted under this node's name, or that no job is left anywhere.
  // Else a disk that knows nothing is taken for one that was lost, and whoever replaces it must have another name; and
  // other peers than before are refused.
  bool first_start = false;
  double drift = 0.01;  // how far a clock may run from true time, as a share
  std::size_t most_jobs = 10'000;
  std::size_t most_bytes = std::size_t{256} << 20;  // of the states of all jobs, all of which are in memory too
  Duration retired_kept = Duration::hours(1);
};

class JobKeeper final : public JobView, private JobLines::Keeper {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_note(bool warning, const std::string& text) = 0;
  };

  // All must outlive it.
  JobKeeper(runtime::Runtime& runtime, cluster::Kv& kv, JobLines& lines, KeeperSettings settings, Listener& listener);
  JobKeeper(const JobKeeper&) = delete;
  JobKeeper& operator=(const JobKeeper&) = delete;

  // Keeps registers until cancelled. What is asked before or after it is lost.
  runtime::task<void> run(runtime::Cancellation* cancel);

  std::size_t jobs() const { return kernel_.jobs(); }
  // What this peer has of the registers, and the leases that it has granted.
  bool has_read() const override { return readable_; }
  const dispatch::JobRecord* find(const std::string& key) const override { return kernel_.find(key); }
  bool is_leased(const std::string& key) const override { return kernel_.is_leased(runtime_.boot_now(), key); }
  // Empty while it promises and accepts, else why not.
  const std::string& unable() const { return unable_; }

 private:
  static constexpr std::size_t kMostAtOnce = 64;      // changes that become durable together
  static constexpr std::size_t kMostPending = 4'096;  // changes that wait for the disk; then nothing more is taken

  struct Change {
    uint64_t number = 0;
    cluster::KvChange change;
  };

  void visit_keys(VisitKey visit, void* context) const override {
    kernel_.for_each_key([&](const std::string& key) { visit(context, key); });
  }
  void on_ask(MemberId from, const dispatch::Ask& ask) override;
  void on_gone(const Gone& gone) override;
  runtime::task<dispatch::AcceptorStart> load();
  Result<dispatch::AcceptorStart> read(const std::optional<std::string>& peers,
                                       const std::vector<std::pair<std::string, std::string>>& stored);
  std::string names() const;
  runtime::task<void> sweep(runtime::Cancellation* cancel);
  // Why this cannot be taken, apart from the disk; empty when it can.
  std::string too_much(const dispatch::Ask& ask) const;
  std::size_t bytes_of(const std::string& key) const;
  void step(const dispatch::AcceptorEvent& event);
  void carry_out(dispatch::AcceptorEffect& effect);
  void write(Change change);
  void written(const Status& done);
  static runtime::task<void> flush(JobKeeper* self);

  runtime::Runtime& runtime_;
  cluster::Kv& kv_;
  JobLines& lines_;
  KeeperSettings settings_;
  Listener& listener_;
  dispatch::JobAcceptor kernel_;
  std::deque<dispatch::AcceptorEvent> inbox_;
  bool busy_ = false;
  runtime::Scope* scope_ = nullptr;
  std::deque<Change> pending_;
  bool flushing_ = false;
  bool readable_ = false;
  std::string unable_;
  std::size_t bytes_ = 0;                   // of the states of all jobs
  std::map<std::string, Instant> retired_;  // jobs, and since when that is known
};

}  // namespace bellwether::jobs
