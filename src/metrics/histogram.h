// A log-linear histogram of durations: 1,024 linear buckets in each power of two, so that every value is known to
// better than 0.1 % (three significant digits) from 1 ns to over an hour. Merging adds counters and so loses nothing:
// the histogram of a union is the union of the histograms, bit for bit, in any order and grouping.
//
// The layout follows the idea of HDR histograms (G. Tene). Counters live in pages of one power of two each, made at
// first touch, so that a histogram costs memory only for the magnitudes it has seen. Not thread-safe: one writer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace bellwether::metrics {

class PagePool;

class Histogram {
 public:
  static constexpr int kSubBucketBits = 10;
  static constexpr uint32_t kPageCounters = 1u << kSubBucketBits;
  // Values from 0 to kMaxTracked (2^43 ns, 2 h 26 min) are tracked; longer ones count as kMaxTracked.
  static constexpr int64_t kMaxTracked = (int64_t{1} << 43) - 1;
  static constexpr uint32_t kPages = 34;

  // Pages come from `pool` when one is given (it must outlive the histogram), else from the heap.
  explicit Histogram(PagePool* pool = nullptr) : pool_(pool) {}
  ~Histogram();
  Histogram(Histogram&& other) noexcept;
  Histogram& operator=(Histogram&& other) noexcept;
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  // Negative values (a clock that stepped) count as 0.
  void record(Duration value) { record(value, 1); }
  void record(Duration value, uint64_t times) {
    int64_t ns = value.ns();
    if (ns < 0) [[unlikely]]
      ns = 0;
    if (ns > kMaxTracked) [[unlikely]]
      ns = kMaxTracked;
    const uint32_t index = index_of(static_cast<uint64_t>(ns));
    Page*& page = pages_[index >> kSubBucketBits];
    if (page == nullptr) [[unlikely]]
      page = make_page();
    (*page)[index & (kPageCounters - 1)] += times;
    count_ += times;
    sum_ns_ += static_cast<unsigned __int128>(ns) * times;
    if (ns < min_ns_) min_ns_ = ns;
    if (ns > max_ns_) max_ns_ = ns;
  }

  void merge(const Histogram& other);
  // Forgets all counts and keeps the pages.
  void clear();

  uint64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  Duration min() const { return Duration::nanos(count_ == 0 ? 0 : min_ns_); }
  Duration max() const { return Duration::nanos(max_ns_); }
  Duration mean() const;
  // The smallest recorded magnitude that at least `percent` % of the values do not exceed, as the middle of its
  // bucket, never outside [min, max]. percent in [0, 100]; 0 of an empty histogram.
  Duration percentile(double percent) const;
  // Number of values whose bucket lies wholly at or below `value`.
  uint64_t count_at_or_below(Duration value) const;

  // The non-empty buckets in rising order. With `sum`, `min` and `max` this is the whole content
  // (docs/formats/result.md).
  struct Bucket {
    uint32_t index;
    uint64_t count;
    int64_t low_ns() const { return lowest_of(index); }
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> buckets() const;
  // The same without a list of them: visit(index, count).
  template <class Visit>
  void each_bucket(Visit visit) const {
    for (uint32_t p = 0; p < kPages; ++p) {
      if (pages_[p] == nullptr) continue;
      const uint64_t* const counts = pages_[p]->data();
      for (uint32_t i = 0; i < kPageCounters; i += 4) {
        // Most of a page is empty.
        if ((counts[i] | counts[i + 1] | counts[i + 2] | counts[i + 3]) == 0) continue;
        for (uint32_t k = i; k < i + 4; ++k) {
          if (counts[k] != 0) visit((p << kSubBucketBits) | k, counts[k]);
        }
      }
    }
  }
  unsigned __int128 sum_ns() const { return sum_ns_; }
  // Rebuilds a histogram from what buckets(), sum, min and max said. REQUIRES indices below kPages * kPageCounters.
  static Histogram from_buckets(const std::vector<Bucket>& buckets, unsigned __int128 sum_ns, int64_t min_ns,
                                int64_t max_ns, PagePool* pool = nullptr);

  bool operator==(const Histogram& other) const;
  // Bytes of counters held.
  std::size_t memory_bytes() const;

  using Page = std::array<uint64_t, kPageCounters>;

  // Values below 2^10 are their own index; above, the ten bits after the leading one pick the counter in the page of
  // the power of two.
  static uint32_t index_of(uint64_t ns) {
    if (ns < kPageCounters) return static_cast<uint32_t>(ns);
    const int shift = 63 - __builtin_clzll(ns) - kSubBucketBits;
    return (static_cast<uint32_t>(shift + 1) << kSubBucketBits) |
           (static_cast<uint32_t>(ns >> shift) & (kPageCounters - 1));
  }
  // The least value of a bucket.
  static int64_t lowest_of(uint32_t index);
  static int64_t middle_of(uint32_t index);

 private:
  Page* make_page();
  void release_pages();

  std::array<Page*, kPages> pages_{};
  PagePool* pool_;
  uint64_t count_ = 0;
  unsigned __int128 sum_ns_ = 0;
  int64_t min_ns_ = INT64_MAX;
  int64_t max_ns_ = 0;
};

// Pages for the histograms of one thread, made in slabs that cost no memory until they are used, so that a new
// magnitude during a measurement costs no allocation. top_up() is called where time is cheap (once a second, between
// windows). Not thread-safe.
class PagePool {
 public:
  static constexpr std::size_t kSlabPages = 1024;

  PagePool() { add_slab(); }
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  Histogram::Page* take();                // zeroed; allocates only when all slabs are used up
  void give_back(Histogram::Page* page);  // zeroes it
  // How often memory was asked for.
  std::size_t slabs() const { return slabs_.size(); }
  // Makes sure that the next kLowWater pages come without an allocation.
  void top_up() {
    if (left_ + returned_.size() < kLowWater) add_slab();
  }

 private:
  static constexpr std::size_t kLowWater = 128;
  void add_slab();

  std::vector<Histogram::Page*> slabs_;
  std::vector<Histogram::Page*> returned_;
  Histogram::Page* next_ = nullptr;  // of the newest slab
  std::size_t left_ = 0;             // pages from there on
};

}  // namespace bellwether::metrics
