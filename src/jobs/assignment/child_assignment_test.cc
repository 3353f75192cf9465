// Assignments as real processes against the test server.
#include <csignal>
#include <gmock/gmock.h>
#include <sched.h>

#include "core/base/bytes.h"
#include "core/runtime/child_testing.h"
#include "core/runtime/scope.h"
#include "jobs/assignment/assignment_process.h"
#include "jobs/assignment/assignment_testing.h"
#include "load/plan/schedule.h"
#include "target/connection.h"

namespace bellwether::node {
namespace {

using How = AssignmentEnd::How;
using runtime::task;
using testing::HasSubstr;

task<void> serve_all(target::Service* service, runtime::Listener* listener, runtime::Scope* scope) {
  while (true) {
    auto stream = co_await listener->accept(scope->cancellation());
    if (!stream) co_return;
    scope->spawn(target::serve(service, std::move(*stream), scope->cancellation()));
  }
}

class ChildAssignmentTest : public runtime::ChildTest {
 protected:
  ChildAssignmentTest() {
    auto listener = runtime_->listen({runtime::IpAddress::loopback(), 0}, {});
    check(listener.has_value(), "the loopback interface has ports");
    listener_ = std::move(*listener);
    serving_.spawn(serve_all(&service_, listener_.get(), &serving_));
  }
  ~ChildAssignmentTest() override {
    assignment_.reset();
    serving_.cancel();
    runtime_->run(join(&serving_));
  }
  static task<void> join(runtime::Scope* scope) { co_await scope->join(); }

  std::string scenario(const std::string& executor, const std::string& step = "") {
    return "workflows:\n  warm: {vus: 1, duration: 1s, steps: {a: {http: {get: \"http://127.0.0.1:1/\"}}}}\n  load: {" +
           executor + ", steps: {b: {http: {get: \"http://" + listener_->local().to_string() + "/json\"}" + step +
           "}}}\n";
  }
  // Of the second workflow.
  ChildOrder order(std::string bundle, uint32_t first = 0, uint32_t count = 1, uint32_t of = 1) {
    return {.bundle = std::move(bundle), .workflow = 1, .first = first, .count = count, .of = of};
  }
  template <class Holds>
  void run_until(Holds holds) {
    runtime_->run(until(runtime_.get(), holds));
  }
  void start(ChildOrder what) { assignment_ = assignments_.start(std::move(what), heard_.listener()); }
  void start_and_begin(ChildOrder what) {
    start(std::move(what));
    run_until([&] { return heard_.prepared || heard_.end; });
    check(heard_.prepared && *heard_.prepared, "it can begin");
    assignment_->begin(runtime_->read_clock());
  }
  const AssignmentEnd& wait_for_end() {
    run_until([&] { return heard_.end.has_value(); });
    return *heard_.end;
  }
  void wait_for_requests() {
    run_until([&] { return !heard_.counters.empty() && heard_.counters.back().requests > 0; });
  }
  void signal(int number) { check(::kill(static_cast<pid_t>(assignment_->pid()), number) == 0, "it is there"); }
  // The requests of a stopped child until then, with all that it had sent before.
  uint64_t requests_until_boot(Instant when) {
    runtime_->run(runtime_->sleep_until_boot(when));
    for (uint64_t before = UINT64_MAX; before != service_.requests;) {
      before = service_.requests;
      // A connection is accepted, watched and read in a few turns; each turn takes only some of those that are ready.
      for (int turn = 0; turn < 100; ++turn) runtime_->run(yield(runtime_.get()));
    }
    return service_.requests;
  }
  static task<void> yield(runtime::Runtime* runtime) { co_await runtime->yield(); }
  // Of all reported seconds.
  metrics::Window sum() const {
    const ingest::Shape shape{2, 2, 0};
    metrics::Window all(shape);
    for (const ChildSecond& second : heard_.seconds) {
      const auto window = ingest::decode_window(second.window, shape);
      check(window.has_value() && window->second == second.second, "windows can be read");
      all.merge(*window);
    }
    return all;
  }

