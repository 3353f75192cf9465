// Steps whose work a program does, by the real engine against the real test server on virtual time: each of their
// requests is counted once, under its name, and charged no more than its own wait.
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "load/vuser/engine.h"
#include "sim/world.h"
#include "target/routes.h"
#include "tests/sim/fast/http_server.h"
#include "tests/sim/seeds.h"

namespace bellwether::sim {
namespace {

using http1::ErrorKind;
using vuser::CodeRun;

// One action of a program.
struct Wish {
  enum class What : uint8_t { kSend, kSleep, kFail };
  What what = What::kSend;
  CodeRun::Counting counting = {};
  int status = 200;  // that the server answers, after `span`
  Duration span = {};
  bool breaks_off = false;  // the server sends a part of the response
};

// All steps of all users do the same, one wish after the other.
class Scripted final : public vuser::Program {
 public:
  explicit Scripted(const std::vector<Wish>& wishes) : wishes_(wishes) {}
  Result<uint32_t> find(const plan::CodeCall&) override { return 0; }
  std::unique_ptr<User> new_user(uint32_t) override { return std::make_unique<User>(); }
  void begin_iteration(User&, uint64_t) override {}
  void begin(uint32_t, User&, CodeRun& run) override {
    run.state = nullptr;
    go_on(run);
  }
  void go_on(CodeRun& run) override {
    const auto at = reinterpret_cast<uintptr_t>(run.state);
    const http1::Response& last = run.response();
    if (last.error != ErrorKind::kNone) {
      EXPECT_EQ(last.status, 0) << "there was no response";
      EXPECT_EQ(last.body, "");
      EXPECT_GT(run.took(), Duration::zero()) << "a mean of times does not get better by failing";
    }
    const auto phases = run.phases();
    EXPECT_EQ(phases[3] + phases[4] + phases[5], last.attempts == 0 ? Duration::zero() : run.took());
    EXPECT_GE(*std::min_element(phases.begin(), phases.end()), Duration::zero());
    if (at > 0 && wishes_[at - 1].what == Wish::What::kSend) EXPECT_GE(run.took(), wishes_[at - 1].span);
    if (at == wishes_.size()) return run.end();
    run.state = reinterpret_cast<void*>(at + 1);
    const Wish& wish = wishes_[at];
    switch (wish.what) {
      case Wish::What::kSleep: return run.sleep(wish.span);
      case Wish::What::kFail: return run.fail("no more");
      case Wish::What::kSend: break;
    }
    const std::string url = wish.breaks_off                ? "http://server/fault/truncate"
                            : wish.span > Duration::zero() ? fmt::format("http://server/delay/{}ms", wish.span.ms())
                                                           : fmt::format("http://server/status/{}", wish.status);
    const vuser::RequestChange change{.method = "GET", .url = url, .headers = {}, .body = {}};
    ASSERT_TRUE(run.send(change, std::nullopt, wish.counting).has_value());
  }
  void abandon(CodeRun&) override {}
  bool copies_responses() const override { return true; }

 private:
  const std::vector<Wish>& wishes_;
};

constexpr uint16_t kNames = 2;

// A load of one step with two names of requests, by two engines that share its users.
struct Scene final : vuser::ProgramLoader, vuser::WindowSink {
  Scene(std::vector<Wish> wishes_, plan::Executor executor) : wishes(std::move(wishes_)) {
    plan::Step step;
    step.name = "s";
    step.work = plan::CodeCall{.program = 0, .function = "f", .base = {.method = "GET"}, .requests = {"one", "two"}};
    plan::Workflow& workflow = plan.workflows.emplace_back();
    workflow.name = "w";
    workflow.executor = std::move(executor);
    workflow.steps.push_back(std::move(step));
    workflow.order = {.steps = {0}, .is_chain = true, .first = {0}, .width = 1};
    for (const char* name : {"w.s", "w.one", "w.two"}) plan.steps.push_back({.name = name});
    plan.programs.emplace_back();
  }
  Result<std::unique_ptr<vuser::Program>> load(const plan::Program&) const override {
    return std::make_unique<Scripted>(wishes);
  }
  metrics::Window* exchange(metrics::Window* full, bool) override {
    total.merge(*full);
    full->clear();
    return full;
  }
  void abort_run(std::string_view) override {}
  void note(std::string_view, std::string_view) override {}
  void timed_out(uint16_t) override {}

  void live(uint64_t seed, uint32_t engines) {
    target::FaultOptions target_faults;
    World world(seed);
    Node& server = world.add_node("server");
    server.start(&http_server, &target_faults);
    world.run_for(Duration::millis(1));
    parts = engines;
    for (uint32_t i = 0; i < engines; ++i) world.add_node(fmt::format("generator-{}", i)).start(&generate, this);
    world.run_for(Duration::minutes(2));
    EXPECT_EQ(over, engines) << "seed " << seed;
  }
  static runtime::task<void> generate(runtime::Runtime& runtime, void* context) {
    auto& scene = *static_cast<Scene*>(context);
    metrics::Window window({1 + kNames, 1, 0});
    vuser::Engine engine(runtime, scene.plan, {.part = scene.begun++, .parts = scene.parts, .workflows = {}}, scene,
                         &window, &scene);
    const Status prepared = engine.prepare();
    check(prepared.has_value(), "this plan is right");
    co_await engine.run(runtime.now());
    ++scene.over;
  }

