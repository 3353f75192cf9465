// The disks of all nodes, for tests: a register and payloads, each where its writer reached it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "election/context/request_queue.h"

namespace bellwether::context_lead {

class Disks {
 public:
  using Peers = std::vector<uint64_t>;

  explicit Disks(std::size_t nodes) : disks_(nodes + 1), writers_(nodes + 1) {}

  // Only `id` may write from now on, as far as `peers` know. Returns the newest value on `readers`.
  std::string take(uint64_t id, const Peers& peers, const Peers& readers) {
    uint64_t highest = 0;
    for (const uint64_t one : peers) highest = std::max(highest, disks_[one].promised);
    const Disk* newest = &disks_[id];
    for (const uint64_t one : readers) {
      if (disks_[one].accepted > newest->accepted) newest = &disks_[one];
    }
    writers_[id] = (highest / 16 + 1) * 16 + id;
    for (const uint64_t one : peers) disks_[one].promised = writers_[id];
    return newest->value;
  }
  bool may_write(uint64_t id, const Peers& peers) const {
    return writers_[id] != 0 &&
           std::all_of(peers.begin(), peers.end(), [&](uint64_t one) { return disks_[one].promised <= writers_[id]; });
  }
  void write(uint64_t id, const Peers& peers, const std::string& value) {
    ++writes_;
    for (const uint64_t one : peers) {
      Disk& disk = disks_[one];
      // Of a writer that is late: as if it were not.
      disk.promised = std::max(disk.promised, writers_[id]);
      disk.accepted = {disk.promised, writes_};
      disk.value = value;
    }
  }
  // It does not write any more.
  void give_up(uint64_t id) { writers_[id] = 0; }

  void keep(RequestId request, const std::string& payload, const Peers& peers) {
    for (const uint64_t one : peers) disks_[one].payloads[request] = payload;
  }
  void drop(RequestId request, const Peers& peers) {
    for (const uint64_t one : peers) disks_[one].payloads.erase(request);
  }
  // nullptr: none of them has it.
  const std::string* find(RequestId request, const Peers& peers) const {
    for (const uint64_t one : peers) {
      if (const auto at = disks_[one].payloads.find(request); at != disks_[one].payloads.end()) return &at->second;
    }
    return nullptr;
  }

 private:
  struct Disk {
    uint64_t promised = 0;
    std::pair<uint64_t, uint64_t> accepted;  // the fence, the number of the write
    std::string value;
    std::map<RequestId, std::string> payloads;
  };
  std::vector<Disk> disks_;        // from 1
  std::vector<uint64_t> writers_;  // the fence of each; 0: it may not write
  uint64_t writes_ = 0;
};

}  // namespace bellwether::context_lead
