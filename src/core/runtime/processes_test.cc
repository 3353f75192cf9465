#include "core/runtime/processes.h"

#include <climits>
#include <csignal>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/runtime/stream_testing.h"

namespace bellwether::runtime {
namespace {

using testing::MatchesRegex;
using State = ProcessSight::State;

TEST(Processes, this_one_knows_itself) {
  const auto runtime = test_runtime();
  const ProcessIdentity self = runtime->self();
  EXPECT_EQ(self.pid, ::getpid());
  EXPECT_GT(self.start_time, 0u);
  EXPECT_THAT(self.boot_id, MatchesRegex("[0-9a-f-]{36}"));
  EXPECT_THAT(self.pid_namespace, MatchesRegex("pid:\\[[0-9]+\\]"));
  EXPECT_FALSE(self.host.empty());
}

TEST(Processes, others_see_what_it_knows_of_itself) {
  const auto runtime = test_runtime();
  const ProcessSight sight = runtime->look_at_process(::getpid());
  EXPECT_EQ(sight.state, State::kAlive);
  EXPECT_EQ(sight.start_time, runtime->self().start_time);
}

TEST(Processes, one_that_may_not_be_signalled_is_alive) { EXPECT_EQ(look_at_process(1).state, State::kAlive); }

// A child that does nothing; killed and taken away at the end.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ == 0) {
      while (true) ::pause();
    }
  }
  ~Sleeper() { reap(); }
  pid_t pid() const { return pid_; }
  // Its end has come, and its parent has not looked yet.
  void end() {
    ::kill(pid_, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void reap() {
    if (std::exchange(reaped_, true)) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
};

TEST(Processes, one_that_has_ended_is_dead_before_its_parent_looks_and_after) {
  Sleeper sleeper;
  ASSERT_GT(sleeper.pid(), 0);
  const ProcessSight alive = look_at_process(sleeper.pid());
  EXPECT_EQ(alive.state, State::kAlive);
  EXPECT_GE(alive.start_time, identify_self().start_time);
  sleeper.end();
  EXPECT_EQ(::kill(sleeper.pid(), 0), 0);
  EXPECT_EQ(look_at_process(sleeper.pid()).state, State::kDead);
  sleeper.reap();
  EXPECT_EQ(look_at_process(sleeper.pid()).state, State::kDead);
}

TEST(Processes, what_is_no_process_id_is_dead_and_signals_nobody) {
  for (const int64_t pid :
       {int64_t{0}, int64_t{-1}, int64_t{-::getpid()}, int64_t{INT_MAX}, int64_t{1} << 32, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(look_at_process(pid).state, State::kDead) << pid;
  }
}

TEST(Processes, the_kernel_s_line_is_read_whatever_the_name_is) {
  const auto stat = parse_process_stat("17 (a) b) Z 9) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21 22");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->start_time, 4711u);
}

TEST(Processes, a_line_that_is_cut_tells_nothing) {
  for (const char* text : {"", "17", "17 (a", "17 (a) ", "17 (a) R", "17 (a) R 1 2 3",
                           "17 (a) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 ",
                           "17 (a) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x"}) {
    EXPECT_FALSE(parse_process_stat(text)) << text;
  }
}

}  // namespace
}  // namespace bellwether::runtime
