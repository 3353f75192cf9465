// Two finished runs with known figures, for the tests of the reports: an open model that lost part of its schedule and
// met errors, and a closed one where all went well.
#pragma once

#include <memory>

#include "load/aggregate/totals.h"
#include "load/plan/plan.h"
#include "load/report/run_report.h"

namespace bellwether::report {

struct SampleRun {
  plan::Plan plan;
  std::unique_ptr<aggregate::Totals> totals;
  RunReport report;
};

inline constexpr WallTime kSampleStart{1'782'907'200'123'000'000};  // 2026-07-01T12:00:00.123Z

inline plan::Threshold sample_threshold(std::string metric, std::string expression, plan::Aggregation aggregation,
                                        double percentile, double bound) {
  plan::Threshold out;
  out.metric = metric;
  out.metric_text = std::move(metric);
  out.expression = std::move(expression);
  out.aggregation = aggregation;
  out.percentile = percentile;
  out.value = bound;
  return out;
}

inline plan::Step sample_request(std::string url) {
  plan::HttpCall call;
  call.url.pieces = {{.kind = plan::Piece::Kind::kLiteral, .literal = std::move(url)}};
  plan::Step step;
  step.work = std::move(call);
  return step;
}

inline std::unique_ptr<SampleRun> open_run() {
  auto run = std::make_unique<SampleRun>();
  plan::Plan& plan = run->plan;
  plan.name = "shop";
  plan.workflows.resize(1);
  plan.workflows[0].name = "browse";
  plan.workflows[0].executor =
      plan::ArrivalRate{.stages = {{1050, 1050, Duration::seconds(10)}}, .users = {.preallocated = 50, .most = 50}};
  plan.workflows[0].steps = {sample_request("http://shop.example:8080/list?page=1"), plan::Step{},
                             sample_request("https://pay.example/")};
  plan.steps = {{.workflow = 0, .index = 0, .name = "browse.list", .measured = true},
                {.workflow = 0, .index = 1, .name = "browse.note", .measured = false},
                {.workflow = 0, .index = 2, .name = "browse.pay", .measured = true}};
  plan.checks = {{.step = 0, .name = "status is 200 or 304"},
                 {.step = 2, .name = "status is 200"},
                 {.step = 2, .name = "json $.receipt exists"}};
  plan.thresholds = {sample_threshold("http_req_failed", "rate<0.05", plan::Aggregation::kRate, 0, 0.05),
                     sample_threshold("http_req_duration", "p(95)<15", plan::Aggregation::kPercentile, 95, 15),
                     sample_threshold("http_reqs", "rate<5000", plan::Aggregation::kRate, 0, 5000),
                     sample_threshold("http_req_tls_handshaking", "avg<5", plan::Aggregation::kAvg, 0, 5)};

  run->totals = std::make_unique<aggregate::Totals>(plan);
  for (uint64_t second = 0; second < 10; ++second) {
    metrics::Window w({3, 1, 3});
    w.second = second;
    for (const std::size_t s : {0, 2}) {
      metrics::StepWindow& step = w.steps[s];
      step.count = 1000;
      step.bytes_sent = 120'000;
      step.bytes_received = 350'000;
      for (int64_t i = 0; i < 990; ++i) {
        step.service.record(Duration::micros(500 + i));
        step.response.answered.record(Duration::micros(700 + 20 * i));
        step.phases[3].record(Duration::zero());  // sent by one call
        step.phases[4].record(Duration::micros(400 + i));
      }
      step.status.add(200, s == 0 ? 900 : 985);
      step.status.add(304, s == 0 ? 90 : 0);
      step.status.add(503, s == 0 ? 0 : 5);
      step.errors[static_cast<std::size_t>(http1::ErrorKind::kReset)] = 9;
      step.errors[static_cast<std::size_t>(http1::ErrorKind::kConnectRefused)] = 1;
      step.failed = s == 0 ? 10 : 15;
      step.response.unanswered.record(Duration::millis(25), 10);
    }
    w.steps[0].phases[1].record(Duration::micros(150), 4);
    w.steps[0].response.unfinished.record(Duration::millis(40), 50);
    w.workflows[0].iterations = 980;
    w.workflows[0].interrupted = second == 9 ? 10 : 0;
    w.workflows[0].scheduled = 1050;
    w.workflows[0].on_time = 995;
    w.workflows[0].late = 5;
    w.workflows[0].dropped = 50;
    w.workflows[0].vus_active = 40 + static_cast<int64_t>(second);
    w.workflows[0].vus_allocated = 50;
    w.workflows[0].iteration.record(Duration::millis(12), 980);
    w.workflows[0].start_lag.record(Duration::micros(60), 990);
    w.workflows[0].start_lag.record(Duration::millis(14), 10);
    w.checks = {{990, 0}, {985, 5}, {0, 0}};
    w.loop_lag.record(Duration::micros(80), 1000);
    w.cpu = Duration::millis(420);
    run->totals->add(w);
  }
  run->report = conclude(*run->totals, {.run_id = "01J0SAMPLE",
                                        .started_at = kSampleStart,
                                        .elapsed = Duration::millis(10'250),
                                        .cores = 2,
                                        .events = {{Duration::millis(4'200), "connections", "target \x1b[2J lost"}}});
  return run;
}

// The same, where both steps have a tag, and each has another value of a second one.
inline std::unique_ptr<SampleRun> tagged_run() {
  auto run = open_run();
  run->plan.steps[0].tags = {{"page", "shop"}, {"api", "v1"}};
  run->plan.steps[2].tags = {{"page", "shop"}, {"api", "v2"}};
  return run;
}

inline std::unique_ptr<SampleRun> closed_run() {
  auto run = std::make_unique<SampleRun>();
  plan::Plan& plan = run->plan;
  plan.name = "http://127.0.0.1:8080/";
  plan.workflows.resize(1);
  plan.workflows[0].name = "main";
  plan.workflows[0].executor = plan::ConstantVus{.vus = 50, .duration = Duration::seconds(2)};
  plan.workflows[0].steps = {sample_request("http://127.0.0.1:8080/")};
  plan.steps = {{.workflow = 0, .index = 0, .name = "main.get", .measured = true}};
  run->totals = std::make_unique<aggregate::Totals>(plan);
  metrics::Window w({1, 1, 0});
  w.steps[0].count = 123'456;
  w.steps[0].bytes_sent = 9'000'000;
  w.steps[0].bytes_received = 31'000'000;
  w.steps[0].service.record(Duration::micros(230), 123'000);
  w.steps[0].service.record(Duration::micros(2'300), 456);
  w.steps[0].response.answered.record(Duration::micros(230), 123'000);
  w.steps[0].response.answered.record(Duration::micros(2'300), 456);
  w.steps[0].status.add(200, 123'456);
  w.workflows[0].iterations = 123'456;
  w.workflows[0].iteration.record(Duration::micros(240), 123'456);
  w.workflows[0].vus_active = 50;
  w.workflows[0].vus_allocated = 50;
  w.loop_lag.record(Duration::micros(400), 1000);
  w.cpu = Duration::millis(1'980);
  run->totals->add(w, Duration::seconds(2));
  run->report =
      conclude(*run->totals, {.run_id = "01J0CLOSED", .started_at = kSampleStart, .elapsed = Duration::seconds(2)});
  return run;
}

// The same on four workers, of which one died and one was drained.
inline std::unique_ptr<SampleRun> spread_run() {
  auto run = closed_run();
  run->report = conclude(*run->totals,
                         {.run_id = "01J0SPREAD",
                          .started_at = kSampleStart,
                          .elapsed = Duration::seconds(2),
                          .cores = 8,
                          .events = {{Duration::millis(1'200), "worker_lost", "worker w2 is dead"},
                                     {Duration::millis(1'900), "assignment_moved", "1 part of main goes on at w4"}},
                          .losses = {{Duration::millis(750), Duration::millis(1'750), 0.25, "worker w2 died"},
                                     {Duration::millis(750), Duration::millis(1'250), 0.0005, "w2: its last second"}},
                          .workers = {{"w1", 2, 1, WorkerState::kCompleted},
                                      {"w2", 2, 1, WorkerState::kLost},
                                      {"w3.eu", 2, 1, WorkerState::kDrained},
                                      {"w4", 2, 2, WorkerState::kCompleted}}});
  return run;
}

// Twelve seconds, of the last a half, with own metrics, one of each kind: `depth` begins late, `took` was recorded
// once, `never` not at all. `sold` pauses for a second.
// The figures of a run whose end its client does not know.
inline std::unique_ptr<SampleRun> unconfirmed_run() {
  auto out = closed_run();
  out->plan.thresholds = {sample_threshold("http_req_failed", "rate<0.5", plan::Aggregation::kRate, 0, 0.5)};
  Course course{.run_id = "id", .started_at = kSampleStart, .elapsed = Duration::seconds(2)};
  course.workers = {{"w1", 2, 1, WorkerState::kUnconfirmed}};
  course.workflows.assign(out->plan.workflows.size(), {"unconfirmed", "", Duration::seconds(2)});
  course.unconfirmed = "no manager answers";
  out->report = conclude(*out->report.totals, std::move(course));
  return out;
}

inline std::unique_ptr<SampleRun> measured_run() {
  auto run = std::make_unique<SampleRun>();
  plan::Plan& plan = run->plan;
  plan.name = "shop";
  plan.workflows.resize(1);
  plan.workflows[0].name = "shop";
  plan.workflows[0].executor = plan::ConstantVus{};
  plan.steps = {{.workflow = 0, .index = 0, .name = "shop.buy", .measured = true}};
  plan.metrics = {{"orders", plan::MetricKind::kCounter, ""}, {"depth", plan::MetricKind::kGauge, ""},
                  {"sold", plan::MetricKind::kRate, ""},      {"price", plan::MetricKind::kTrend, "EUR"},
                  {"took", plan::MetricKind::kTrend, "ms"},   {"never", plan::MetricKind::kTrend, "ms"}};
  for (uint16_t m = 0; m < plan.metrics.size(); ++m) plan.series.push_back({m, 0});
  run->totals = std::make_unique<aggregate::Totals>(plan);
  for (uint64_t second = 0; second < 12; ++second) {
    metrics::Window w(aggregate::shape_of(plan));
    w.second = second;
    w.steps[0].count = 100;
    w.steps[0].service.record(Duration::millis(2), 100);
    w.steps[0].response.answered.record(Duration::millis(2), 100);
    w.steps[0].status.add(200, 100);
    w.workflows[0].iterations = 100;
    w.workflows[0].vus_active = 5;
    w.series[0].add(static_cast<double>(second) + 0.5);
    const Duration at = Duration::seconds(static_cast<int64_t>(second));
    if (second == 4) w.series[1].set(-3, at);
    if (second == 8) {
      w.series[1].set(20, at);
      w.series[1].set(12, at + Duration::millis(1));
    }
    if (second != 6) {
      for (const double truth : {1.0, 1.0, 0.0, 1.0}) w.series[2].observe(truth);
    }
    for (int price = 1; price <= 20; ++price) w.series[3].record(price, 1e3);
    if (second == 7) w.series[4].record(250, 1e6);
    run->totals->add(w, second == 11 ? Duration::millis(500) : Duration::seconds(1));
  }
  run->report =
      conclude(*run->totals, {.run_id = "01J0METRICS", .started_at = kSampleStart, .elapsed = Duration::seconds(12)});
  return run;
}

}  // namespace bellwether::report
