// The parts of a plan as engines run them, in one process or in many, to the end, in the place of one that died, or
// from the moment on at which another one hands over. What reaches the server tells which arrivals and which virtual
// users it were.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "base/check.h"
#include "plan/load_testing.h"
#include "runtime/scope.h"
#include "runtime/stream_testing.h"
#include "sim/world.h"
#include "tests/sim/seeds.h"
#include "vuser/engine.h"

namespace bellwether::sim {
namespace {

using runtime::Runtime;
using runtime::task;
using vuser::EngineShare;
using vuser::Tally;

// One engine's life, and what it counted.
struct Piece {
  EngineShare share;
  Duration resume_at;
  std::optional<Duration> killed_at;
  std::optional<Duration> hands_over_at;
  Duration told;  // so long before it takes over, or hands over

  std::vector<uint64_t> seconds;  // of its windows
  uint64_t scheduled = 0;
  uint64_t foreign = 0;  // samples of other workflows than its own
  int64_t users = 0;     // that there were at most
  Tally counted;         // in all windows
  Tally tally;           // as it says itself at its end
  Duration ended;        // since the start of the run
};

plan::Plan plan_of(const std::string& yaml) {
  plan::TestSources sources(yaml);
  auto plan = sources.load();
  check(plan.has_value(), "the test's scenario is right");
  return std::move(*plan);
}

struct Ground {
  Ground(uint64_t seed, const std::string& yaml) : world(seed), plan(plan_of(yaml)) {}
  // To the end of all engines.
  void live(Duration at_most);

  Duration answers_after;
  World world;
  plan::Plan plan;
  std::vector<Piece> pieces;
  Instant start;                                                    // world time
  std::vector<std::pair<std::string, Duration>> requests;           // target of each, and when it came
  std::map<std::string, std::vector<Duration>> by_target() const {  // in the order of their coming
    std::map<std::string, std::vector<Duration>> sorted;
    for (const auto& [target, at] : requests) sorted[target].push_back(at);
    return sorted;
  }
};

// --- the server, which notes what comes ------------------------------------------------------------------------------

task<void> answer(Runtime* runtime, Ground* ground, std::unique_ptr<runtime::Stream> stream) {
  const std::string reply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  std::string text;
  std::vector<std::byte> room(4096);
  while (true) {
    const Errc ready = co_await stream->readable();
    if (ready != Errc::kOk) co_return;
    const runtime::Io io = stream->try_read(room);
    if (io.kind == runtime::Io::Kind::kWouldBlock) continue;
    if (io.kind != runtime::Io::Kind::kDone) co_return;
    text += as_text(Bytes(room).first(io.count));
    if (!text.ends_with("\r\n\r\n")) continue;
    const std::size_t from = text.find(' ') + 1;
    ground->requests.emplace_back(text.substr(from, text.find(' ', from) - from), ground->world.now() - ground->start);
    text.clear();
    if (ground->answers_after > Duration::zero()) co_await runtime->sleep(ground->answers_after);
    const Errc sent = co_await runtime::send_all(*stream, reply);
    if (sent != Errc::kOk) co_return;
  }
}

task<void> noting_server(Runtime& runtime, void* context) {
  auto* ground = static_cast<Ground*>(context);
  auto listener = runtime.listen({runtime::IpAddress::any(), 80}, {});
  runtime::Scope connections;
  while (true) {
    auto stream = co_await (*listener)->accept(nullptr);
    if (stream) connections.spawn(answer(&runtime, ground, std::move(*stream)));
  }
}

// --- the engines -----------------------------------------------------------------------------------------------------

class Sink final : public vuser::WindowSink {
 public:
  Sink(const plan::Plan& plan, Piece& piece) : plan_(plan), piece_(piece) {}
  metrics::Window* exchange(metrics::Window* full) override {
    piece_.seconds.push_back(full->second);
    for (std::size_t i = 0; i < full->steps.size(); ++i) {
      piece_.counted.requests += full->steps[i].count;
      piece_.counted.failed += full->steps[i].failed;
      if (is_foreign(plan_.steps[i].workflow)) piece_.foreign += full->steps[i].count;
    }
    for (std::size_t i = 0; i < full->workflows.size(); ++i) {
      piece_.counted.iterations += full->workflows[i].iterations;
      piece_.counted.dropped += full->workflows[i].dropped;
      piece_.scheduled += full->workflows[i].scheduled;
      piece_.users = std::max(piece_.users, full->workflows[i].vus_allocated);
      if (is_foreign(i)) piece_.foreign += full->workflows[i].scheduled + full->workflows[i].iterations;
    }
    full->clear();
    return full;
  }
  void abort_run(std::string_view) override {}

