// Leases in the memory of this process: for tests, and the shortest example of a store. All stores with one name share
// their keys, as two clients of one server would.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "election/store/lease_store.h"

namespace bellwether::store {

// The shared state of one memory's clients. One thread.
class Memory {
 public:
  election::Observation look(const std::string& key) const;
  election::WriteOutcome act(const std::string& key, const election::WriteRequest& request, WallTime now);
  // Forgets everything, as a server does that kept nothing on a disk.
  void lose_everything() { keys_.clear(); }

 private:
  friend class MemoryStore;
  struct Entry {
    election::LeaseRecord record;
    uint64_t version = 0;
  };
  std::map<std::string, Entry, std::less<>> keys_;
  uint64_t next_version_ = 1;
};

class MemoryStore final : public LeaseStore {
 public:
  MemoryStore(runtime::Runtime& runtime, std::shared_ptr<Memory> memory)
      : runtime_(runtime), memory_(std::move(memory)) {}
  // The memory with this name in this process and thread; made at first use.
  static std::shared_ptr<Memory> named(const std::string& name);

  const election::StoreTraits& traits() const override { return traits_; }
  std::string describe() const override { return "memory:"; }
  Result<std::unique_ptr<StoreKey>> open(std::string key) override;
  runtime::task<Result<std::vector<ListedKey>>> list(std::string prefix, std::size_t most, Instant deadline,
                                                     runtime::Cancellation* cancel) override;

 private:
  runtime::Runtime& runtime_;
  std::shared_ptr<Memory> memory_;
  election::StoreTraits traits_;
};

}  // namespace bellwether::store
