#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/local_cluster/folder.h"

namespace bellwether::local_cluster {
namespace {

// A process that waits to be ended.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ == 0) {
      while (true) ::pause();
    }
  }
  ~Sleeper() { end(); }
  pid_t pid() const { return pid_; }
  int end() {
    int status = 0;
    if (pid_ <= 0) return 0;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }

 private:
  pid_t pid_;
};

TEST(ProcessMark, a_process_is_known_again_and_can_be_signalled) {
  Sleeper sleeper;
  const ProcessMark mark = mark_of(sleeper.pid());
  EXPECT_TRUE(lives(mark));
  ASSERT_TRUE(signal_process(mark, SIGTERM));
  const int status = sleeper.wait();
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_FALSE(lives(mark));
  EXPECT_EQ(signal_process(mark, SIGTERM).error().code, Errc::kNotFound);
}

// The id alone is given to another process some day.
TEST(ProcessMark, another_process_of_that_id_is_left_alone) {
  Sleeper sleeper;
  const ProcessMark mark = mark_of(sleeper.pid());
  ProcessMark other = mark;
  ++other.start_time;
  EXPECT_FALSE(lives(other));
  EXPECT_EQ(signal_process(other, SIGKILL).error().code, Errc::kNotFound);
  other = mark;
  other.boot_id = "another one";
  EXPECT_EQ(signal_process(other, SIGKILL).error().code, Errc::kNotFound);
  other = mark;
  other.pid_namespace = "pid:[1]";
  EXPECT_EQ(signal_process(other, SIGKILL).error().code, Errc::kNotFound);
  EXPECT_FALSE(lives({}));
  EXPECT_TRUE(lives(mark));
}

}  // namespace
}  // namespace bellwether::local_cluster
