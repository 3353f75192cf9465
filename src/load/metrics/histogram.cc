#include "load/metrics/histogram.h"

#include <cmath>
#include <new>
#include <utility>

#include "load/metrics/window.h"

namespace bellwether::metrics {
namespace {

// A hundredth: more than the width of buckets, less than readers care for.
constexpr double kKnown = 1.01;

}  // namespace

Histogram::Histogram(Histogram&& other) noexcept : pool_(other.pool_) { *this = std::move(other); }

Histogram& Histogram::operator=(Histogram&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = other.pool_;
  blocks_ = std::exchange(other.blocks_, nullptr);
  few_ = std::exchange(other.few_, nullptr);
  few_count_ = std::exchange(other.few_count_, 0);
  few_room_ = std::exchange(other.few_room_, 0);
  count_ = std::exchange(other.count_, 0);
  sum_ns_ = std::exchange(other.sum_ns_, 0);
  min_ns_ = std::exchange(other.min_ns_, INT64_MAX);
  max_ns_ = std::exchange(other.max_ns_, 0);
  return *this;
}

// --- counting --------------------------------------------------------------------------------------------------------

void Histogram::record(Duration value, uint64_t times) {
  if (times == 0) return;
  const int64_t ns = tracked(value);
  add(index_of(static_cast<uint64_t>(ns)), times);
  count_ += times;
  sum_ns_ += static_cast<unsigned __int128>(ns) * times;
  min_ns_ = std::min(min_ns_, ns);
  max_ns_ = std::max(max_ns_, ns);
}

void Histogram::add(uint32_t index, uint64_t times) {
  if (blocks_ == nullptr) {
    if (few_count_ + times <= kMaxFew && few_count_ + times >= times) {
      for (; times > 0; --times) {
        if (few_count_ == few_room_) {
          const uint32_t room = few_room_ == 0 ? kFewFirst : few_room_ * 2;
          auto* larger = static_cast<uint16_t*>(take(room * sizeof(uint16_t)));
          if (few_ != nullptr) {
            std::copy_n(few_, few_count_, larger);
            give_back(few_, few_room_ * sizeof(uint16_t));
          }
          few_ = larger;
          few_room_ = room;
        }
        few_[few_count_++] = static_cast<uint16_t>(index);
      }
      return;
    }
    spread();
  }
  Block& block = block_at(index / kBlockCounters);
  const uint32_t at = index % kBlockCounters;
  uint8_t& low = lows(block)[at];
  const uint64_t low_now = low + (times & UINT8_MAX);
  low = static_cast<uint8_t>(low_now);
  const uint64_t carries = (times >> kLowBits) + (low_now >> kLowBits);
  if (carries != 0) carry(block, at, carries);
}

Histogram::Block& Histogram::block_at(uint32_t number) {
  Block& block = blocks_[number];
  if (block == 0) block = reinterpret_cast<Block>(take(bytes_of(kNoCarries))) | kNoCarries;
  return block;
}

void Histogram::carry(Block& block, uint32_t at, uint64_t times) {
  uint64_t now = times;
  if ((block & kWidth) != kNoCarries) {
    now += with_carries(block, [at](const auto* carries) { return uint64_t{carries[at]}; });
  }
  const Block needed = now <= UINT8_MAX    ? kOneByte
                       : now <= UINT16_MAX ? kTwoBytes
                       : now <= UINT32_MAX ? kFourBytes
                                           : kEightBytes;
  if ((block & kWidth) < needed) {
    const Block before = block;
    block = reinterpret_cast<Block>(take(bytes_of(needed))) | needed;
    std::copy_n(lows(before), kBlockCounters, lows(block));
    if ((before & kWidth) != kNoCarries) {
      with_carries(before, [block](const auto* from) {
        with_carries(block, [from](auto* to) {
          for (uint32_t i = 0; i < kBlockCounters; ++i)
            to[i] = static_cast<std::remove_pointer_t<decltype(to)>>(from[i]);
        });
      });
    }
    give_back(lows(before), bytes_of(before));
  }
  with_carries(block,
               [at, now](auto* carries) { carries[at] = static_cast<std::remove_pointer_t<decltype(carries)>>(now); });
}

void Histogram::spread() {
  blocks_ = static_cast<Block*>(take(kBlocks * sizeof(Block)));
  for (uint32_t i = 0; i < few_count_; ++i) add_one(few_[i]);
  if (few_ != nullptr) give_back(few_, few_room_ * sizeof(uint16_t));
  few_ = nullptr;
  few_count_ = few_room_ = 0;
}

// All counters at once, which a processor adds many at a time; few of them overflow.
void Histogram::add_block(Block& block, Block other) {
  std::array<uint8_t, kBlockCounters> overflows;
  uint8_t* const low = lows(block);
  const uint8_t* const more = lows(other);
  uint8_t any = 0;
  for (uint32_t i = 0; i < kBlockCounters; ++i) {
    low[i] = static_cast<uint8_t>(low[i] + more[i]);
    overflows[i] = low[i] < more[i] ? 1 : 0;
    any |= overflows[i];
  }
  if ((other & kWidth) != kNoCarries) {
    with_carries(other, [&](const auto* carries) {
      for (uint32_t i = 0; i < kBlockCounters; ++i) {
        if (const uint64_t times = uint64_t{carries[i]} + overflows[i]; times != 0) carry(block, i, times);
      }
    });
  } else if (any != 0) {
    for (uint32_t i = 0; i < kBlockCounters; ++i) {
      if (overflows[i] != 0) carry(block, i, 1);
    }
  }
}

void Histogram::merge(const Histogram& other) {
  check(this != &other, "a histogram is not merged with itself");
  if (other.blocks_ == nullptr) {
    for (uint32_t i = 0; i < other.few_count_; ++i) add_one(other.few_[i]);
  } else {
    if (blocks_ == nullptr) spread();
    for (uint32_t b = 0; b < kBlocks; ++b) {
      if (other.blocks_[b] != 0) add_block(block_at(b), other.blocks_[b]);
    }
  }
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

void Histogram::assign(const std::vector<Bucket>& buckets, unsigned __int128 sum_ns, int64_t min_ns, int64_t max_ns) {
  clear();
  for (const Bucket& bucket : buckets) {
    check(bucket.index < kBuckets, "a bucket that exists");
    add(bucket.index, bucket.count);
    count_ += bucket.count;
  }
  if (count_ == 0) return;
  sum_ns_ = sum_ns;
  min_ns_ = min_ns;
  max_ns_ = max_ns;
}

void Histogram::clear() {
  release();
  count_ = 0;
  sum_ns_ = 0;
  min_ns_ = INT64_MAX;
  max_ns_ = 0;
}

// --- asking ----------------------------------------------------------------------------------------------------------

Duration Histogram::mean() const {
  if (count_ == 0) return Duration::zero();
  return Duration::nanos(static_cast<int64_t>((sum_ns_ + count_ / 2) / count_));
}

Duration Histogram::percentile(double percent) const {
  if (count_ == 0) return Duration::zero();
  // 99.9 % of 1,000 values is the 999th, although 99.9 has no exact binary form and the product lies above 999.
  const double ratio = std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(count_);
  const double rank = std::max(1.0, std::ceil(ratio * (1 - 1e-12)));
  uint64_t seen = 0;
  Duration found = max();
  each_bucket([&](uint32_t index, uint64_t count) {
    seen += count;
    if (static_cast<double>(seen) < rank) return true;
    found = Duration::nanos(std::min(std::max(middle_of(index), min_ns_), max_ns_));
    return false;
  });
  return found;
}

uint64_t Histogram::count_at_or_below(Duration value) const {
  if (value.ns() < 0) return 0;
  if (value.ns() >= kMaxTracked) return count_;
  // Only the bucket that holds value + 1 can reach beyond `value`; all before it end at or below.
  const uint32_t end = index_of(static_cast<uint64_t>(value.ns()) + 1);
  uint64_t seen = 0;
  each_bucket([&](uint32_t index, uint64_t count) {
    if (index >= end) return false;
    seen += count;
    return true;
  });
  return seen;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> out;
  each_bucket([&](uint32_t index, uint64_t count) { out.push_back({index, count}); });
  return out;
}

bool Histogram::operator==(const Histogram& other) const {
  return count_ == other.count_ && sum_ns_ == other.sum_ns_ && min_ns_ == other.min_ns_ && max_ns_ == other.max_ns_ &&
         buckets() == other.buckets();
}

int64_t Histogram::lowest_of(uint32_t index) {
  if (index < kSubBuckets) return index;
  const uint32_t shift = (index >> kSubBucketBits) - 1;
  return static_cast<int64_t>(kSubBuckets | (index & (kSubBuckets - 1))) << shift;
}

int64_t Histogram::middle_of(uint32_t index) {
  const uint32_t magnitude = index >> kSubBucketBits;
  const int64_t width = magnitude == 0 ? 1 : int64_t{1} << (magnitude - 1);
  return lowest_of(index) + (width - 1) / 2;
}

// --- memory ----------------------------------------------------------------------------------------------------------

std::size_t Histogram::memory_bytes() const {
  std::size_t bytes = few_room_ * sizeof(uint16_t);
  if (blocks_ == nullptr) return bytes;
  bytes += kBlocks * sizeof(Block);
  for (uint32_t b = 0; b < kBlocks; ++b) bytes += blocks_[b] == 0 ? 0 : bytes_of(blocks_[b]);
  return bytes;
}

void* Histogram::take(std::size_t bytes) {
  if (pool_ != nullptr) return pool_->take(bytes);
  return std::memset(::operator new(bytes), 0, bytes);
}

void Histogram::give_back(void* piece, std::size_t bytes) {
  if (pool_ != nullptr) {
    pool_->give_back(piece, bytes);
  } else {
    ::operator delete(piece);
  }
}

void Histogram::release() {
  if (few_ != nullptr) give_back(few_, few_room_ * sizeof(uint16_t));
  few_ = nullptr;
  few_count_ = few_room_ = 0;
  if (blocks_ == nullptr) return;
  for (uint32_t b = 0; b < kBlocks; ++b) {
    if (blocks_[b] != 0) give_back(lows(blocks_[b]), bytes_of(blocks_[b]));
  }
  give_back(std::exchange(blocks_, nullptr), kBlocks * sizeof(Block));
}

bool ResponseFigure::known() const { return most && most->millis_f() <= value.millis_f() * kKnown; }

void ResponseTimes::merge(const ResponseTimes& other) {
  answered.merge(other.answered);
  unanswered.merge(other.unanswered);
  unfinished.merge(other.unfinished);
}

void ResponseTimes::clear() {
  answered.clear();
  unanswered.clear();
  unfinished.clear();
}

Histogram ResponseTimes::waits() const {
  const Duration longest = answered.max();
  Histogram out;
  out.merge(answered);
  out.merge(unfinished);
  unanswered.each_bucket([&](uint32_t index, uint64_t times) {
    const Duration waited =
        std::clamp(Duration::nanos(Histogram::middle_of(index)), unanswered.min(), unanswered.max());
    out.record(std::max(waited, longest), times);
  });
  return out;
}

ResponseFigure ResponseTimes::percentile_among(double percent, const Histogram* all) const {
  const Duration of_responses = answered.percentile(percent);
  if (all == nullptr) return {of_responses, of_responses};
  ResponseFigure out{std::max(all->percentile(percent), of_responses), {}};
  const double rank = percent / 100 * static_cast<double>(count());
  const auto responses = static_cast<double>(answered.count());
  if (responses > 0 && rank <= responses) out.most = std::max(answered.percentile(rank / responses * 100), out.value);
  return out;
}

ResponseFigure ResponseTimes::mean() const {
  if (all_answered()) return {answered.mean(), answered.mean()};
  return {std::max(waits().mean(), answered.mean()), {}};
}

ResponseFigure ResponseTimes::max() const {
  if (all_answered()) return {answered.max(), answered.max()};
  return {waits().max(), {}};
}

}  // namespace bellwether::metrics
