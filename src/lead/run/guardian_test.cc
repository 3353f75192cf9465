#include "lead/run/guardian.h"

#include <array>
#include <csignal>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/temporary_testing.h"
#include "core/runtime/timers.h"

namespace bellwether::lead {
namespace {

constexpr Duration kFar = Duration::hours(1);

// A guardian in a separate process, with the test in the leader's place.
class GuardianTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = DeadlinePage::create();
    ASSERT_TRUE(made.has_value());
    page_.emplace(std::move(*made));
    page_->set(runtime::BootClock::now() + kFar, runtime::BootClock::now() + kFar * 2);
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
    ours_ = ends[0];
    theirs_ = ends[1];
  }

  void TearDown() override {
    if (ours_ >= 0) ::close(ours_);
    if (guardian_ > 0) {
      ::kill(guardian_, SIGKILL);
      ::waitpid(guardian_, nullptr, 0);
    }
  }

  void start(std::vector<std::string> command, int stop_signal = SIGTERM) {
    GuardianCall call;
    call.page_fd = page_->descriptor();
    call.socket_fd = theirs_;
    call.stop_signal = stop_signal;
    call.command = std::move(command);
    guardian_ = ::fork();
    if (guardian_ == 0) {
      ::close(ours_);
      ::_exit(guardian_main(call));
    }
    ::close(theirs_);
  }
  void shell(std::string script, int stop_signal = SIGTERM) { start({"sh", "-c", std::move(script)}, stop_signal); }

