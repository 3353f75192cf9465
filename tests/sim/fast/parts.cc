#include "tests/sim/fast/parts.h"

#include <gtest/gtest.h>

#include "core/base/check.h"
#include "core/runtime/scope.h"
#include "core/runtime/stream_testing.h"
#include "load/aggregate/totals.h"
#include "load/plan/load_testing.h"

namespace bellwether::sim {

using runtime::Runtime;
using runtime::task;

plan::Plan plan_of(const std::string& yaml) {
  plan::TestSources sources(yaml);
  auto plan = sources.load();
  check(plan.has_value(), "the test's scenario is right");
  return std::move(*plan);
}

namespace {

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
    const Duration pause =
        ground->answers.empty()
            ? ground->answers_after
            : ground->answers.at(static_cast<std::size_t>(ground->requests.back().second / ground->apart));
    if (pause > Duration::zero()) co_await runtime->sleep(pause);
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
  metrics::Window* exchange(metrics::Window* full, bool) override {
    piece_.seconds.push_back(full->second);
    piece_.begun.push_back(full->workflows[0].begun);
    piece_.taken.push_back(full->workflows[0].taken);
    piece_.paces.push_back(full->workflows[0].pace);
    for (std::size_t i = 0; i < full->steps.size(); ++i) {
      piece_.counted.requests += full->steps[i].count;
      piece_.counted.failed += full->steps[i].failed;
      piece_.response = std::max(piece_.response, full->steps[i].response.answered.max());
      piece_.service = std::max(piece_.service, full->steps[i].service.max());
      piece_.charged += full->steps[i].response.unfinished.count();
      if (is_foreign(plan_.steps[i].workflow)) piece_.foreign += full->steps[i].count;
    }
    piece_.ran.resize(full->workflows.size());
    for (std::size_t i = 0; i < full->workflows.size(); ++i) {
      piece_.ran[i] += full->workflows[i].ran;
      piece_.counted.iterations += full->workflows[i].iterations;
      piece_.counted.dropped += full->workflows[i].dropped;
      piece_.scheduled += full->workflows[i].scheduled;
      piece_.interrupted += full->workflows[i].interrupted;
      piece_.users = std::max(piece_.users, full->workflows[i].vus_allocated);
      if (is_foreign(i)) piece_.foreign += full->workflows[i].scheduled + full->workflows[i].iterations;
    }
    piece_.times.resize(full->series.size());
    for (std::size_t i = 0; i < full->series.size(); ++i) {
      piece_.times[i].first += full->series[i].count;
      piece_.times[i].second = std::max(piece_.times[i].second, full->series[i].trend.max());
    }
    full->clear();
    return full;
  }
  void abort_run(std::string_view) override {}
  void note(std::string_view, std::string_view) override {}
  void timed_out(uint16_t workflow) override { piece_.timed_out.push_back(workflow); }

 private:
  bool is_foreign(std::size_t workflow) const {
    return !piece_.assignment.workflows.empty() && piece_.assignment.workflows.front() != workflow;
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

task<void> obey(Runtime* runtime, vuser::Engine* engine, const Piece* piece, Instant start,
                runtime::Cancellation* cancel) {
  for (const Order& order : piece->orders) {
    const bool time_came = co_await runtime->sleep_until(start + order.at, cancel);
    if (!time_came) co_return;
    switch (order.what) {
      case Order::What::kPause: engine->pause(); break;
      case Order::What::kResume: engine->resume(); break;
      case Order::What::kStop: engine->stop(); break;
      case Order::What::kScale: engine->scale(0, order.number); break;
      case Order::What::kApplied: engine->applied(order.number); break;
    }
  }
}

task<void> live_piece(Runtime* runtime, Ground* ground, Piece* piece, Instant start) {
  const plan::Plan* plan = &ground->plan;
  const Duration early = piece->hands_over_at ? Duration::zero() : piece->told;
  const bool time_came = co_await runtime->sleep_until(start + piece->resume.at - early);
  check(time_came, "nobody cancels that");
  metrics::Window window(aggregate::shape_of(*plan));
  Sink sink(*plan, *piece);
  vuser::Engine engine(*runtime, *plan, piece->assignment, sink, &window, nullptr, {}, nullptr, ground->spare);
  const Status prepared = engine.prepare();
  check(prepared.has_value(), "this plan is right");
  runtime::Scope killing;
  if (piece->killed_at) killing.spawn(kill_at(runtime, &engine, start + *piece->killed_at, killing.cancellation()));
  if (piece->hands_over_at) {
    const Instant when = start + *piece->hands_over_at - piece->told;
    killing.spawn(hand_over_at(runtime, &engine, *piece->hands_over_at, when, killing.cancellation()));
  }
  killing.spawn(obey(runtime, &engine, piece, start, killing.cancellation()));
  co_await engine.run(start, piece->resume);
  killing.cancel();
  co_await killing.join();
  piece->tally = engine.tally();
  piece->ended = runtime->now() - start;
}

task<void> generate(Runtime& runtime, void* context) {
  auto* ground = static_cast<Ground*>(context);
  ground->start = ground->world.now();
  runtime::Scope engines;
  for (Piece& piece : ground->pieces) engines.spawn(live_piece(&runtime, ground, &piece, runtime.now()));
  co_await engines.join();
}

}  // namespace

void Ground::live(Duration at_most) {
  world.network().set_links({.latency_min = Duration::micros(50), .latency_max = Duration::micros(100)});
  world.add_node("server").start(&noting_server, this);
  world.run_for(Duration::millis(1));
  Node& generator = world.add_node("generator");
  generator.start(&generate, this);
  ASSERT_TRUE(world.run_while_waiting(at_most, [&] { return generator.ended() == 1; }));
}

}  // namespace bellwether::sim