 private:
  bool is_foreign(std::size_t workflow) const {
    return !piece_.share.workflows.empty() && piece_.share.workflows.front() != workflow;
  }
  const plan::Plan& plan_;
  Piece& piece_;
};

task<void> kill_at(Runtime* runtime, vuser::Engine* engine, Instant when, runtime::Cancellation* cancel) {
  const bool time_came = co_await runtime->sleep_until(when, cancel);
  if (time_came) engine->kill();
}

task<void> hand_over_at(Runtime* runtime, vuser::Engine* engine, Duration at, Instant when,
                        runtime::Cancellation* cancel) {
  const bool time_came = co_await runtime->sleep_until(when, cancel);
  if (time_came) engine->hand_over(at);
}

task<void> live_piece(Runtime* runtime, const plan::Plan* plan, Piece* piece, Instant start) {
  const Duration early = piece->hands_over_at ? Duration::zero() : piece->told;
  const bool time_came = co_await runtime->sleep_until(start + piece->resume_at - early);
  check(time_came, "nobody cancels that");
  metrics::PagePool pool;
  metrics::Window window(plan->steps.size(), plan->workflows.size(), plan->checks.size(), &pool);
  Sink sink(*plan, *piece);
  vuser::Engine engine(*runtime, *plan, piece->share, sink, pool, &window);
  const Status prepared = engine.prepare();
  check(prepared.has_value(), "this plan is right");
  runtime::Scope killing;
  if (piece->killed_at) killing.spawn(kill_at(runtime, &engine, start + *piece->killed_at, killing.cancellation()));
  if (piece->hands_over_at) {
    const Instant when = start + *piece->hands_over_at - piece->told;
    killing.spawn(hand_over_at(runtime, &engine, *piece->hands_over_at, when, killing.cancellation()));
  }
  co_await engine.run(start, piece->resume_at);
  killing.cancel();
  co_await killing.join();
  piece->tally = engine.tally();
  piece->ended = runtime->now() - start;
}

task<void> generate(Runtime& runtime, void* context) {
  auto* ground = static_cast<Ground*>(context);
  ground->start = ground->world.now();
  runtime::Scope engines;
  for (Piece& piece : ground->pieces) engines.spawn(live_piece(&runtime, &ground->plan, &piece, runtime.now()));
  co_await engines.join();
}

void Ground::live(Duration at_most) {
  world.network().set_links({.latency_min = Duration::micros(50), .latency_max = Duration::micros(100)});
  world.add_node("server").start(&noting_server, this);
  world.run_for(Duration::millis(1));
  Node& generator = world.add_node("generator");
  generator.start(&generate, this);
  ASSERT_TRUE(world.run_while_waiting(at_most, [&] { return generator.ended() == 1; }));
}

// --- an open model whose parts die -----------------------------------------------------------------------------------

// Two workflows; the first is cut into parts of which some go on elsewhere after a while.
struct Drawn {
  uint32_t rate = 0;
  uint32_t start_time_ms = 0;
  uint32_t parts = 0;
  uint32_t dead = 0;  // parts [0, dead) ran on the machine that died
  Duration cut;       // of the clock of the run
  Duration resumed;

