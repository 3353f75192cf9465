#include "load/codec/window_codec.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "load/codec/window_testing.h"
#include "proto/stats.pb.h"

namespace bellwether::ingest {
namespace {

using testing::HasSubstr;

std::string refusal(const wire::WindowDelta& delta) {
  const std::string bytes = delta.SerializeAsString();
  const auto decoded = decode_window(bytes, kShape);
  const Status checked = check_window(bytes, kShape);
  EXPECT_EQ(checked ? "" : checked.error().message, decoded ? "" : decoded.error().message);
  return decoded ? "accepted" : decoded.error().message;
}

RC_GTEST_PROP(WindowCodec, loses_nothing, (uint64_t seed)) {
  Prng prng(seed);
  const metrics::Window window = random_window(prng, 7);
  const auto back = decode_window(encode_window(window), kShape);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->second == 7u);
  RC_ASSERT(back->cpu == window.cpu);
  RC_ASSERT(back->covered == window.covered);
  for (std::size_t i = 0; i < kShape.steps; ++i) {
    RC_ASSERT(back->steps[i].service == window.steps[i].service);
    RC_ASSERT(back->steps[i].response == window.steps[i].response);
    RC_ASSERT(back->steps[i].status == window.steps[i].status);
    RC_ASSERT(back->steps[i].errors == window.steps[i].errors);
    RC_ASSERT(back->steps[i].count == window.steps[i].count);
    RC_ASSERT(back->steps[i].failed == window.steps[i].failed);
    RC_ASSERT(back->steps[i].left_out == window.steps[i].left_out);
    RC_ASSERT(back->steps[i].repeated == window.steps[i].repeated);
    RC_ASSERT(back->steps[i].bytes_sent == window.steps[i].bytes_sent);
    RC_ASSERT(back->steps[i].bytes_received == window.steps[i].bytes_received);
    for (std::size_t p = 0; p < metrics::kPhases; ++p) {
      RC_ASSERT(back->steps[i].phases[p] == window.steps[i].phases[p]);
    }
  }
  RC_ASSERT(back->workflows[0].iteration == window.workflows[0].iteration);
  RC_ASSERT(back->workflows[0].vus_active == window.workflows[0].vus_active);
  RC_ASSERT(back->workflows[0].ran == window.workflows[0].ran);
  RC_ASSERT(back->checks[0].passes == window.checks[0].passes);
}

TEST(WindowCodec, loses_no_selected_responses) {
  constexpr Shape kWatching{1, 1, 0, 0, 3};
  metrics::Window window(kWatching);
  window.watches[1].record(Duration::millis(7), 3);
  window.watches[2].record(Duration::seconds(1));
  const std::string bytes = encode_window(window);
  const auto back = decode_window(bytes, kWatching);
  ASSERT_TRUE(back);
  for (std::size_t i = 0; i < kWatching.watches; ++i) EXPECT_EQ(back->watches[i], window.watches[i]);
  EXPECT_FALSE(decode_window(bytes, Shape{1, 1, 0, 0, 2})) << "of another plan";
}

RC_GTEST_PROP(WindowCodec, loses_nothing_of_the_scenarios_own_metrics, (uint64_t seed)) {
  constexpr Shape kOwn{1, 1, 0, 3};
  Prng prng(seed);
  metrics::Window window(kOwn);
  for (metrics::MetricWindow& metric : window.series) {
    for (uint64_t i = prng.below(4); i > 0; --i) {
      const double value = static_cast<double>(prng.below(1'000'000'000'000'000)) / 16 - 10;
      metric.add(value);
      metric.observe(value);
      metric.set(value, Duration::nanos(static_cast<int64_t>(prng.below(1000))));
      metric.record(value, 1e3);
    }
  }
  const auto back = decode_window(encode_window(window), kOwn);
  RC_ASSERT(back.has_value());
  for (std::size_t i = 0; i < kOwn.series; ++i) {
    const metrics::MetricWindow& was = window.series[i];
    const metrics::MetricWindow& is = back->series[i];
    RC_ASSERT(is.count == was.count);
    RC_ASSERT(is.refused == was.refused);
    RC_ASSERT(is.sum == was.sum);
    RC_ASSERT(is.trues == was.trues);
    RC_ASSERT(is.last == was.last);
    RC_ASSERT(is.last_at == was.last_at);
    RC_ASSERT(is.least == was.least);
    RC_ASSERT(is.greatest == was.greatest);
    RC_ASSERT(is.trend == was.trend);
  }
}

TEST(WindowCodec, a_metric_that_contradicts_itself_is_refused) {
  constexpr Shape kOwn{0, 0, 0, 1};
  const auto with = [&](auto change) {
    wire::WindowDelta delta;
    wire::MetricDelta& metric = *delta.add_metrics();
    metric.set_count(2);
    metric.set_trues(2);
    metric.set_sum_low(5);
    metric.set_last(1);
    metric.set_greatest(1);
    change(metric);
    const auto decoded = decode_window(delta.SerializeAsString(), kOwn);
    return decoded ? "accepted" : decoded.error().message;
  };
  EXPECT_EQ(with([](auto&) {}), "accepted");
  EXPECT_THAT(with([](auto& m) { m.set_trues(3); }), HasSubstr("contradicts itself"));
  EXPECT_THAT(with([](auto& m) { m.set_sum_high(1); }), HasSubstr("contradicts itself"));
  EXPECT_THAT(with([](auto& m) { m.set_count(kMaxCount + 1); }), HasSubstr("an impossible count"));
  EXPECT_THAT(with([](auto& m) { m.set_last(2); }), HasSubstr("an impossible gauge"));
  EXPECT_THAT(with([](auto& m) { m.set_least(std::nan("")); }), HasSubstr("an impossible gauge"));
  EXPECT_THAT(with([](auto& m) { m.set_last_at_ns(-1); }), HasSubstr("an impossible gauge"));
  EXPECT_THAT(with([](auto& m) { m.set_series(1); }), HasSubstr("another plan"));
}

TEST(WindowCodec, the_ends_of_the_range_survive) {
  metrics::Window window = empty_window();
  window.steps[1].service.record(Duration::zero());
  window.steps[1].service.record(Duration::nanos(metrics::Histogram::kMaxTracked), 3);
  window.steps[1].service.record(Duration::hours(9));
  const auto back = decode_window(encode_window(window), kShape);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(back->steps[1].service == window.steps[1].service);
}

TEST(WindowCodec, a_step_with_one_count_alone_survives) {
  using metrics::StepWindow;
  for (uint64_t StepWindow::*count : {&StepWindow::count, &StepWindow::failed, &StepWindow::left_out,
                                      &StepWindow::repeated, &StepWindow::bytes_sent, &StepWindow::bytes_received}) {
    metrics::Window window = empty_window();
    window.steps[1].*count = 3;
    const auto back = decode_window(encode_window(window), kShape);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->steps[1].*count, 3u);
  }
}

TEST(WindowCodec, what_was_not_measured_costs_nothing) { EXPECT_LT(encode_window(empty_window()).size(), 4u); }

TEST(WindowCodec, another_plan_is_refused) {
  wire::WindowDelta delta;
  delta.add_steps()->set_step(kShape.steps);
  EXPECT_THAT(refusal(delta), HasSubstr("another plan"));
  delta.mutable_steps(0)->set_step(kShape.steps - 1);
  EXPECT_EQ(refusal(delta), "accepted");
  const auto decoded = decode_window("\xff\xff", kShape);
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().message, HasSubstr("not a window"));
}

TEST(WindowCodec, reads_what_any_writer_of_the_message_makes_in_any_order_and_with_fields_it_does_not_know) {
  Prng prng(2);
  const metrics::Window window = random_window(prng);
  wire::WindowDelta whole;
  ASSERT_TRUE(whole.ParseFromString(encode_window(window)));
  EXPECT_EQ(whole.SerializeAsString(), encode_window(window)) << "its parts are the bytes of the whole";
  const std::string later("\xf2\x01\x03new\xf8\x01\x07", 9);  // fields 30, a text, and 31, a number
  wire::WindowDelta steps;
  steps.mutable_steps()->Swap(whole.mutable_steps());
  const auto back = decode_window(later + whole.SerializeAsString() + later + steps.SerializeAsString(), kShape);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(encode_window(*back), encode_window(window));
}

TEST(WindowCodec, what_is_cut_off_anywhere_is_refused_or_less_and_never_more) {
  Prng prng(3);
  const std::string bytes = encode_window(random_window(prng));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    wire::WindowDelta whole;
    const bool is_message = whole.ParseFromString(bytes.substr(0, size));
    EXPECT_EQ(decode_window(std::string_view(bytes).substr(0, size), kShape).has_value(), is_message) << size;
  }
}

