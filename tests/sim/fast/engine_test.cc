// The real engine while the network and the target break: whatever becomes of a request, it is counted once and under
// the right heading, and the run ends when it must.
#include <gtest/gtest.h>
#include <numeric>

#include "sim/world.h"
#include "target/routes.h"
#include "tests/sim/fast/http_server.h"
#include "tests/sim/fast/load.h"
#include "tests/sim/faults.h"
#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

using http1::ErrorKind;

constexpr Duration kRunsFor = Duration::seconds(20);
constexpr Duration kGrace = Duration::seconds(5);
constexpr Duration kPacing = Duration::millis(50);
constexpr double kRate = 40;
constexpr uint64_t kArrivals = 800;
constexpr int kFaults = 15;

template <class Counts>
uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

uint64_t errors(const Load& load, ErrorKind kind) { return load.step().errors[static_cast<std::size_t>(kind)]; }

Judgement judge(const Load& load, bool open_model) {
  const metrics::StepWindow& step = load.step();
  const metrics::WorkflowWindow& workflow = load.workflow();
  uint64_t answered = 0;
  for (const auto& [status, count] : step.status.entries()) answered += count;
  if (step.status.of(200) != answered) return "the target said something else than 200";
  if (step.count != answered + sum(step.errors)) return "an exchange ended without an answer or an error, or with both";
  if (step.failed != sum(step.errors)) return "an error is no failure, or an answer is one";
  if (step.service.count() != answered) return "an answer has no service time";
  const uint64_t cut_off = errors(load, ErrorKind::kInterrupted);
  if (step.response.answered.count() != answered) return "an answer has no response time";
  if (step.response.unanswered.count() != sum(step.errors) - cut_off)
    return "not each failure was charged with its wait";
  // With a pace, also those that nobody came for.
  const uint64_t unfinished = step.response.unfinished.count();
  if (open_model ? unfinished != cut_off + workflow.dropped : unfinished < cut_off) {
    return "not each that was dropped or cut off was charged with its wait";
  }
  if (workflow.iterations + workflow.interrupted != step.count) return "an iteration is missing";
  for (const ErrorKind kind : {ErrorKind::kExhausted, ErrorKind::kTls, ErrorKind::kTlsTimeout, ErrorKind::kProtocol,
                               ErrorKind::kTooLarge, ErrorKind::kDecode, ErrorKind::kRedirect, ErrorKind::kTemplate}) {
    if (errors(load, kind) > 0) return "there was an error '" + std::string(to_string(kind)) + "', which cannot be";
  }
  if (!open_model) return {};
  if (workflow.scheduled != kArrivals) return std::to_string(workflow.scheduled) + " arrivals were scheduled";
  if (workflow.on_time + workflow.late != step.count) return "an arrival that started has no exchange";
  if (workflow.on_time + workflow.late + workflow.dropped != kArrivals) return "an arrival is missing";
  return {};
}

Judgement live_with(uint64_t seed, const plan::QuickRun& run) {
  Load load(run);
  load.plan.workflows[0].graceful_stop = kGrace;
  if (auto* closed = std::get_if<plan::ConstantVus>(&load.plan.workflows[0].executor))
    closed->pacing = plan::Delay::of(kPacing);
  target::FaultOptions target_faults;
  World world(seed);
  Node& server = world.add_node("server");
  Node& generator = world.add_node("generator");
  server.start(&http_server, &target_faults);
  world.run_for(Duration::millis(1));
  generator.start(&generate_load, &load);
  const Instant ends = world.now() + kRunsFor + kGrace + Duration::seconds(1);
  Faults faults(world, &generator);
  faults.happen(kFaults);
  if (world.now() < ends) world.run_until(ends);
  if (!load.over) return "the run does not end";
  return judge(load, run.rate_per_s.has_value());
}

Judgement open_model(uint64_t seed) {
  return live_with(seed, {.url = "http://server/bytes/3000", .vus = 20, .duration = kRunsFor, .rate_per_s = kRate});
}
TEST(Engine, of_an_open_model_accounts_for_every_arrival) { expect_good(&open_model); }

Judgement closed_model(uint64_t seed) {
  return live_with(seed, {.url = "http://server/bytes/3000", .vus = 5, .duration = kRunsFor});
}
TEST(Engine, of_a_closed_model_accounts_for_every_iteration) { expect_good(&closed_model); }

}  // namespace
}  // namespace bellwether::sim
