// A log-linear histogram of durations: 1,024 linear buckets in each power of two, so that every value is known to
// better than 0.1 % (three significant digits) from 1 ns to over an hour. Merging adds counters and so loses nothing:
// the histogram of a union is the union of the histograms, bit for bit, in any order and grouping.
//
// The layout of buckets follows the idea of HDR histograms (G. Tene). Memory grows with the values. The first ones are
// a list of their buckets. From kMaxFew on counters of a byte take over, in blocks made at first touch. The number of
// overflows of a counter stands behind them, as narrow as the greatest count of the block allows. So a quiet second
// takes little memory, and the magnitudes that occur bound that of a day. Not thread-safe: one writer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/base/check.h"
#include "core/base/time.h"

namespace bellwether::metrics {

class PiecePool;

class Histogram {
 public:
  static constexpr int kSubBucketBits = 10;
  static constexpr uint32_t kSubBuckets = 1u << kSubBucketBits;
  // Values from 0 to kMaxTracked (2^43 ns, 2 h 26 min) are tracked; longer ones count as kMaxTracked.
  static constexpr int64_t kMaxTracked = (int64_t{1} << 43) - 1;
  static constexpr uint32_t kMagnitudes = 34;
  static constexpr uint32_t kBuckets = kMagnitudes * kSubBuckets;

  // Memory comes from `pool` when one is given (it must outlive the histogram), else from the heap.
  explicit Histogram(PiecePool* pool = nullptr) : pool_(pool) {}
  ~Histogram() { release(); }
  // A moved histogram keeps its pool.
  Histogram(Histogram&& other) noexcept;
  Histogram& operator=(Histogram&& other) noexcept;
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  // Negative values (a clock that stepped) count as 0.
  [[gnu::always_inline]] void record(Duration value) {
    const int64_t ns = tracked(value);
    add_one(index_of(static_cast<uint64_t>(ns)));
    ++count_;
    sum_ns_ += static_cast<uint64_t>(ns);
    if (ns < min_ns_) min_ns_ = ns;
    if (ns > max_ns_) max_ns_ = ns;
  }
  void record(Duration value, uint64_t times);

  // REQUIRES another one: it reads counts while it adds to them.
  void merge(const Histogram& other);
  // Forgets all counts and gives the memory back.
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
  // (docs/reference/result.md).
  struct Bucket {
    uint32_t index;
    uint64_t count;
    int64_t low_ns() const { return lowest_of(index); }
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> buckets() const;
  // The same without a list of them: visit(index, count). A visitor may return bool: false ends it.
  template <class Visit>
  void each_bucket(Visit visit) const;
  unsigned __int128 sum_ns() const { return sum_ns_; }
  // Takes the content that buckets(), sum, min and max gave. REQUIRES indices below kBuckets.
  void assign(const std::vector<Bucket>& buckets, unsigned __int128 sum_ns, int64_t min_ns, int64_t max_ns);

  bool operator==(const Histogram& other) const;
  // Bytes held beside the object itself.
  std::size_t memory_bytes() const;

  // Below 2^11 the index is the value. Above, each power of two has 1,024 buckets, picked by the ten bits after the
  // leading one.
  static uint32_t index_of(uint64_t ns) {
    const int shift = 63 - __builtin_clzll(ns | kSubBuckets) - kSubBucketBits;
    // ns >> shift is in [1024, 2047] from 1024 on, so its leading bit adds 1 to the magnitude.
    return (static_cast<uint32_t>(shift) << kSubBucketBits) + static_cast<uint32_t>(ns >> shift);
  }
  // The least value of a bucket.
  static int64_t lowest_of(uint32_t index);
  static int64_t middle_of(uint32_t index);

  // The most values in a list.
  static constexpr uint32_t kMaxFew = 256;

 private:
  static constexpr uint32_t kFewFirst = 64;
  static constexpr uint32_t kBlockCounters = 128;
  static constexpr uint32_t kBlocks = kBuckets / kBlockCounters;
  static constexpr int kLowBits = 8;

  // The address of a block: a byte for each counter, and behind them the overflows of each, after the first one. The
  // lowest bits give the width of the overflows. 0: an empty block.
  using Block = uintptr_t;
  static constexpr Block kNoCarries = 0;
  static constexpr Block kOneByte = 1;
  static constexpr Block kTwoBytes = 2;
  static constexpr Block kFourBytes = 3;
  static constexpr Block kEightBytes = 4;
  static constexpr Block kWidth = 7;
  static uint8_t* lows(Block block) { return reinterpret_cast<uint8_t*>(block & ~kWidth); }
  static std::size_t bytes_of(Block block) {
    return kBlockCounters + ((block & kWidth) == kNoCarries ? 0 : (kBlockCounters / 2) << (block & kWidth));
  }
  // The result of `with(carries)`, with their type. REQUIRES a block that has some.
  template <class With>
  static decltype(auto) with_carries(Block block, With with) {
    uint8_t* carries = lows(block) + kBlockCounters;
    switch (block & kWidth) {
      case kOneByte: return with(carries);
      case kTwoBytes: return with(reinterpret_cast<uint16_t*>(carries));
      case kFourBytes: return with(reinterpret_cast<uint32_t*>(carries));
      default: return with(reinterpret_cast<uint64_t*>(carries));
    }
  }