TEST(WindowCodec, a_window_is_read_in_place_of_another_one_even_after_an_error) {
  Prng prng(5);
  metrics::Window reused = empty_window();
  for (uint64_t i = 0; i < 20; ++i) {
    const std::string bytes = encode_window(random_window(prng, i));
    ASSERT_TRUE(decode_window_into(reused, bytes));
    EXPECT_EQ(encode_window(reused), bytes);
    EXPECT_FALSE(decode_window_into(reused, bytes + bytes)) << "each step twice";
  }
}

TEST(WindowCodec, the_same_step_twice_is_refused) {
  wire::WindowDelta delta;
  delta.add_steps()->set_count(1);
  delta.add_steps()->set_count(1);
  EXPECT_THAT(refusal(delta), HasSubstr("another plan"));
}

TEST(WindowCodec, figures_that_contradict_each_other_are_refused) {
  const auto with = [](auto change) {
    wire::WindowDelta delta;
    wire::SparseHistogram& service = *delta.add_steps()->mutable_service();
    service.add_gaps(100);
    service.add_counts(2);
    service.add_gaps(5);
    service.add_counts(1);
    service.set_sum_low(305);
    service.set_min_ns(100);
    service.set_max_ns(105);
    change(service);
    return refusal(delta);
  };
  EXPECT_EQ(with([](auto&) {}), "accepted");
  EXPECT_THAT(with([](auto& h) { h.set_sum_low(306); }), HasSubstr("sum"));
  EXPECT_THAT(with([](auto& h) { h.set_sum_high(1); }), HasSubstr("sum"));
  EXPECT_THAT(with([](auto& h) { h.set_min_ns(99); }), HasSubstr("least or greatest"));
  EXPECT_THAT(with([](auto& h) { h.set_max_ns(-1); }), HasSubstr("least or greatest"));
  EXPECT_THAT(with([](auto& h) { h.set_gaps(1, 0); }), HasSubstr("ascend"));
  EXPECT_THAT(with([](auto& h) { h.set_gaps(1, 4'000'000'000u); }), HasSubstr("beyond the last"));
  EXPECT_THAT(with([](auto& h) { h.add_gaps(1); }), HasSubstr("different numbers of buckets"));
  EXPECT_THAT(with([](auto& h) { h.set_counts(0, 0); }), HasSubstr("an impossible count"));
  EXPECT_THAT(with([](auto& h) { h.set_counts(0, kMaxCount + 1); }), HasSubstr("an impossible count"));
}

TEST(WindowCodec, a_sum_lies_between_those_of_the_ends_of_the_buckets) {
  using metrics::Histogram;
  for (const int64_t value : {int64_t{1}, int64_t{1023}, int64_t{1024}, int64_t{2048}, int64_t{2049},
                              int64_t{1'000'000}, int64_t{3'600'000'000'000}, Histogram::kMaxTracked}) {
    const uint32_t index = Histogram::index_of(static_cast<uint64_t>(value));
    const int64_t low = Histogram::lowest_of(index);
    const int64_t high = value == Histogram::kMaxTracked ? value : Histogram::lowest_of(index + 1) - 1;
    const auto with_sum = [&](int64_t sum) {
      wire::WindowDelta delta;
      wire::SparseHistogram& service = *delta.add_steps()->mutable_service();
      service.add_gaps(index);
      service.add_counts(3);
      service.set_sum_low(static_cast<uint64_t>(sum));
      service.set_min_ns(low);
      service.set_max_ns(high);
      return refusal(delta);
    };
    EXPECT_EQ(with_sum(low * 3), "accepted") << value;
    EXPECT_EQ(with_sum(high * 3), "accepted") << value;
    EXPECT_THAT(with_sum(low * 3 - 1), HasSubstr("sum")) << value;
    EXPECT_THAT(with_sum(high * 3 + 1), HasSubstr("sum")) << value;
  }
}

TEST(WindowCodec, numbers_that_cannot_be_are_refused) {
  wire::WindowDelta delta;
  delta.add_steps()->set_count(kMaxCount + 1);
  EXPECT_THAT(refusal(delta), HasSubstr("an impossible count"));
  delta.mutable_steps(0)->set_count(1);
  delta.mutable_steps(0)->set_bytes_received(uint64_t{1} << 51);
  EXPECT_THAT(refusal(delta), HasSubstr("bytes"));
  delta.mutable_steps(0)->clear_bytes_received();
  delta.mutable_steps(0)->add_status()->set_key(metrics::kMaxStatus);
  EXPECT_THAT(refusal(delta), HasSubstr("status"));
  delta.mutable_steps(0)->clear_status();
  delta.mutable_steps(0)->add_phases()->set_phase(metrics::kPhases);
  EXPECT_THAT(refusal(delta), HasSubstr("phase"));
  delta.mutable_steps(0)->mutable_phases(0)->set_phase(1);
  EXPECT_EQ(refusal(delta), "accepted");
  delta.mutable_steps(0)->add_phases()->set_phase(1);
  EXPECT_THAT(refusal(delta), HasSubstr("repeated"));
  delta.clear_steps();
  delta.add_workflows()->set_vus_active(-1);
  EXPECT_THAT(refusal(delta), HasSubstr("virtual users"));
  delta.clear_workflows();
  delta.set_cpu_ns(-1);
  EXPECT_THAT(refusal(delta), HasSubstr("time"));
  delta.set_cpu_ns(1);
  delta.set_covered_ns(1'000'000'001);
  EXPECT_THAT(refusal(delta), HasSubstr("more time than a second"));
}

}  // namespace
}  // namespace bellwether::ingest
