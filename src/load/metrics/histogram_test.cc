#include "load/metrics/histogram.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>

#include "core/base/prng.h"
#include "load/metrics/window.h"

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

TEST(Histogram, indices_fill_the_magnitudes_exactly_and_in_order) {
  EXPECT_EQ(Histogram::index_of(0), 0u);
  EXPECT_EQ(Histogram::index_of(Histogram::kMaxTracked), Histogram::kBuckets - 1);
  for (uint32_t index = 0; index < Histogram::kBuckets; ++index) {
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

RC_GTEST_PROP(Histogram, percentiles_are_within_a_tenth_of_a_percent_of_the_sorted_samples, ()) {
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

RC_GTEST_PROP(Histogram, merging_equals_recording_the_union, ()) {
  const auto a = *durations();
  const auto b = *durations();
  auto both = a;
  both.insert(both.end(), b.begin(), b.end());
  Histogram merged = of(a);
  merged.merge(of(b));
  RC_ASSERT(merged == of(both));
  RC_ASSERT(merged.buckets() == of(both).buckets());
}

RC_GTEST_PROP(Histogram, merging_is_commutative_and_associative, ()) {
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
}

RC_GTEST_PROP(Histogram, buckets_and_totals_rebuild_it_exactly, ()) {
  const Histogram h = of(*durations());
  Histogram again = of({7});
  again.assign(h.buckets(), h.sum_ns(), h.min().ns(), h.max().ns());
  RC_ASSERT(again == h);
}

TEST(Histogram, one_differing_value_makes_it_unequal) {
  EXPECT_FALSE(of({1, 2, 6}) == of({1, 3, 5}));  // count, sum differ in nothing; the pages do
  EXPECT_FALSE(of({1}) == of({1, 1}));
}

// What is recorded, and how often at once: as few as stay a list, and as many as every width of counters holds.
using Recorded = std::vector<std::pair<int64_t, uint64_t>>;

rc::Gen<Recorded> recorded() {
  const auto value = rc::gen::weightedOneOf<int64_t>(
      {{3, rc::gen::inRange<int64_t>(1'000, 1'200)}, {1, rc::gen::inRange<int64_t>(0, 100'000'000)}});
  const auto times = rc::gen::element<uint64_t>(1, 1, 1, 2, 200, 255, 256, 257, 300, UINT16_MAX - 1, UINT16_MAX,
                                                UINT16_MAX + 1, UINT32_MAX, uint64_t{1} << 40);
  return rc::gen::container<Recorded>(rc::gen::pair(value, times));
}

std::vector<Histogram::Bucket> counted(const Recorded& all) {
  std::map<uint32_t, uint64_t> counts;
  for (const auto& [ns, times] : all) counts[Histogram::index_of(static_cast<uint64_t>(ns))] += times;
  std::vector<Histogram::Bucket> out;
  for (const auto& [index, count] : counts) out.push_back({index, count});
  return out;
}

RC_GTEST_PROP(Histogram, counts_are_kept_whatever_their_size, ()) {
  const auto first = *recorded();
  const auto second = *recorded();
  PiecePool pool;
  Histogram a(&pool);
  Histogram b;
  for (const auto& [ns, times] : first) a.record(Duration::nanos(ns), times);
  for (const auto& [ns, times] : second) b.record(Duration::nanos(ns), times);
  RC_ASSERT(a.buckets() == counted(first));
  RC_ASSERT(b.buckets() == counted(second));
  b.merge(a);
  Recorded both = first;
  both.insert(both.end(), second.begin(), second.end());
  RC_ASSERT(b.buckets() == counted(both));
  a.clear();
  RC_ASSERT(a == Histogram());
  RC_ASSERT(a.memory_bytes() == 0u);
  for (const auto& [ns, times] : second) a.record(Duration::nanos(ns), times);
  RC_ASSERT(a.buckets() == counted(second));
}

TEST(Histogram, a_few_values_take_little_and_many_take_counters_as_narrow_as_can_be) {
  Histogram h;
  for (int64_t i = 0; i < 20; ++i) h.record(Duration::micros(100 + 37 * i));
  EXPECT_EQ(h.memory_bytes(), 128u);
  for (int64_t i = 20; i < Histogram::kMaxFew; ++i) h.record(Duration::micros(100 + 37 * i));
  EXPECT_EQ(h.memory_bytes(), 512u);
  h.clear();
  // A second of 60,000 in one power of two: 1,024 counters of one byte, and where they are.
  for (int64_t i = 0; i < 60'000; ++i) h.record(Duration::nanos((1 << 20) + i * 17));
  EXPECT_EQ(h.memory_bytes(), 1'024u + 272 * 8);
  h.record(Duration::nanos(1 << 20), UINT8_MAX);
  EXPECT_EQ(h.memory_bytes(), 1'024u + 272 * 8 + 128) << "only a block of 128 became wider";
}

// A step that does a hundred requests a second for a day, most around 2 ms and one of a thousand up to half a minute.
TEST(Histogram, a_day_of_a_step_stays_below_32_kib) {
  Prng prng(1);
  Histogram h;
  for (int i = 0; i < 8'640'000; ++i) {
    double ms = 0;
    if (i % 1'000 == 0) {
      ms = 30 * std::exp(prng.unit() * std::log(1'000));
    } else {
      double normal = -6;
      for (int k = 0; k < 12; ++k) normal += prng.unit();
      ms = 2 * std::exp(0.5 * normal);
    }
    h.record(Duration::from_seconds_f(ms / 1'000));
  }
  EXPECT_LT(h.memory_bytes(), 32u * 1'024);
}

TEST(Histogram, a_visitor_may_end_the_visit) {
  for (const uint64_t times : {1, 1'000}) {
    Histogram h;
    for (const int64_t ns : {5, 6, 7'000}) h.record(Duration::nanos(ns), times);
    std::vector<uint32_t> seen;
    h.each_bucket([&](uint32_t index, uint64_t) {
      seen.push_back(index);
      return index < 6;
    });
    EXPECT_EQ(seen, (std::vector<uint32_t>{5, 6}));
  }
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

}  // namespace
}  // namespace bellwether::metrics
