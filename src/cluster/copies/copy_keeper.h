// One voter that keeps the big values of jobs, at work: the rules (copy_shelf.h) with a disk and lines to those who
// ask. What it answers is durable before it is said. A disk that is full or fails makes it refuse, with the reason, and
// nothing worse. One thread, that of its runtime.
//
// In its Kv: a record for each complete value, its pieces, a mark for each slot that is not complete, what was
// promised, and which jobs were dropped. Pieces are written before the record that names them, and removed with it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cluster/copies/copy_lines.h"
#include "cluster/copies/copy_shelf.h"
#include "cluster/kv.h"
#include "runtime/event.h"
#include "runtime/scope.h"

namespace bellwether::copies {

struct CopyKeeperSettings {
  // A person says that nothing was ever kept or promised under this node's name, or that no job is left anywhere. Else
  // a disk that knows nothing is taken for one that was lost, and other voters than before are refused.
  bool first_start = false;
  ShelfLimits limits;  // `others` is filled in
  Duration sweep_every = Duration::seconds(15);
};

class CopyKeeper final : private CopyLines::Keeper {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_note(bool warning, const std::string& text) = 0;
  };

  // All must outlive it. `kv` is one of its own: votes must not wait for megabytes.
  CopyKeeper(runtime::Runtime& runtime, cluster::Kv& kv, CopyLines& lines, CopyKeeperSettings settings,
             Listener& listener);
  CopyKeeper(const CopyKeeper&) = delete;
  CopyKeeper& operator=(const CopyKeeper&) = delete;

  // Keeps copies until cancelled, and until what was asked before that has been answered.
  runtime::task<void> run(runtime::Cancellation* cancel);

  std::size_t values() const { return shelf_.values(); }
  uint64_t bytes() const { return shelf_.bytes(); }
  // It has read its disk, or found that it cannot.
  bool started() const { return started_; }
  // Empty while it keeps copies, else why not.
  const std::string& unable() const { return unable_; }

 private:
  static constexpr std::size_t kMostBatchBytes = std::size_t{2} << 20;     // that become durable together
  static constexpr std::size_t kMostPendingBytes = std::size_t{32} << 20;  // that wait for the disk

  struct Write {
    std::vector<cluster::KvChange> changes;
    std::size_t bytes = 0;
    Status durable;
    runtime::Event done;
  };

  runtime::task<Answer> answer(Question question) override;
  runtime::task<Answer> decide(Question question);
  runtime::task<Answer> read(ReadPiece piece);
  runtime::task<Status> write(std::vector<cluster::KvChange> changes);
  static runtime::task<void> flush(CopyKeeper* self);
  void written(const Status& done);
  runtime::task<Status> load();
  runtime::task<Status> check_disk(bool empty);
  runtime::task<void> sweep(runtime::Cancellation* cancel);
  runtime::task<void> tell_dropped(std::string other, runtime::Cancellation* cancel);
  std::string names() const;

  runtime::Runtime& runtime_;
  cluster::Kv& kv_;
  CopyLines& lines_;
  CopyKeeperSettings settings_;
  Listener& listener_;
  CopyShelf shelf_;
  std::deque<Write*> pending_;  // of the coroutines that wait for them
  std::size_t pending_bytes_ = 0;
  bool flushing_ = false;
  bool started_ = false;
  bool readable_ = false;
  std::string unable_;
  std::size_t answering_ = 0;
  runtime::Event idle_;
  runtime::Scope* scope_ = nullptr;
};

}  // namespace bellwether::copies
