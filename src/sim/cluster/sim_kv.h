// The memory of simulated nodes (cluster/net/kv.h): a table on a disk that is slow, fails, and loses unconfirmed data.
// The disk outlives the process that has it open.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "cluster/net/kv.h"
#include "core/base/prng.h"
#include "core/runtime/event.h"
#include "sim/disk.h"

namespace bellwether::sim {

// The disk's half: one for each machine. Disk::settings() of syncs give its speed and its failures.
class StoredKeys {
 public:
  StoredKeys(Prng& prng, Disk& disk) : prng_(prng), disk_(disk) {}
  StoredKeys(const StoredKeys&) = delete;
  StoredKeys& operator=(const StoredKeys&) = delete;

  bool has(const std::string& key) const { return table_.contains(key); }
  // Another disk, with nothing on it, is put in its place. REQUIRES that no process has it open.
  void replace() { table_.clear(); }

 private:
  friend class SimKv;
  struct Write {
    std::vector<cluster::KvChange> changes;
    Instant done_at;                 // of a careless one: by the clock of the process
    runtime::Event* turn = nullptr;  // of a careful write: set when the earlier ones are done
  };
  void apply_first();

  Prng& prng_;
  Disk& disk_;
  std::map<std::string, std::string> table_;
  std::deque<Write> under_way_;  // asked for and not done, in order
};

// The process's half. When its process ends, the first part of its pending writes may have arrived, in order.
class SimKv final : public cluster::Kv {
 public:
  // `careless`: a change counts as durable while it is only in the memory of the system, which writes it when it likes:
  // the mistake of a store without fsync.
  SimKv(runtime::Runtime& runtime, StoredKeys& stored, bool careless)
      : runtime_(runtime), stored_(stored), careless_(careless) {}
  ~SimKv() override;
  SimKv(const SimKv&) = delete;
  SimKv& operator=(const SimKv&) = delete;

  runtime::task<Result<std::optional<std::string>>> get(std::string key) override;
  runtime::task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string prefix) override;
  runtime::task<Status> put(std::vector<cluster::KvChange> changes) override;
  bool broken() const { return broken_; }

 private:
  static bool too_large(const std::vector<cluster::KvChange>& changes);
  void write_back();
  // The first write is done, whether it is on the disk or not.
  void finish_first(bool written);

  runtime::Runtime& runtime_;
  StoredKeys& stored_;
  bool careless_;
  bool broken_ = false;  // after kIo, until it is opened again
};

}  // namespace bellwether::sim