  std::vector<Wish> wishes;
  plan::Plan plan;
  metrics::Window total{metrics::Shape{1 + kNames, 1, 0}};
  uint32_t parts = 1;
  uint32_t begun = 0;
  uint32_t over = 0;
};

std::vector<Wish> draw_wishes(Prng& prng) {
  std::vector<Wish> out;
  const uint64_t count = prng.below(9);
  for (uint64_t i = 0; i < count; ++i) {
    const bool sleeps = prng.chance(0.2);
    out.push_back({.what = sleeps ? Wish::What::kSleep : Wish::What::kSend,
                   .counting = {.measured = prng.chance(0.8), .name = static_cast<uint16_t>(prng.below(kNames + 1))},
                   .status = prng.chance(0.5) ? 200 : 503,
                   .span = sleeps ? Duration::millis(prng.between(1, 50)) : Duration::zero()});
  }
  if (prng.chance(0.3)) out.push_back({.what = Wish::What::kFail});
  return out;
}

Judgement each_counts_once(uint64_t seed) {
  Prng prng(seed);
  constexpr uint64_t kIterations = 12;
  constexpr uint32_t kVus = 4;
  Scene scene(draw_wishes(prng), plan::Iterations{.vus = kVus, .iterations = kIterations, .shared = false});
  scene.live(seed, 1 + static_cast<uint32_t>(prng.below(2)));
  if (scene.total.workflows[0].iterations != kVus * kIterations) return "an iteration is missing";
  for (uint16_t name = 0; name <= kNames; ++name) {
    uint64_t sent = 0;
    uint64_t bad = 0;
    uint64_t left_out = 0;
    uint64_t failures = 0;  // of the function
    for (const Wish& wish : scene.wishes) {
      if (wish.what == Wish::What::kFail && name == 0) ++failures;
      if (wish.what != Wish::What::kSend || wish.counting.name != name) continue;
      left_out += wish.counting.measured ? 0 : 1;
      sent += wish.counting.measured ? 1 : 0;
      bad += wish.counting.measured && wish.status >= 400 ? 1 : 0;
    }
    const metrics::StepWindow& step = scene.total.steps[name];
    constexpr uint64_t kTimes = kVus * kIterations;
    if (step.count != (sent + failures) * kTimes) return fmt::format("name {} has {} requests", name, step.count);
    if (step.failed != (bad + failures) * kTimes) return fmt::format("name {} has {} failed", name, step.failed);
    if (step.left_out != left_out * kTimes) return fmt::format("name {} leaves out {}", name, step.left_out);
    if (step.status.of(200) + step.status.of(503) != sent * kTimes) return "an answer is missing";
    if (step.response.answered.count() != sent * kTimes || step.service.count() != sent * kTimes)
      return "a time is missing";
    if (step.errors[static_cast<std::size_t>(ErrorKind::kScript)] != failures * kTimes) return "a failure is missing";
  }
  return {};
}

TEST(Programs, see_no_status_of_a_response_that_breaks_off) {
  Scene scene({{.breaks_off = true}, {}, {.counting = {.measured = false}, .breaks_off = true}},
              plan::Iterations{.vus = 2, .iterations = 3, .shared = false});
  scene.live(1, 1);
  const metrics::StepWindow& step = scene.total.steps[0];
  EXPECT_EQ(step.errors[static_cast<std::size_t>(ErrorKind::kTruncated)], 6u);
  EXPECT_EQ(step.status.of(200), 6u);
  EXPECT_EQ(step.count, 12u);
  EXPECT_EQ(step.left_out, 6u);
}

TEST(Programs, each_request_counts_once_under_its_name) { expect_good(&each_counts_once); }

// An arrival each 100 ms for one user, whose iterations take 340 ms: each waits 240 ms longer than the one before.
TEST(Programs, the_first_request_is_charged_the_wait_and_none_the_pauses_of_the_program) {
  constexpr Duration kService = Duration::millis(20);
  for (const bool first_is_measured : {true, false}) {
    const Wish unmeasured{.counting = {.measured = first_is_measured, .name = 1}, .span = kService};
    Scene scene({{.what = Wish::What::kSleep, .span = Duration::millis(100)},
                 unmeasured,
                 {.what = Wish::What::kSleep, .span = Duration::millis(200)},
                 {.counting = {.name = 2}, .span = kService}},
                plan::ArrivalRate{.stages = {{10, 10, Duration::seconds(2)}},
                                  .users = {.preallocated = 1, .most = 1, .wait_max = Duration::minutes(1)}});
    scene.live(1, 1);
    const metrics::StepWindow& one = scene.total.steps[1];
    const metrics::StepWindow& two = scene.total.steps[2];
    EXPECT_EQ(two.count, 20u);
    EXPECT_EQ(one.count + one.left_out, 20u);
    constexpr Duration kLongestWait = Duration::millis(19 * 240);
    const auto is_charged = [&](const metrics::StepWindow& step) {
      EXPECT_LT(step.response.answered.min(), Duration::millis(90)) << "without the pauses";
      EXPECT_GT(step.response.answered.max(), kLongestWait);
      EXPECT_LT(step.response.answered.max(), kLongestWait + Duration::millis(150));
    };
    is_charged(first_is_measured ? one : two);
    if (first_is_measured) {
      EXPECT_TRUE(two.response.answered == two.service) << "it has no wait of its own";
    }
  }
}

}  // namespace
}  // namespace bellwether::sim