  static int64_t tracked(Duration value) {
    const auto ns = static_cast<uint64_t>(value.ns());
    if (ns <= static_cast<uint64_t>(kMaxTracked)) [[likely]]
      return static_cast<int64_t>(ns);
    return value.ns() < 0 ? 0 : kMaxTracked;
  }
  void add_one(uint32_t index) {
    if (blocks_ != nullptr) [[likely]] {
      Block& block = blocks_[index / kBlockCounters];
      if (block != 0) [[likely]] {
        uint8_t& low = lows(block)[index % kBlockCounters];
        if (++low == 0) [[unlikely]]
          carry(block, index % kBlockCounters, 1);
        return;
      }
    }
    add(index, 1);
  }
  void add(uint32_t index, uint64_t times);
  Block& block_at(uint32_t number);
  void add_block(Block& block, Block other);
  // From a list to blocks.
  void spread();
  // The byte overflowed `times` times.
  void carry(Block& block, uint32_t at, uint64_t times);
  template <class Visit>
  static bool each_counter(Block block, uint32_t first, Visit& visit);

  void* take(std::size_t bytes);
  void give_back(void* piece, std::size_t bytes);
  void release();

  PiecePool* pool_;
  Block* blocks_ = nullptr;  // kBlocks of them, once there are many values
  uint16_t* few_ = nullptr;  // before that: their buckets, in the order of their arrival
  uint32_t few_count_ = 0;
  uint32_t few_room_ = 0;
  uint64_t count_ = 0;
  unsigned __int128 sum_ns_ = 0;
  int64_t min_ns_ = INT64_MAX;
  int64_t max_ns_ = 0;
};

template <class Visit>
bool Histogram::each_counter(Block block, uint32_t first, Visit& visit) {
  const uint8_t* low = lows(block);
  if ((block & kWidth) != kNoCarries) {
    return with_carries(block, [&](const auto* carries) {
      for (uint32_t i = 0; i < kBlockCounters; ++i) {
        const uint64_t count = (uint64_t{carries[i]} << kLowBits) + low[i];
        if (count != 0 && !visit(first + i, count)) return false;
      }
      return true;
    });
  }
  constexpr uint32_t kAtOnce = sizeof(uint64_t);
  for (uint32_t i = 0; i < kBlockCounters; i += kAtOnce) {
    uint64_t several = 0;
    std::memcpy(&several, low + i, sizeof several);
    if (several == 0) continue;  // most of a block is empty
    for (uint32_t k = i; k < i + kAtOnce; ++k) {
      if (low[k] != 0 && !visit(first + k, uint64_t{low[k]})) return false;
    }
  }
  return true;
}

template <class Visit>
void Histogram::each_bucket(Visit visit) const {
  auto go_on = [&visit](uint32_t index, uint64_t count) {
    if constexpr (std::is_same_v<decltype(visit(index, count)), bool>) {
      return visit(index, count);
    } else {
      visit(index, count);
      return true;
    }
  };
  if (blocks_ == nullptr) {
    std::array<uint16_t, kMaxFew> sorted;
    std::copy_n(few_, few_count_, sorted.begin());
    std::sort(sorted.begin(), sorted.begin() + few_count_);
    for (uint32_t i = 0, next = 0; i < few_count_; i = next) {
      for (next = i + 1; next < few_count_ && sorted[next] == sorted[i]; ++next) {
      }
      if (!go_on(sorted[i], next - i)) return;
    }
    return;
  }
  for (uint32_t b = 0; b < kBlocks; ++b) {
    const uint32_t first = b * kBlockCounters;
    const Block block = blocks_[b];
    if (block == 0) continue;
    if (!each_counter(block, first, go_on)) return;
  }
}

// The times that users waited for responses, also where no response came. Each figure is a lower bound and, if known,
// an upper one:
//   - A request without a response (a timeout, a reset) counts as slower than every response.
//   - The wait of a request that was dropped before it was sent, or cut off by the end of the run, is a lower bound of
//     its response time. Upper bounds take it as slower than every response.
//   - No figure is below that of the responses alone.
// So failing, dropping or ending early never improves a figure.
struct ResponseFigure {
  Duration value;                // a lower bound
  std::optional<Duration> most;  // none: unknown, because requests without a response decide it
  // `most` exceeds `value` by at most 1 %.
  bool known() const;
  bool operator==(const ResponseFigure&) const = default;
};

struct ResponseTimes {
  explicit ResponseTimes(PiecePool* pool = nullptr) : answered(pool), unanswered(pool), unfinished(pool) {}

  Histogram answered;    // due → end of the response
  Histogram unanswered;  // due → failure
  Histogram unfinished;  // due → drop or end of the run

  void merge(const ResponseTimes& other);
  void clear();
  bool empty() const { return answered.empty() && all_answered(); }
  uint64_t count() const { return answered.count() + unanswered.count() + unfinished.count(); }

  // The lower bounds of all; those of requests without a response are at least the longest response.
  Histogram waits() const;
  // Zero if there was no request. `percent`: 0 to 100. `most` of the mean is known only if all were answered.
  ResponseFigure percentile(double percent) const { return percentiles(std::array{percent})[0]; }
  // Merges the waits once for all of them.
  template <std::size_t N>
  std::array<ResponseFigure, N> percentiles(const std::array<double, N>& percents) const {
    const std::optional<Histogram> all = all_answered() ? std::nullopt : std::optional(waits());
    std::array<ResponseFigure, N> out;
    for (std::size_t i = 0; i < N; ++i) out[i] = percentile_among(percents[i], all ? &*all : nullptr);
    return out;
  }
  ResponseFigure mean() const;
  ResponseFigure max() const;
  // The shortest response. If no request got one: the shortest wait.
  Duration min() const { return answered.empty() ? waits().min() : answered.min(); }

  bool operator==(const ResponseTimes&) const = default;

 private:
  bool all_answered() const { return unanswered.empty() && unfinished.empty(); }
  // `all`: waits(); null when all were answered.
  ResponseFigure percentile_among(double percent, const Histogram* all) const;
};

}  // namespace bellwether::metrics