  target::FaultOptions faults_;
  target::Service service_{*runtime_, faults_, 1};
  std::unique_ptr<runtime::Listener> listener_;
  runtime::Scope serving_;
  ChildAssignments assignments_{*runtime_};
  Heard heard_;
  std::unique_ptr<AssignmentProcess> assignment_;
};

constexpr const char* kForever = "vus: 2, duration: 1h";

TEST_F(ChildAssignmentTest, one_of_two_parts_makes_half_of_the_arrivals) {
  start_and_begin(order(scenario("executor: constant-arrival-rate, rate: 201/s, duration: 2s, vus: 20"), 1, 1, 2));
  const AssignmentEnd& end = wait_for_end();
  EXPECT_EQ(end.how, How::kCompleted) << end.detail;
  EXPECT_GE(end.elapsed, Duration::from_seconds_f(401 / 201.0));

  const metrics::Window all = sum();
  EXPECT_EQ(all.workflows[1].scheduled, 201u);
  EXPECT_EQ(all.workflows[1].on_time + all.workflows[1].late + all.workflows[1].dropped, 201u);
  EXPECT_EQ(all.steps[1].count, service_.requests);
  EXPECT_EQ(all.steps[0].count + all.workflows[0].iterations, 0u) << "it ran another workflow";
}

TEST_F(ChildAssignmentTest, the_seconds_together_are_what_the_last_counters_say) {
  start_and_begin(order(scenario("vus: 4, duration: 1h, pacing: 20ms"), 0, 2, 2));
  run_until([&] { return heard_.seconds.size() >= 2 && sum().steps[1].count > 0; });
  assignment_->stop(/*graceful=*/true);
  EXPECT_EQ(wait_for_end().how, How::kStopped);
  Duration covered;
  for (std::size_t i = 0; i < heard_.seconds.size(); ++i) {
    EXPECT_EQ(heard_.seconds[i].second, i);
    covered += heard_.seconds[i].covered;
  }
  EXPECT_EQ(covered, heard_.end->elapsed);

  const metrics::Window all = sum();
  ASSERT_FALSE(heard_.counters.empty());
  const vuser::Tally& last = heard_.counters.back();
  EXPECT_GT(last.requests, 0u);
  EXPECT_EQ(last.requests, all.steps[1].count);
  EXPECT_EQ(last.requests, service_.requests);
  EXPECT_EQ(last.failed, all.steps[1].failed);
  EXPECT_EQ(last.iterations, all.workflows[1].iterations);
  EXPECT_EQ(last.dropped, 0u);
  EXPECT_EQ(last.vus_active, 0);
  for (std::size_t i = 1; i < heard_.counters.size(); ++i) {
    EXPECT_GE(heard_.counters[i].requests, heard_.counters[i - 1].requests) << "they are those since the begin";
  }
}

TEST_F(ChildAssignmentTest, it_tells_how_far_it_comes_while_its_target_does_not_answer) {
  faults_.latency_low = faults_.latency_high = Duration::hours(1);
  service_.faults = target::Faults(faults_, runtime_->now());
  start_and_begin(order(scenario(kForever), 0, 2, 2));
  run_until([&] { return heard_.last.headway.begun == 2 && heard_.last.headway.turned >= 6; });
  EXPECT_EQ(heard_.last.loops, 2u);
  EXPECT_EQ(heard_.last.headway.could_begin, 2u) << "who waits for the target could not begin anything";
  EXPECT_EQ(heard_.last.tally.iterations, 0u);
  assignment_->stop(false);
  EXPECT_EQ(wait_for_end().how, How::kStopped);
  EXPECT_EQ(heard_.last.loops, 0u) << "nothing is expected of what has ended";
}

TEST_F(ChildAssignmentTest, arrivals_that_are_dropped_are_served) {
  faults_.latency_low = faults_.latency_high = Duration::hours(1);
  service_.faults = target::Faults(faults_, runtime_->now());
  start_and_begin(order(scenario("executor: constant-arrival-rate, rate: 100/s, duration: 1s, vus: 1")));
  run_until([&] { return heard_.last.headway.due == 100; });
  EXPECT_EQ(heard_.last.headway.served, 100u);
  EXPECT_EQ(heard_.last.headway.begun, 1u);
  EXPECT_EQ(heard_.last.tally.dropped, 99u);
  assignment_->stop(false);
  wait_for_end();
}

TEST_F(ChildAssignmentTest, one_that_goes_on_tells_the_seconds_of_the_clock_that_began_long_ago) {
  start(order(scenario("executor: constant-arrival-rate, rate: 100/s, duration: 4s, vus: 20")));
  run_until([&] { return heard_.prepared.has_value(); });
  assignment_->begin(runtime_->read_clock() - Duration::millis(2500), Duration::millis(2500));
  EXPECT_EQ(wait_for_end().how, How::kCompleted);
  ASSERT_GE(heard_.seconds.size(), 2u);
  EXPECT_EQ(heard_.seconds[0].second, 2u);
  EXPECT_EQ(heard_.seconds[0].covered, Duration::millis(500));
  EXPECT_EQ(heard_.seconds[1].second, 3u);
  EXPECT_EQ(sum().workflows[1].scheduled, 150u);
  EXPECT_GE(heard_.end->elapsed, Duration::millis(3990));
}

TEST_F(ChildAssignmentTest, a_graceful_stop_lets_iterations_finish) {
  faults_.latency_low = faults_.latency_high = Duration::millis(300);
  service_.faults = target::Faults(faults_, runtime_->now());
  start_and_begin(order(scenario(kForever)));
  run_until([&] { return service_.requests >= 2; });
  assignment_->stop(/*graceful=*/true);
  EXPECT_EQ(wait_for_end().how, How::kStopped);
  EXPECT_EQ(sum().workflows[1].iterations, sum().steps[1].count);
  EXPECT_GE(sum().workflows[1].iterations, 2u);
  EXPECT_EQ(sum().workflows[1].interrupted, 0u);
}

TEST_F(ChildAssignmentTest, a_stop_at_once_interrupts_them) {
  faults_.latency_low = faults_.latency_high = Duration::hours(1);
  service_.faults = target::Faults(faults_, runtime_->now());
  start_and_begin(order(scenario(kForever)));
  run_until([&] { return service_.requests == 2; });
  assignment_->stop(/*graceful=*/true);  // the hardest counts
  assignment_->stop(/*graceful=*/false);
  EXPECT_EQ(wait_for_end().how, How::kStopped);
  EXPECT_EQ(sum().workflows[1].interrupted, 2u);
  EXPECT_EQ(heard_.counters.back().requests, 2u);
}

TEST_F(ChildAssignmentTest, one_that_is_stopped_before_it_begins_ends) {
  start(order(scenario(kForever)));
  assignment_->stop(/*graceful=*/true);
  const AssignmentEnd& end = wait_for_end();
  EXPECT_EQ(end.how, How::kStopped);
  EXPECT_EQ(end.elapsed, Duration::zero());
  EXPECT_TRUE(heard_.seconds.empty());
  EXPECT_EQ(service_.connections, 0u);
}

TEST_F(ChildAssignmentTest, a_step_that_aborts_ends_it_and_is_named) {
  start_and_begin(order(scenario(kForever, ", check: {status: 418}, on_error: abort")));
  const AssignmentEnd& end = wait_for_end();
  EXPECT_EQ(end.how, How::kAborted);
  EXPECT_EQ(end.detail, "load.b");
}

TEST_F(ChildAssignmentTest, what_is_wrong_with_the_order_is_told) {
  start(order("workflows: {}"));
  const AssignmentEnd& end = wait_for_end();
  EXPECT_EQ(end.how, How::kNotPrepared);
  ASSERT_TRUE(heard_.prepared && !*heard_.prepared);
  EXPECT_EQ(heard_.prepared->error().message, end.detail);
  EXPECT_THAT(end.detail, HasSubstr("shop.yaml"));
}

TEST_F(ChildAssignmentTest, a_workflow_that_the_plan_has_not_is_told) {
  ChildOrder wrong = order(scenario(kForever));
  wrong.workflow = 7;
  start(wrong);
  EXPECT_EQ(wait_for_end().detail, "the order is for workflow 7, but the plan has 2 workflows");
}

TEST_F(ChildAssignmentTest, a_processor_that_is_not_there_is_told) {
  ChildOrder wrong = order(scenario(kForever));
  wrong.cpus = {999};
  start(wrong);
  EXPECT_EQ(wait_for_end().how, How::kNotPrepared);
  EXPECT_EQ(heard_.end->detail, "processor 999 does not exist or is not available to this process");
}

TEST_F(ChildAssignmentTest, one_that_somebody_kills_is_lost) {
  start_and_begin(order(scenario(kForever)));
  wait_for_requests();
  signal(SIGKILL);
  const AssignmentEnd& end = wait_for_end();
  EXPECT_EQ(end.how, How::kLost);
  EXPECT_EQ(end.detail, "its process was killed by signal 9 (Killed)");
}

TEST_F(ChildAssignmentTest, one_with_a_fault_has_crashed) {
  start_and_begin(order(scenario(kForever)));
  wait_for_requests();
  signal(SIGABRT);
  EXPECT_EQ(wait_for_end().how, How::kCrashed);
  EXPECT_EQ(heard_.end->detail, "its process was killed by signal 6 (Aborted)");
}

TEST_F(ChildAssignmentTest, one_that_exits_has_crashed) {
  start(order(std::string(kExit)));
  EXPECT_EQ(wait_for_end().how, How::kCrashed);
  EXPECT_EQ(heard_.end->detail, "its process exited with code 3");
  EXPECT_FALSE(heard_.prepared);
}

TEST_F(ChildAssignmentTest, what_it_has_started_ends_with_it) {
  start(order(std::string(kLeaveBehind)));
  EXPECT_EQ(wait_for_end().how, How::kNotPrepared);
  const auto number = parse_u64(heard_.prepared->error().message);
  ASSERT_TRUE(number);
  wait_until_dead(static_cast<int64_t>(*number));
}

TEST_F(ChildAssignmentTest, one_that_says_what_makes_no_sense_is_ended) {
  for (const std::string_view what : {kSayGarbage, kSayTooEarly}) {
    heard_ = {};
    start(order(std::string(what)));
    const AssignmentEnd& end = wait_for_end();
    EXPECT_EQ(end.how, How::kCrashed);
    EXPECT_THAT(end.detail, testing::AnyOf(HasSubstr("a frame is empty or too large"),
                                           "the assignment sent a message that is invalid in this state"));
    EXPECT_TRUE(heard_.seconds.empty());
    wait_until_dead(assignment_->pid());
  }
}

TEST_F(ChildAssignmentTest, one_that_leaves_out_a_second_is_ended) {
  start_and_begin(order(std::string(kLeaveOut)));
  EXPECT_EQ(wait_for_end().how, How::kCrashed);
  EXPECT_EQ(heard_.end->detail, "the assignment sent a message that is invalid in this state");
  ASSERT_EQ(heard_.seconds.size(), 1u);
  EXPECT_EQ(heard_.seconds[0].second, 4u);
}

TEST_F(ChildAssignmentTest, one_that_is_killed_here_was_killed) {
  start_and_begin(order(scenario(kForever)));
  wait_for_requests();
  assignment_->kill();
  EXPECT_EQ(wait_for_end().how, How::kKilled);
  assignment_->stop(false);  // too late for any effect
  assignment_->kill();
}

TEST_F(ChildAssignmentTest, one_that_is_killed_before_it_has_started_is_killed_too) {
  start(order(scenario(kForever)));
  assignment_->kill();
  EXPECT_EQ(wait_for_end().how, How::kKilled);
}

// Its requests take a while, so that some are always in flight.
TEST_F(ChildAssignmentTest, its_load_ends_with_its_permit_although_nobody_says_anything) {
  faults_.latency_low = faults_.latency_high = Duration::millis(20);
  service_.faults = target::Faults(faults_, runtime_->now());
  start_and_begin(order(scenario("vus: 8, duration: 1h", ", on_error: abort"), 0, 2, 2));
  wait_for_requests();
  const Instant until = runtime_->boot_now() + Duration::millis(500);
  assignment_->permit(until);
  const AssignmentEnd& end = wait_for_end();
  EXPECT_GE(runtime_->boot_now(), until);
  EXPECT_EQ(end.how, How::kFenced) << end.detail;
  EXPECT_EQ(end.detail, "");
  Duration covered;
  for (const ChildSecond& second : heard_.seconds) covered += second.covered;
  EXPECT_EQ(covered, end.elapsed);
  EXPECT_GE(sum().steps[1].count, service_.requests);
  EXPECT_EQ(sum().steps[1].failed, 0u) << "the target is not to blame";
  EXPECT_GE(sum().workflows[1].interrupted, 1u);
}

TEST_F(ChildAssignmentTest, one_whose_permit_is_renewed_goes_on) {
  // A run in which this process stood still for longer than a permit proves nothing: the next one has longer permits.
  bool in_time = false;
  for (int64_t seconds = 2; !in_time; seconds *= 2) {
    heard_ = {};
    in_time = true;
    Instant until = Instant::never();
    const auto renew = [&] {
      const Instant before = std::exchange(until, runtime_->boot_now() + Duration::seconds(seconds));
      assignment_->permit(until);
      return in_time = in_time && runtime_->boot_now() < before;
    };
    start(order(
        scenario(fmt::format("executor: constant-arrival-rate, rate: 100/s, duration: {}s, vus: 20", seconds + 1))));
    run_until([&] { return !renew() || heard_.prepared; });
    if (!heard_.prepared) continue;
    assignment_->begin(runtime_->read_clock());
    run_until([&] { return !renew() || heard_.end; });
    if (in_time) EXPECT_EQ(heard_.end->how, How::kCompleted);
    if (in_time) EXPECT_EQ(sum().workflows[1].scheduled, 100u * static_cast<uint64_t>(seconds + 1));
  }
}

TEST_F(ChildAssignmentTest, one_whose_permit_has_ended_before_it_begins_sends_nothing) {
  start(order(scenario(kForever)));
  assignment_->permit(runtime_->boot_now());
  run_until([&] { return heard_.prepared.has_value(); });
  assignment_->begin(runtime_->read_clock());
  EXPECT_EQ(wait_for_end().how, How::kFenced);
  EXPECT_EQ(service_.connections, 0u);
}

// All that it sent before it was stopped arrives while it is. When it continues, answers and arrivals wait for it.
TEST_F(ChildAssignmentTest, one_that_is_stopped_beyond_its_permit_sends_nothing_more) {
  faults_.latency_low = faults_.latency_high = Duration::millis(5);
  service_.faults = target::Faults(faults_, runtime_->now());
  for (const char* const executor :
       {"vus: 100, duration: 1h", "executor: constant-arrival-rate, rate: 2000/s, duration: 1h, vus: 200"}) {
    heard_ = {};
    const uint64_t before = service_.requests;
    start_and_begin(order(scenario(executor), 0, 2, 2));
    run_until([&] { return service_.requests > before + 200; });
    const Instant until = runtime_->boot_now() + Duration::millis(500);
    assignment_->permit(until);
    signal(SIGSTOP);
    const uint64_t at_stop = requests_until_boot(until + Duration::millis(200));
    signal(SIGCONT);
    EXPECT_EQ(wait_for_end().how, How::kFenced);
    EXPECT_EQ(service_.requests, at_stop) << executor;
    EXPECT_EQ(sum().steps[1].failed, 0u);
  }
}

// Others run its parts from then on. The order reaches it when it continues, and so do answers and due times.
TEST_F(ChildAssignmentTest, one_that_is_stopped_when_it_hands_over_begins_nothing_of_others) {
  faults_.latency_low = faults_.latency_high = Duration::millis(5);
  service_.faults = target::Faults(faults_, runtime_->now());
  for (const bool has_arrivals : {false, true}) {
    heard_ = {};
    const uint64_t before = service_.requests;
    start(order(scenario(has_arrivals ? "executor: constant-arrival-rate, rate: 2000/s, duration: 1h, vus: 200"
                                      : "vus: 100, duration: 1h"),
                0, 2, 2));
    run_until([&] { return heard_.prepared.has_value(); });
    const Instant begin = runtime_->read_clock();
    assignment_->begin(begin);
    run_until([&] { return service_.requests > before + 200; });
    signal(SIGSTOP);
    const Duration at = runtime_->read_clock() - begin + Duration::millis(200);
    assignment_->hand_over(at);
    const uint64_t at_stop = requests_until_boot(runtime_->boot_now() + Duration::millis(600));
    signal(SIGCONT);
    EXPECT_EQ(wait_for_end().how, How::kCompleted);
    if (has_arrivals) {
      const plan::ArrivalSchedule schedule({{2000, 2000, Duration::hours(1)}}, 0, 1);
      EXPECT_EQ(sum().workflows[1].scheduled, schedule.due_before(at));
    } else {
      EXPECT_EQ(service_.requests, at_stop);
    }
  }
}

TEST_F(ChildAssignmentTest, signals_of_a_terminal_do_not_end_it) {
  start_and_begin(order(scenario(kForever)));
  wait_for_requests();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    ASSERT_EQ(::kill(static_cast<pid_t>(assignment_->pid()), signal), 0);
  const std::size_t before = heard_.seconds.size();
  run_until([&] { return heard_.end || heard_.seconds.size() > before; });
  EXPECT_FALSE(heard_.end);
  EXPECT_NE(::getpgid(static_cast<pid_t>(assignment_->pid())), ::getpgrp());
}

TEST_F(ChildAssignmentTest, destroying_it_ends_the_process) {
  start_and_begin(order(scenario(kForever)));
  wait_for_requests();
  const int64_t pid = assignment_->pid();
  assignment_.reset();
  wait_until_dead(pid);
  EXPECT_FALSE(heard_.end);
}

TEST_F(ChildAssignmentTest, destroying_it_while_it_starts_is_safe) {
  for (int i = 0; i < 20; ++i) {
    start(order(scenario(kForever)));
    assignment_.reset();
  }
  start_and_begin(order(scenario(kForever)));
  EXPECT_FALSE(heard_.end);
}

// A listener that destroys its assignment once it has ended.
TEST_F(ChildAssignmentTest, it_may_be_destroyed_when_it_says_that_it_has_ended) {
  std::unique_ptr<AssignmentProcess> assignment;
  const auto stop = [&](const Status&) { assignment->stop(true); };
  const auto ignore_second = [](uint64_t, const std::string&, Duration) {};
  const auto ignore_counters = [](const ChildCounters&) {};
  const auto destroy = [&](const AssignmentEnd&) { assignment.reset(); };
  assignment = assignments_.start(order(scenario(kForever)), {stop, ignore_second, ignore_counters, destroy});
  run_until([&] { return assignment == nullptr; });
}

TEST_F(ChildAssignmentTest, it_is_gone_when_its_worker_is) {
  runtime::SpawnOptions options;
  options.argv = {"/proc/self/exe", "worker",
                  "workflows: {a: {vus: 1, duration: 1h, steps: {a: {http: {get: \"http://127.0.0.1:1/\"}}}}}"};
  options.capture = 100;
  const auto worker = ChildTest::start(options);
  const int64_t pid = std::stoll(line_of(*worker));
  EXPECT_TRUE(is_alive(pid));
  ASSERT_TRUE(worker->signal(SIGKILL));
  wait_until_dead(pid);
}

TEST_F(ChildAssignmentTest, its_threads_stay_on_the_processors_that_were_given) {
  cpu_set_t usable;
  ASSERT_EQ(::sched_getaffinity(0, sizeof usable, &usable), 0);
  std::vector<int> given;  // one or two
  for (int cpu = 0; cpu < CPU_SETSIZE && given.size() < 2; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &usable)) given.push_back(cpu);
  }
  ChildOrder pinned = order(scenario("vus: 3, duration: 1h"), 0, 3, 3);
  pinned.cpus = given;
  start_and_begin(pinned);
  wait_for_requests();
  const auto numbers = runtime_->run(runtime_->list_directory("/proc/" + std::to_string(assignment_->pid()) + "/task"));
  ASSERT_TRUE(numbers);
  auto threads = threads_of(assignment_->pid(), *numbers);
  EXPECT_EQ(threads["load-0"], std::to_string(given.front()));
  EXPECT_EQ(threads["load-1"], std::to_string(given.back()));
  EXPECT_EQ(threads["load-2"], std::to_string(given.front()));

  pinned.cpus = {given.back()};
  heard_ = {};
  start_and_begin(pinned);
  const auto others = runtime_->run(runtime_->list_directory("/proc/" + std::to_string(assignment_->pid()) + "/task"));
  ASSERT_TRUE(others);
  threads = threads_of(assignment_->pid(), *others);
  EXPECT_EQ(threads.count("assignment"), 1u);
  for (const auto& [name, cpus] : threads) EXPECT_EQ(cpus, std::to_string(given.back())) << name;
}

}  // namespace
}  // namespace bellwether::node
