// A view in which everything is to be seen, for the tests of what is drawn.
#pragma once

#include "load/console/steering.h"
#include "load/console/view.h"

namespace bellwether::console {

inline StepRow sample_step(const std::string& name, uint64_t count, uint64_t failed, int64_t micros) {
  return {name,
          count,
          failed,
          static_cast<double>(count) / 90,
          {Duration::micros(micros), Duration::micros(3 * micros), Duration::micros(9 * micros)}};
}

inline View sample_view() {
  View view;
  view.scenario = "shop";
  view.target = "http://127.0.0.1:8080";
  view.where = "2 cores";
  view.state = "running";
  view.elapsed = Duration::seconds(90);
  view.planned = Duration::seconds(300);
  view.counts.requests = 123'456;
  view.counts.failed = 12;
  view.counts.iterations = 41'152;
  view.counts.dropped = 7;
  view.users = 50;
  view.open_model = true;
  view.rate_per_s = 1412.5;
  view.rate_total_per_s = 1371.7;
  view.last = {Duration::micros(1200), Duration::micros(3600), Duration::micros(10'800)};
  for (int64_t i = 0; i < 90; ++i) {
    const int64_t up = i < 45 ? i : 90 - i;
    const bool stall = i >= 70 && i < 73;
    view.points.push_back({Duration::micros(1000 + 20 * up), Duration::micros(3000 + 60 * up),
                           stall ? Duration::micros(18'000) : Duration::micros(8000 + 80 * up)});
  }
  view.workflows.resize(2);
  view.workflows[0] = {.name = "browse", .iterations = 41'000, .users = 45, .active = true};
  view.workflows[0].steps = {sample_step("list", 82'000, 0, 1200),
                             sample_step("a step with a long name that tells much", 41'000, 12, 900),
                             sample_step("商品を見る", 400, 0, 1500)};
  view.workflows[1] = {.name = "buy", .iterations = 152, .dropped = 7, .users = 5, .open_model = true, .active = true};
  view.workflows[1].steps = {sample_step("pay", 56, 0, 4000)};
  view.thresholds = {{"http_req_failed  rate<0.01", "0.01%", ThresholdRow::Verdict::kHolds},
                     {"http_req_duration{step:buy.pay}  p(95)<10", "12.0ms", ThresholdRow::Verdict::kFails},
                     {"http_req_tls_handshaking  avg<5", "no samples", ThresholdRow::Verdict::kNoSamples}};
  view.add_event(Duration::seconds(31), "worker_lost: 'w2' is gone; its parts go on with 'w1'");
  view.add_event(Duration::seconds(64), "manager 'm3' goes on with the job");
  return view;
}

}  // namespace bellwether::console
