#include "metrics/histogram.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bellwether::metrics {
namespace {

Histogram of(const std::vector<int64_t>& values) {
  Histogram out;
  for (const int64_t ns : values) out.record(Duration::nanos(ns));
  return out;
}

// Durations of every magnitude, and the borders where mistakes live.
rc::Gen<std::vector<int64_t>> durations() {
  const auto any = rc::gen::map(rc::gen::pair(rc::gen::inRange<int>(0, 44), rc::gen::arbitrary<uint64_t>()),
                                [](const std::pair<int, uint64_t>& p) {
                                  return static_cast<int64_t>(p.second & ((uint64_t{1} << p.first) - 1));
                                });
  const auto border = rc::gen::element<int64_t>(-5, 0, 1, 1023, 1024, 1025, 2047, 2048, Histogram::kMaxTracked,
                                                Histogram::kMaxTracked + 1, INT64_MAX);
  return rc::gen::container<std::vector<int64_t>>(rc::gen::weightedOneOf<int64_t>({{8, any}, {1, border}}));
}

TEST(Histogram, indices_fill_the_pages_exactly_and_in_order) {
  EXPECT_EQ(Histogram::index_of(0), 0u);
  EXPECT_EQ(Histogram::index_of(Histogram::kMaxTracked), Histogram::kPages * Histogram::kPageCounters - 1);
  for (uint32_t index = 0; index < Histogram::kPages * Histogram::kPageCounters; ++index) {
    const int64_t low = Histogram::lowest_of(index);
    ASSERT_EQ(Histogram::index_of(static_cast<uint64_t>(low)), index);
    if (index > 0) {
      ASSERT_EQ(Histogram::index_of(static_cast<uint64_t>(low - 1)), index - 1);
    }
    ASSERT_EQ(Histogram::index_of(static_cast<uint64_t>(Histogram::middle_of(index))), index);
  }
}

TEST(Histogram, an_empty_one_answers_zero) {
  const Histogram empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(empty.percentile(99), Duration::zero());
  EXPECT_EQ(empty.mean(), Duration::zero());
  EXPECT_EQ(empty.min(), Duration::zero());
  EXPECT_EQ(empty.max(), Duration::zero());
  EXPECT_EQ(empty.count_at_or_below(Duration::hours(3)), 0u);
  EXPECT_TRUE(empty.buckets().empty());
  EXPECT_EQ(empty.memory_bytes(), 0u);
}

TEST(Histogram, percentiles_of_whole_ranks_are_that_value) {
  Histogram h;
  for (int64_t ns = 1; ns <= 1000; ++ns) h.record(Duration::nanos(ns));
  EXPECT_EQ(h.percentile(0).ns(), 1);
  EXPECT_EQ(h.percentile(50).ns(), 500);
  EXPECT_EQ(h.percentile(99.9).ns(), 999);
  EXPECT_EQ(h.percentile(99.91).ns(), 1000);
  EXPECT_EQ(h.percentile(100).ns(), 1000);
  EXPECT_EQ(h.mean().ns(), 501);  // 500.5, rounded
}

TEST(Histogram, values_out_of_range_count_as_the_nearest_tracked_one) {
  Histogram h;
  h.record(Duration::seconds(-1));
  h.record(Duration::hours(100));
  EXPECT_EQ(h.min().ns(), 0);
  EXPECT_EQ(h.max().ns(), Histogram::kMaxTracked);
  EXPECT_EQ(h.count(), 2u);
}

TEST(Histogram, percentiles_are_within_a_tenth_of_a_percent_of_the_sorted_samples) {
  EXPECT_TRUE(rc::check([] {
    auto values = *durations();
    RC_PRE(!values.empty());
    const double percent = *rc::gen::inRange(0, 1001) / 10.0;
    const Histogram h = of(values);
    for (int64_t& ns : values) ns = std::clamp<int64_t>(ns, 0, Histogram::kMaxTracked);
    std::sort(values.begin(), values.end());
    const auto rank = static_cast<std::size_t>(std::ceil(percent * static_cast<double>(values.size()) / 100 - 1e-9));
    const auto exact = static_cast<double>(values[std::max<std::size_t>(rank, 1) - 1]);
    RC_ASSERT(std::abs(static_cast<double>(h.percentile(percent).ns()) - exact) <= exact * 0.001);
    RC_ASSERT(h.percentile(percent) >= h.min());
    RC_ASSERT(h.percentile(percent) <= h.max());
  }));
}

TEST(Histogram, counts_at_or_below_take_whole_buckets_only) {
  const Histogram h = of({10, 2048, 5'000'000, Histogram::kMaxTracked});  // the second bucket holds 2048 and 2049
  EXPECT_EQ(h.count_at_or_below(Duration::nanos(-1)), 0u);
  EXPECT_EQ(h.count_at_or_below(Duration::nanos(9)), 0u);
  EXPECT_EQ(h.count_at_or_below(Duration::nanos(10)), 1u);
  EXPECT_EQ(h.count_at_or_below(Duration::nanos(2048)), 1u);
  EXPECT_EQ(h.count_at_or_below(Duration::nanos(2049)), 2u);
  EXPECT_EQ(h.count_at_or_below(Duration::nanos(Histogram::kMaxTracked - 1)), 3u);
  EXPECT_EQ(h.count_at_or_below(Duration::hours(100)), 4u);
}

TEST(Histogram, merging_equals_recording_the_union) {
  EXPECT_TRUE(rc::check([] {
    const auto a = *durations();
    const auto b = *durations();
    auto both = a;
    both.insert(both.end(), b.begin(), b.end());
    Histogram merged = of(a);
    merged.merge(of(b));
    RC_ASSERT(merged == of(both));
    RC_ASSERT(merged.buckets() == of(both).buckets());
  }));
}

TEST(Histogram, merging_is_commutative_and_associative) {
  EXPECT_TRUE(rc::check([] {
    const auto a = *durations();
    const auto b = *durations();
    const auto c = *durations();
    Histogram ab = of(a);
    ab.merge(of(b));
    Histogram ba = of(b);
    ba.merge(of(a));
    RC_ASSERT(ab == ba);
    Histogram bc = of(b);
    bc.merge(of(c));
    Histogram a_bc = of(a);
    a_bc.merge(bc);
    ab.merge(of(c));
    RC_ASSERT(ab == a_bc);
  }));
}

TEST(Histogram, buckets_and_totals_rebuild_it_exactly) {
  EXPECT_TRUE(rc::check([] {
    const Histogram h = of(*durations());
    RC_ASSERT(Histogram::from_buckets(h.buckets(), h.sum_ns(), h.min().ns(), h.max().ns()) == h);
  }));
}

TEST(Histogram, one_differing_value_makes_it_unequal) {
  EXPECT_FALSE(of({1, 2, 6}) == of({1, 3, 5}));  // count, sum differ in nothing; the pages do
  EXPECT_FALSE(of({1}) == of({1, 1}));
}

TEST(Histogram, clearing_forgets_the_counts_and_keeps_the_pages) {
  Histogram h = of({5, 5'000, 5'000'000});
  const std::size_t held = h.memory_bytes();
  h.clear();
  EXPECT_EQ(h.memory_bytes(), held);
  EXPECT_EQ(held, 3 * sizeof(Histogram::Page));
  EXPECT_TRUE(h == Histogram());
}

TEST(Histogram, moving_leaves_an_empty_one_that_still_works) {
  Histogram from = of({7, 9});
  Histogram to = std::move(from);
  EXPECT_TRUE(to == of({7, 9}));
  from.record(Duration::nanos(3));
  EXPECT_TRUE(from == of({3}));
  to = std::move(from);
  EXPECT_TRUE(to == of({3}));
}

// As many histograms as use up what is left of the pool's slab, with `pages_left` pages to spare.
std::vector<Histogram> use_up(PagePool& pool, std::size_t pages_left) {
  std::vector<Histogram> used;
  for (std::size_t i = pages_left; i < PagePool::kSlabPages; ++i) {
    used.emplace_back(&pool).record(Duration::nanos(1));
  }
  return used;
}

TEST(PagePool, hands_out_pages_of_its_slab_and_takes_them_back_zeroed) {
  PagePool pool;
  const std::vector<Histogram> used = use_up(pool, 3);
  {
    Histogram h(&pool);
    for (const int64_t ns : {5, 5'000, 5'000'000}) h.record(Duration::nanos(ns));
    EXPECT_EQ(pool.slabs(), 1u);
  }
  Histogram again(&pool);
  for (const int64_t ns : {6, 6'000, 6'000'000}) again.record(Duration::nanos(ns));
  EXPECT_EQ(pool.slabs(), 1u) << "the pages came back";
  EXPECT_TRUE(again == of({6, 6'000, 6'000'000}));
  again.record(Duration::seconds(5));
  EXPECT_EQ(pool.slabs(), 2u) << "the first one is used up";
}

TEST(PagePool, topping_up_allocates_so_that_recording_need_not) {
  PagePool pool;
  pool.top_up();
  EXPECT_EQ(pool.slabs(), 1u) << "there is enough";
  const std::vector<Histogram> used = use_up(pool, 1);
  Histogram h(&pool);
  pool.top_up();
  EXPECT_EQ(pool.slabs(), 2u);
  for (const int64_t ns : {5, 5'000, 5'000'000}) h.record(Duration::nanos(ns));
  EXPECT_EQ(pool.slabs(), 2u);
}

}  // namespace
}  // namespace bellwether::metrics