  Duration start_time() const { return Duration::millis(start_time_ms); }
  Duration due(uint64_t arrival) const {
    return start_time() + Duration::nanos(static_cast<int64_t>(std::llround(arrival * 1e9L / rate)));
  }
};
constexpr uint64_t kSeconds = 6;
constexpr Duration kNear = Duration::millis(12);  // from being due to reaching the server, less than between arrivals

Drawn draw(uint64_t seed) {
  Prng prng(seed);
  Drawn drawn;
  drawn.rate = 5 + static_cast<uint32_t>(prng.below(30));
  drawn.start_time_ms = static_cast<uint32_t>(prng.below(2000));
  drawn.parts = 2 + static_cast<uint32_t>(prng.below(5));
  drawn.dead = 1 + static_cast<uint32_t>(prng.below(drawn.parts));
  // Between two arrivals, so that nothing is under way.
  drawn.cut = drawn.due(prng.below(kSeconds * drawn.rate)) + kNear + Duration::millis(1);
  drawn.resumed = drawn.cut + prng.between(Duration::millis(1), Duration::seconds(3));
  if (prng.chance(0.5)) {  // just when something is due, which then is sent
    uint64_t arrival = 0;
    while (drawn.due(arrival) < drawn.resumed) ++arrival;
    drawn.resumed = drawn.due(arrival);
  }
  return drawn;
}

std::string two_workflows(const Drawn& drawn) {
  return "workflows:\n  a: {executor: constant-arrival-rate, rate: " + std::to_string(drawn.rate) +
         "/s, duration: " + std::to_string(kSeconds) + "s, start_time: " + std::to_string(drawn.start_time_ms) +
         "ms, vus: 6, steps: {one: {http: {get: \"http://10.0.0.1/a\"}}}}\n"
         "  b: {executor: constant-arrival-rate, rate: 20/s, duration: 2s, start_time: 1s, vus: 6, "
         "steps: {one: {http: {get: \"http://10.0.0.1/b\"}}}}\n";
}

Judgement judge_piece(const Piece& piece) {
  if (piece.foreign != 0) return "a workflow was counted that it does not run";
  if (piece.tally != piece.counted) return "its tally is not the sum of its windows";
  if (piece.counted.requests != piece.scheduled || piece.counted.failed + piece.counted.dropped != 0) {
    return "not every arrival became an answered request";
  }
  const auto first = static_cast<uint64_t>(piece.resume_at / Duration::seconds(1));
  if (piece.seconds.empty() || piece.seconds.front() != first) return "its windows do not begin with its second";
  for (std::size_t i = 0; i < piece.seconds.size(); ++i) {
    if (piece.seconds[i] != first + i) return "its windows leave out a second";
  }
  return {};
}

Judgement parts_go_on_elsewhere(uint64_t seed) {
  const Drawn drawn = draw(seed);
  Ground ground(seed, two_workflows(drawn));
  for (uint32_t part = 0; part < drawn.parts; ++part) {
    const bool dies = part < drawn.dead;
    const EngineShare share{.part = part, .parts = drawn.parts, .workflows = {0}};
    ground.pieces.push_back({.share = share, .killed_at = dies ? std::optional(drawn.cut) : std::nullopt});
    if (dies) ground.pieces.push_back({.share = share, .resume_at = drawn.resumed});
  }
  ground.pieces.push_back({.share = {.workflows = {1}}});
  ground.live(Duration::seconds(60));

  std::map<uint64_t, int> came;
  auto requests = ground.by_target();
  for (const Duration at : requests["/a"]) {
    const auto arrival = static_cast<uint64_t>((at - drawn.start_time()).seconds_f() * drawn.rate);
    if (at - drawn.due(arrival) > kNear) {
      return "a request came at " + std::to_string(at.ns()) + ", due " + std::to_string(drawn.due(arrival).ns());
    }
    ++came[arrival];
  }
  for (uint64_t arrival = 0; arrival < kSeconds * drawn.rate; ++arrival) {
    const bool dead = arrival % drawn.parts < drawn.dead;
    const bool lost = dead && drawn.due(arrival) >= drawn.cut && drawn.due(arrival) < drawn.resumed;
    if (came[arrival] != (lost ? 0 : 1)) {
      return "arrival " + std::to_string(arrival) + " came " + std::to_string(came[arrival]) + " times";
    }
  }
  if (came.size() != kSeconds * drawn.rate) return "there were more arrivals than planned";
  const std::vector<Duration>& others = requests["/b"];
  if (others.size() != 40 || others.front() < Duration::seconds(1) || others.front() > Duration::seconds(1) + kNear) {
    return "the other workflow did not begin at its time, or not run in full";
  }
  for (const Piece& piece : ground.pieces) {
    if (auto wrong = judge_piece(piece); !wrong.empty()) return wrong;
  }
  return {};
}
TEST(Parts, that_go_on_elsewhere_leave_out_what_was_due_between_and_nothing_else) {
  expect_good(&parts_go_on_elsewhere);
}

// --- an open model that is handed over -------------------------------------------------------------------------------

// Every arrival is issued by exactly one: by the one that hands over what is due before, by the other what is due from
// then on; and what is under way then is finished.
Judgement parts_are_handed_over(uint64_t seed) {
  Prng prng(seed);
  const Drawn drawn = draw(seed);
  Ground ground(seed, two_workflows(drawn));
  ground.answers_after = prng.between(Duration::zero(), Duration::millis(100));  // a user is free for the next
  Duration at = drawn.resumed;
  for (int i = 0; i < 8 && prng.chance(0.5); ++i) at = at - Duration::nanos(1);
  for (uint32_t part = 0; part < drawn.parts; ++part) {
    const bool moves = part < drawn.dead;
    const EngineShare share{.part = part, .parts = drawn.parts, .workflows = {0}};
    const Duration told = prng.between(Duration::zero(), std::min(at, Duration::seconds(3)));
    ground.pieces.push_back({.share = share, .hands_over_at = moves ? std::optional(at) : std::nullopt, .told = told});
    const Duration early = prng.between(Duration::zero(), std::min(at, Duration::seconds(3)));
    if (moves) ground.pieces.push_back({.share = share, .resume_at = at, .told = early});
  }
  ground.live(Duration::seconds(60));
  std::map<uint64_t, int> came;
  auto requests = ground.by_target();
  for (const Duration when : requests["/a"]) {
    ++came[static_cast<uint64_t>((when - drawn.start_time()).seconds_f() * drawn.rate)];
  }
  for (uint64_t arrival = 0; arrival < kSeconds * drawn.rate; ++arrival) {
    if (came[arrival] != 1)
      return "arrival " + std::to_string(arrival) + " came so often: " + std::to_string(came[arrival]);
  }
  if (came.size() != kSeconds * drawn.rate) return "there were more arrivals than planned";
  for (const Piece& piece : ground.pieces) {
    if (auto wrong = judge_piece(piece); !wrong.empty()) return wrong;
    if (piece.hands_over_at && piece.ended > *piece.hands_over_at + Duration::millis(200) &&
        *piece.hands_over_at > drawn.start_time()) {
      return "it went on for longer than what it had begun took";
    }
  }
  return {};
}
TEST(Parts, that_are_handed_over_leave_out_nothing_and_issue_nothing_twice) { expect_good(&parts_are_handed_over); }

// With one user who is busy all the time: what waits for it when the time comes is still served.
TEST(Parts, that_are_handed_over_serve_what_was_due_before_however_late) {
  Ground ground(1,
                "workflows: {a: {executor: constant-arrival-rate, rate: 10/s, duration: 4s, max_wait: 10s, "
                "vus: 1, steps: {one: {http: {get: \"http://10.0.0.1/a\"}}}}}");
  ground.answers_after = Duration::millis(150);
  ground.pieces = {{.share = {}, .hands_over_at = Duration::seconds(2), .told = Duration::millis(100)}};
  ground.live(Duration::seconds(20));
  EXPECT_EQ(ground.requests.size(), 20u);
  EXPECT_EQ(ground.pieces[0].scheduled, 20u);
  EXPECT_EQ(ground.pieces[0].counted.requests, 20u);
  EXPECT_EQ(ground.pieces[0].counted.dropped, 0u);
  EXPECT_GT(ground.pieces[0].ended, Duration::seconds(2));
}

// --- a closed model --------------------------------------------------------------------------------------------------

constexpr const char* kSixUsers =
    "workflows:\n  a: {vus: 6, duration: 5s, pacing: 100ms, steps: {one: {http: {get: \"http://10.0.0.1/${vu}\"}}}}\n";

TEST(Parts, of_a_closed_model_go_on_with_their_users_to_the_planned_end) {
  Ground ground(1, kSixUsers);
  ground.pieces = {{.share = {.part = 1, .parts = 3}, .resume_at = Duration::millis(2500)}};
  ground.live(Duration::seconds(10));
  const auto requests = ground.by_target();
  ASSERT_EQ(requests.size(), 2u);
  for (const char* user : {"/3", "/4"}) {
    ASSERT_EQ(requests.count(user), 1u) << user;
    const std::vector<Duration>& at = requests.at(user);
    EXPECT_EQ(at.size(), 25u);
    EXPECT_GE(at.front(), Duration::millis(2500));
    EXPECT_LT(at.front(), Duration::millis(2500) + kNear);
    EXPECT_LT(at.back(), Duration::seconds(5));
  }
  EXPECT_EQ(ground.pieces[0].seconds, (std::vector<uint64_t>{2, 3, 4, 5}));
  EXPECT_LT(ground.pieces[0].ended, Duration::millis(5010));
}

TEST(Parts, of_a_closed_model_are_handed_over_with_their_users) {
  Ground ground(1, kSixUsers);
  const Duration at = Duration::seconds(3);
  for (uint32_t part = 0; part < 2; ++part) {
    const EngineShare share{.part = part, .parts = 2};
    ground.pieces.push_back({.share = share, .hands_over_at = at, .told = Duration::seconds(1)});
    ground.pieces.push_back({.share = share, .resume_at = at, .told = Duration::seconds(1)});
  }
  ground.live(Duration::seconds(10));
  const auto requests = ground.by_target();
  ASSERT_EQ(requests.size(), 6u);
  for (const auto& [user, when] : requests) {
    EXPECT_EQ(when.size(), 50u) << user;
    for (std::size_t i = 1; i < when.size(); ++i) EXPECT_GT(when[i] - when[i - 1], Duration::millis(80)) << user;
  }
  for (const Piece& piece : ground.pieces) {
    EXPECT_EQ(piece.counted.iterations, piece.hands_over_at ? 90u : 60u);
    if (piece.hands_over_at) EXPECT_LT(piece.ended, at + Duration::millis(20));
  }
}

TEST(Parts, that_go_on_before_their_workflow_begins_wait_for_it) {
  Ground ground(1,
                "workflows: {a: {vus: 3, duration: 1s, start_time: 2s, pacing: 100ms, steps: {one: {http: "
                "{get: \"http://10.0.0.1/a\"}}}}}");
  ground.pieces = {{.share = {}, .resume_at = Duration::millis(1500)}};
  ground.live(Duration::seconds(10));
  ASSERT_EQ(ground.requests.size(), 30u);
  EXPECT_GE(ground.requests.front().second, Duration::seconds(2));
}

TEST(Parts, whose_time_is_over_end_at_once) {
  for (const char* executor :
       {"vus: 6, duration: 5s", "executor: constant-arrival-rate, rate: 9/s, duration: 5s, vus: 3"}) {
    Ground ground(1, std::string("workflows: {a: {") + executor +
                         ", start_time: 1s, steps: {one: {http: {get: \"http://10.0.0.1/a\"}}}}}");
    ground.pieces = {{.share = {}, .resume_at = Duration::seconds(6)}};
    ground.live(Duration::seconds(10));
    EXPECT_TRUE(ground.requests.empty());
    EXPECT_EQ(ground.pieces[0].seconds, (std::vector<uint64_t>{6}));
    EXPECT_EQ(ground.pieces[0].ended, Duration::seconds(6));
    EXPECT_EQ(ground.pieces[0].users, 0);
  }
}

}  // namespace
}  // namespace bellwether::sim
