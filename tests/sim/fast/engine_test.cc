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
constexpr int kFaults = 15;

template <class Counts>
uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

uint64_t errors(const Load& load, ErrorKind kind) { return load.step().errors[static_cast<std::size_t>(kind)]; }

Judgement judge(const Load& load) {
  const plan::Executor& executor = load.plan.workflows[0].executor;
  const auto* open = std::get_if<plan::ArrivalRate>(&executor);
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
  // With a pace of users, also those that nobody came for.
  const uint64_t unfinished = step.response.unfinished.count();
  const bool counted = std::holds_alternative<plan::Iterations>(executor);
  const uint64_t dropped = open != nullptr ? workflow.dropped : 0;
  if (open != nullptr || counted ? unfinished != cut_off + dropped : unfinished < cut_off) {
    return "not each that was dropped or cut off was charged with its wait";
  }
  if (workflow.iterations + workflow.interrupted != step.count) return "an iteration is missing";
  for (const ErrorKind kind : {ErrorKind::kExhausted, ErrorKind::kTls, ErrorKind::kTlsTimeout, ErrorKind::kProtocol,
                               ErrorKind::kTooLarge, ErrorKind::kDecode, ErrorKind::kRedirect, ErrorKind::kTemplate}) {
    if (errors(load, kind) > 0) return "there was an error '" + std::string(to_string(kind)) + "', which cannot be";
  }
  if (const auto* some = std::get_if<plan::Iterations>(&executor)) {
    return step.count + workflow.dropped == some->planned(0, 1) ? "" : "an iteration did not begin and is not dropped";
  }
  if (open == nullptr) return {};
  const uint64_t arrivals = plan::ArrivalSchedule(open->stages, 0, 1).count();
  if (workflow.scheduled != arrivals) return std::to_string(workflow.scheduled) + " arrivals were scheduled";
  if (workflow.on_time + workflow.late != step.count) return "an arrival that started has no exchange";
  if (workflow.on_time + workflow.late + workflow.dropped != arrivals) return "an arrival is missing";
  return {};
}

// Each executor with any number of users, in any number of parts.
plan::Executor draw(Prng& prng) {
  const auto number = [&](int64_t low, int64_t high) { return static_cast<uint32_t>(prng.between(low, high)); };
  const uint32_t vus = number(1, 20);
  const Duration half = kRunsFor / 2;
  const auto pacing = prng.chance(0.5) ? std::optional(plan::Delay::of(kPacing)) : std::nullopt;
  const plan::ArrivalUsers users{.preallocated = number(1, vus),
                                 .most = vus,
                                 .wait_max = prng.chance(0.3) ? Duration::millis(number(1, 2000)) : Duration::zero()};
  switch (prng.below(7)) {
    case 0: return plan::ConstantVus{.vus = vus, .duration = kRunsFor, .pacing = pacing};
    case 1:
      return plan::RampingVus{.start_vus = number(0, vus),
                              .stages = {{half, vus}, {half, number(0, vus)}},
                              .graceful_ramp_down = Duration::millis(number(0, 3000)),
                              .pacing = pacing};
    case 2: return plan::Iterations{.vus = vus, .iterations = number(1, 2000), .max_duration = kRunsFor};
    case 3:
      return plan::Iterations{.vus = vus, .iterations = number(1, 200), .shared = false, .max_duration = kRunsFor};
    case 4:
      return plan::ExternallyControlled{.vus = number(0, vus), .vus_most = vus, .duration = kRunsFor, .pacing = pacing};
    case 5: return plan::ArrivalRate{.stages = {{40, 40, kRunsFor}}, .users = users};
    default: return plan::ArrivalRate{.stages = {{0, 80, half}, {80, 10, half}}, .users = users};
  }
}

Judgement live_with(uint64_t seed) {
  Load load({.url = "http://server/bytes/3000", .vus = 1, .duration = kRunsFor});
  Prng prng(seed);
  load.plan.workflows[0].graceful_stop = kGrace;
  load.plan.workflows[0].executor = draw(prng);
  load.parts = 1 + static_cast<uint32_t>(prng.below(4));
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
  return judge(load);
}
TEST(Engine, of_every_executor_accounts_for_every_arrival_and_iteration) { expect_good(&live_with); }

}  // namespace
}  // namespace bellwether::sim
