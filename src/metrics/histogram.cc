#include "metrics/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace bellwether::metrics {

Histogram::~Histogram() { release_pages(); }

Histogram::Histogram(Histogram&& other) noexcept : pool_(other.pool_) { *this = std::move(other); }

Histogram& Histogram::operator=(Histogram&& other) noexcept {
  if (this == &other) return *this;
  release_pages();
  pool_ = other.pool_;
  pages_ = std::exchange(other.pages_, {});
  count_ = std::exchange(other.count_, 0);
  sum_ns_ = std::exchange(other.sum_ns_, 0);
  min_ns_ = std::exchange(other.min_ns_, INT64_MAX);
  max_ns_ = std::exchange(other.max_ns_, 0);
  return *this;
}

void Histogram::merge(const Histogram& other) {
  for (uint32_t p = 0; p < kPages; ++p) {
    if (other.pages_[p] == nullptr) continue;
    if (pages_[p] == nullptr) pages_[p] = make_page();
    for (uint32_t i = 0; i < kPageCounters; ++i) (*pages_[p])[i] += (*other.pages_[p])[i];
  }
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

void Histogram::clear() {
  for (Page* page : pages_) {
    if (page != nullptr) page->fill(0);
  }
  count_ = 0;
  sum_ns_ = 0;
  min_ns_ = INT64_MAX;
  max_ns_ = 0;
}

Duration Histogram::mean() const {
  if (count_ == 0) return Duration::zero();
  return Duration::nanos(static_cast<int64_t>((sum_ns_ + count_ / 2) / count_));
}

Duration Histogram::percentile(double percent) const {
  if (count_ == 0) return Duration::zero();
  // 99.9 % of 1,000 values is the 999th, although 99.9 has no exact binary form and the product lies above 999.
  const double share = std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(count_);
  const double rank = std::max(1.0, std::ceil(share * (1 - 1e-12)));
  uint64_t seen = 0;
  for (uint32_t p = 0; p < kPages; ++p) {
    if (pages_[p] == nullptr) continue;
    for (uint32_t i = 0; i < kPageCounters; ++i) {
      seen += (*pages_[p])[i];
      if (static_cast<double>(seen) < rank) continue;
      const int64_t middle = middle_of((p << kSubBucketBits) | i);
      return Duration::nanos(std::min(std::max(middle, min_ns_), max_ns_));
    }
  }
  return max();
}

uint64_t Histogram::count_at_or_below(Duration value) const {
  if (value.ns() < 0) return 0;
  if (value.ns() >= kMaxTracked) return count_;
  // Only the bucket that holds value + 1 can reach beyond `value`; all before it end at or below.
  const uint32_t end = index_of(static_cast<uint64_t>(value.ns()) + 1);
  uint64_t seen = 0;
  for (uint32_t p = 0; p <= (end >> kSubBucketBits); ++p) {
    if (pages_[p] == nullptr) continue;
    const uint32_t limit = std::min(kPageCounters, end - (p << kSubBucketBits));
    for (uint32_t i = 0; i < limit; ++i) seen += (*pages_[p])[i];
  }
  return seen;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> out;
  each_bucket([&](uint32_t index, uint64_t count) { out.push_back({index, count}); });
  return out;
}

Histogram Histogram::from_buckets(const std::vector<Bucket>& buckets, unsigned __int128 sum_ns, int64_t min_ns,
                                  int64_t max_ns, PagePool* pool) {
  Histogram out(pool);
  for (const Bucket& bucket : buckets) {
    check(bucket.index < kPages * kPageCounters, "a bucket that exists");
    Page*& page = out.pages_[bucket.index >> kSubBucketBits];
    if (page == nullptr) page = out.make_page();
    (*page)[bucket.index & (kPageCounters - 1)] += bucket.count;
    out.count_ += bucket.count;
  }
  if (out.count_ == 0) return Histogram();
  out.sum_ns_ = sum_ns;
  out.min_ns_ = min_ns;
  out.max_ns_ = max_ns;
  return out;
}

bool Histogram::operator==(const Histogram& other) const {
  static constexpr Page kEmptyPage{};
  if (count_ != other.count_ || sum_ns_ != other.sum_ns_ || min_ns_ != other.min_ns_ || max_ns_ != other.max_ns_) {
    return false;
  }
  for (uint32_t p = 0; p < kPages; ++p) {
    const Page& mine = pages_[p] != nullptr ? *pages_[p] : kEmptyPage;
    const Page& theirs = other.pages_[p] != nullptr ? *other.pages_[p] : kEmptyPage;
    if (mine != theirs) return false;
  }
  return true;
}

std::size_t Histogram::memory_bytes() const {
  const auto empty = std::count(pages_.begin(), pages_.end(), nullptr);
  return (kPages - static_cast<std::size_t>(empty)) * sizeof(Page);
}

int64_t Histogram::lowest_of(uint32_t index) {
  if (index < kPageCounters) return index;
  const uint32_t shift = (index >> kSubBucketBits) - 1;
  return static_cast<int64_t>(kPageCounters | (index & (kPageCounters - 1))) << shift;
}

int64_t Histogram::middle_of(uint32_t index) {
  const uint32_t page = index >> kSubBucketBits;
  const int64_t width = page == 0 ? 1 : int64_t{1} << (page - 1);
  return lowest_of(index) + (width - 1) / 2;
}

Histogram::Page* Histogram::make_page() { return pool_ != nullptr ? pool_->take() : new Page{}; }

void Histogram::release_pages() {
  for (Page*& page : pages_) {
    if (page == nullptr) continue;
    if (pool_ != nullptr) {
      pool_->give_back(page);
    } else {
      delete page;
    }
    page = nullptr;
  }
}

PagePool::~PagePool() {
  for (Histogram::Page* slab : slabs_) std::free(slab);
}

// Zeroed memory of this size comes fresh from the kernel, which gives a page of it when it is first touched.
void PagePool::add_slab() {
  returned_.reserve((slabs_.size() + 1) * kSlabPages);
  for (; left_ > 0; --left_) returned_.push_back(next_++);
  next_ = static_cast<Histogram::Page*>(std::calloc(kSlabPages, sizeof(Histogram::Page)));
  check(next_ != nullptr, "memory for histograms");
  left_ = kSlabPages;
  slabs_.push_back(next_);
}

Histogram::Page* PagePool::take() {
  if (!returned_.empty()) {
    Histogram::Page* page = returned_.back();
    returned_.pop_back();
    return page;
  }
  if (left_ == 0) add_slab();
  --left_;
  return next_++;
}

void PagePool::give_back(Histogram::Page* page) {
  page->fill(0);
  returned_.push_back(page);
}

}  // namespace bellwether::metrics
