#include "lead/context_driver/command_manager.h"

#include <gmock/gmock.h>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"
#include "lead/context_driver/context_codec.h"

namespace bellwether::cluster {
namespace {

using context_lead::JobEnded;
using runtime::task;
using End = JobEnded::End;

class CommandManagerTest : public testing::Test {
 protected:
  CommandManagerTest() { settings.node = "m1"; }

  ContextJobEnd run(const std::string& script, const std::string& payload = "") {
    settings.command = {"/bin/sh", "-c", script};
    CommandManager manager(*runtime, settings);
    manager.set_term_end(runtime->boot_now() + term);
    ContextJob job{{{1, 2}, 7, {}, payload}, {election::Epoch(5), 3}};
    return runtime->run(manager.run(std::move(job), &stop, &kill));
  }
  // Cancels one of both while it runs.
  task<ContextJobEnd> cancelled(CommandManager* manager, runtime::Cancellation* which) {
    runtime::Scope scope;
    scope.spawn([](runtime::Runtime* on, runtime::Cancellation* one) -> task<void> {
      co_await on->sleep(Duration::millis(300));
      one->cancel();
    }(runtime.get(), which));
    ContextJob job{{{1, 2}, 0, {}, {}}, {election::Epoch(5), 3}};
    ContextJobEnd end = co_await manager->run(std::move(job), &stop, &kill);
    co_await scope.join();
    co_return end;
  }

  std::unique_ptr<runtime::EpollRuntime> runtime = std::move(*runtime::EpollRuntime::create({}));
  CommandManagerSettings settings;
  Duration term = Duration::minutes(5);
  runtime::Cancellation stop;
  runtime::Cancellation kill;
};

TEST_F(CommandManagerTest, what_it_reads_is_the_payload_and_what_it_writes_the_result) {
  const std::string large(60'000, 'x');
  const auto end = run("cat; cat \"$BELLWETHER_CONTEXT_PAYLOAD\" | wc -c >&2", large);
  EXPECT_EQ(end.end, End::kDone) << end.reason;
  EXPECT_EQ(end.result, large);
}

TEST_F(CommandManagerTest, it_sees_whose_attempt_it_is) {
  const auto end =
      run("echo $BELLWETHER_CONTEXT_REQUEST $BELLWETHER_EPOCH $BELLWETHER_CONTEXT_ATTEMPT $BELLWETHER_CONTEXT_PRIORITY "
          "$BELLWETHER_HOLDER; test $BELLWETHER_CONTEXT_DEADLINE -gt $(date +%s); wc -c < $BELLWETHER_CONTEXT_PAYLOAD",
          "four");
  EXPECT_EQ(end.end, End::kDone) << end.reason;
  EXPECT_EQ(end.result, "00000000000000010000000000000002 5 3 7 m1\n4\n");
}

TEST_F(CommandManagerTest, a_failure_says_the_exit_code_and_the_last_words) {
  const auto end = run("echo half; echo first >&2; echo 'no such project' >&2; exit 4");
  EXPECT_EQ(end.end, End::kFailed);
  EXPECT_EQ(end.reason, "exit code 4: no such project");
  EXPECT_EQ(end.result, "");
  EXPECT_EQ(run("kill -9 $$").reason, "signal 9");
}

TEST_F(CommandManagerTest, a_command_that_is_not_there_fails_and_says_so) {
  settings.command = {"/no/such/program"};
  CommandManager manager(*runtime, settings);
  manager.set_term_end(runtime->boot_now() + term);
  ContextJob job{{{1, 2}, 0, {}, {}}, {election::Epoch(5), 1}};
  const auto end = runtime->run(manager.run(std::move(job), &stop, &kill));
  EXPECT_EQ(end.end, End::kFailed);
  EXPECT_THAT(end.reason, testing::HasSubstr("/no/such/program"));
}

TEST_F(CommandManagerTest, one_that_prints_too_much_fails_and_never_blocks) {
  const auto end = run("head -c 10000000 /dev/zero; head -c 1000000 /dev/zero >&2");
  EXPECT_EQ(end.end, End::kFailed);
  EXPECT_EQ(end.reason, "printed more than 64 KiB");
  EXPECT_EQ(run("head -c 65536 /dev/zero").result.size(), kMaxResultBytes);
}

TEST_F(CommandManagerTest, one_that_takes_too_long_is_stopped_and_then_killed) {
  settings.timeout = Duration::millis(200);
  settings.grace = Duration::millis(200);
  const auto end = run("trap '' TERM; while true; do sleep 0.05; done");
  EXPECT_EQ(end.end, End::kFailed);
  EXPECT_EQ(end.reason, "took longer than 200ms");
}

TEST_F(CommandManagerTest, one_that_is_stopped_or_killed_is_cancelled) {
  settings.command = {"/bin/sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.05; done"};
  CommandManager stopped(*runtime, settings);
  stopped.set_term_end(runtime->boot_now() + term);
  EXPECT_EQ(runtime->run(cancelled(&stopped, &stop)).end, End::kCancelled);
}

TEST_F(CommandManagerTest, one_that_is_killed_is_cancelled_though_it_is_deaf) {
  settings.command = {"/bin/sh", "-c", "trap '' TERM; while true; do sleep 0.05; done"};
  CommandManager deaf(*runtime, settings);
  deaf.set_term_end(runtime->boot_now() + term);
  EXPECT_EQ(runtime->run(cancelled(&deaf, &kill)).end, End::kCancelled);
}

TEST_F(CommandManagerTest, nothing_is_left_of_it_when_the_term_ends) {
  term = Duration::millis(500);
  settings.timeout = Duration::seconds(10);  // which would be a failure
  const Instant end = runtime->boot_now() + term;
  const auto ended = run("trap '' TERM; while true; do sleep 0.05; done");
  EXPECT_EQ(ended.end, End::kCancelled);
  EXPECT_GE(runtime->boot_now(), end);
}

TEST_F(CommandManagerTest, after_the_term_nothing_begins_that_would_count) {
  term = Duration::zero();
  EXPECT_EQ(run("sleep 60; echo done").end, End::kCancelled);
}

TEST_F(CommandManagerTest, a_job_that_is_cancelled_before_it_begins_does_not) {
  stop.cancel();
  EXPECT_EQ(run("echo done").end, End::kCancelled);
}

}  // namespace
}  // namespace bellwether::cluster

#include "lead/run/guardian.h"

int main(int argc, char** argv) {
  // As the product does: the guardian is another life of the program that starts it.
  if (bellwether::lead::GuardianCall::is_one(argc, argv)) {
    return bellwether::lead::guardian_main(bellwether::lead::GuardianCall::parse(argc, argv));
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