  // What it says next; "gone" when it has ended.
  std::string hear() const {
    pollfd wait{ours_, POLLIN, 0};
    if (::poll(&wait, 1, 100'000) != 1) return "nothing";
    std::array<char, 200> buffer{};
    const ssize_t size = ::recv(ours_, buffer.data(), buffer.size(), 0);
    return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : "gone";
  }
  void tell(const std::string& text) const { ASSERT_GT(::send(ours_, text.data(), text.size(), MSG_NOSIGNAL), 0); }
  pid_t command() const {
    const std::string text = hear();
    EXPECT_EQ(text.substr(0, 8), "started ");
    return static_cast<pid_t>(std::strtol(text.c_str() + 8, nullptr, 10));
  }

  std::optional<DeadlinePage> page_;
  int ours_ = -1;
  int theirs_ = -1;
  pid_t guardian_ = -1;
};

TEST_F(GuardianTest, tells_how_its_command_ended_and_that_nothing_is_left) {
  shell("exit 7");
  command();
  EXPECT_EQ(hear(), "exit 7");
  EXPECT_EQ(hear(), "empty");
  EXPECT_EQ(hear(), "gone");
}

TEST_F(GuardianTest, tells_why_a_command_cannot_be_started) {
  start({"/none/such"});
  EXPECT_EQ(hear(), "failed 2 /none/such: No such file or directory");
}

TEST_F(GuardianTest, asks_at_the_end_of_the_term_and_kills_at_the_kill_time_without_being_told) {
  const runtime::TemporaryFolder folder;
  shell("trap '' TERM; : >" + folder.path("deaf") + "; while :; do sleep 0.01; done");
  command();
  while (::access(folder.path("deaf").c_str(), F_OK) != 0) ::sched_yield();
  page_->set(runtime::BootClock::now(), runtime::BootClock::now() + Duration::millis(50));
  tell("signal 0");  // wakes it: it reads the page before it waits again
  EXPECT_EQ(hear(), "signal 9");
  EXPECT_EQ(hear(), "empty");
  EXPECT_GE(runtime::BootClock::now(), page_->kill_at());
}

TEST_F(GuardianTest, stops_with_the_signal_that_was_asked_for) {
  shell("trap 'exit 3' USR1; while :; do sleep 0.01; done", SIGUSR1);
  command();
  tell("stop");
  const std::string end = hear();
  EXPECT_TRUE(end == "exit 3" || end == "signal 10") << end;  // the latter when the shell had not come so far
}

TEST_F(GuardianTest, hands_signals_on_and_kills_when_told) {
  start({"sleep", "1000"});
  command();
  tell("signal 1");
  EXPECT_EQ(hear(), "signal 1");
  EXPECT_EQ(hear(), "empty");
}

TEST_F(GuardianTest, kills_a_command_that_is_stopped) {
  start({"sleep", "1000"});
  ::kill(command(), SIGSTOP);
  tell("kill");
  EXPECT_EQ(hear(), "signal 9");
}

TEST_F(GuardianTest, ends_its_command_when_the_leader_is_gone) {
  start({"sleep", "1000"});
  const pid_t work = command();
  ::close(std::exchange(ours_, -1));
  EXPECT_EQ(::waitpid(std::exchange(guardian_, -1), nullptr, 0) > 0, true);
  EXPECT_NE(::kill(work, 0), 0);
}

TEST_F(GuardianTest, ends_what_the_command_left_behind_in_a_session_of_its_own) {
  shell("setsid sleep 1000 & exit 0");
  command();
  EXPECT_EQ(hear(), "exit 0");
  EXPECT_EQ(hear(), "empty");
}

TEST(GuardianCallTest, survives_the_command_line) {
  GuardianCall call;
  call.page_fd = 4;
  call.socket_fd = 5;
  call.stop_signal = 10;
  call.command = {"sh", "-c", "exit 0"};
  std::vector<std::string> words = call.arguments();
  words.insert(words.begin(), "bellwether");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const int argc = static_cast<int>(argv.size());
  ASSERT_TRUE(GuardianCall::is_one(argc, argv.data()));
  const GuardianCall back = GuardianCall::parse(argc, argv.data());
  EXPECT_EQ(back.page_fd, 4);
  EXPECT_EQ(back.socket_fd, 5);
  EXPECT_EQ(back.lock_fd, -1);
  EXPECT_EQ(back.stop_signal, 10);
  EXPECT_EQ(back.command, call.command);
}

TEST(DeadlinePageTest, shows_another_process_what_was_set) {
  auto page = DeadlinePage::create();
  ASSERT_TRUE(page.has_value());
  auto other = DeadlinePage::map(::dup(page->descriptor()));
  ASSERT_TRUE(other.has_value());
  page->set(Instant::from_ns(5), Instant::from_ns(7));
  EXPECT_EQ(other->term_ends(), Instant::from_ns(5));
  EXPECT_EQ(other->kill_at(), Instant::from_ns(7));
}

TEST(LivingOfTest, finds_a_process_by_its_mark_in_whatever_session_and_not_when_it_is_dead) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[1]);
    const char* argv[] = {"cat", nullptr};
    const char* environment[] = {"PATH=/bin:/usr/bin", "BELLWETHER_TEST=one", nullptr};
    ::execve("/bin/cat", const_cast<char**>(argv), const_cast<char**>(environment));
    ::_exit(1);
  }
  const auto found = [&](std::string_view mark) {
    const std::vector<pid_t> all = living_of(-1, mark).pids;
    return std::find(all.begin(), all.end(), child) != all.end();
  };
  while (!found("BELLWETHER_TEST=one")) ::sched_yield();  // until it has become that program
  EXPECT_FALSE(found("BELLWETHER_TEST=on"));
  EXPECT_FALSE(found("ELLWETHER_TEST=one"));
  EXPECT_EQ(living_of(child, "no mark").pids, std::vector<pid_t>{child});
  ::close(ends[0]);
  ::close(ends[1]);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(found("BELLWETHER_TEST=one")) << "it is a zombie";
  EXPECT_TRUE(living_of(child, "no mark").pids.empty());
  ::waitpid(child, nullptr, 0);
}

TEST(LivingOfTest, does_not_miss_a_process_that_becomes_another_program) {
  const pid_t child = ::fork();
  if (child == 0) {
    const char* program = "exec sh -c \"$1\" sh \"$1\"";  // becomes itself for ever
    const char* argv[] = {"sh", "-c", program, "sh", program, nullptr};
    const char* environment[] = {"PATH=/bin:/usr/bin", "BELLWETHER_TEST=again", nullptr};
    ::execve("/bin/sh", const_cast<char**>(argv), const_cast<char**>(environment));
    ::_exit(1);
  }
  while (living_of(-1, "BELLWETHER_TEST=again").pids.empty()) ::sched_yield();
  int missed = 0;
  for (int i = 0; i < 500; ++i) {
    const Living living = living_of(-1, "BELLWETHER_TEST=again");
    if (living.complete && living.pids.empty()) ++missed;
  }
  EXPECT_EQ(missed, 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace bellwether::lead
