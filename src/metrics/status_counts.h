// How many responses had which status. Few statuses are seen, and mostly the first of them again, so it is a short list
// and not a place for each.
#pragma once

#include <cstdint>
#include <vector>

namespace bellwether::metrics {

inline constexpr uint16_t kStatusMax = 600;  // statuses 0..599; anything else is a protocol error

class StatusCounts {
 public:
  struct Entry {
    uint16_t status;
    uint64_t count;
    bool operator==(const Entry&) const = default;
  };

  // With room for those that a step usually sees, so that counting them needs no allocation.
  StatusCounts() { entries_.reserve(kUsual); }

  // Allocates for the fifth status and so on. REQUIRES status < kStatusMax.
  void add(uint16_t status, uint64_t times) {
    for (Entry& one : entries_) {
      if (one.status == status) {
        one.count += times;
        return;
      }
    }
    insert(status, times);
  }
  void merge(const StatusCounts& other) {
    for (const Entry& one : other.entries_) add(one.status, one.count);
  }
  // Keeps its memory.
  void clear() { entries_.clear(); }

  uint64_t of(uint16_t status) const;
  // In rising order of the status, none with a count of 0.
  const std::vector<Entry>& entries() const { return entries_; }
  bool operator==(const StatusCounts&) const = default;

 private:
  static constexpr std::size_t kUsual = 4;
  void insert(uint16_t status, uint64_t times);
  std::vector<Entry> entries_;
};

}  // namespace bellwether::metrics
