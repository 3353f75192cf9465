#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/stream_testing.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::runtime {
namespace {

class DescriptorWaitTest : public testing::Test {
 protected:
  DescriptorWaitTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = ends[0];
    theirs_ = ends[1];
  }
  ~DescriptorWaitTest() override {
    ::close(ours_);
    if (theirs_ >= 0) ::close(theirs_);
  }
  void send(std::string_view text) { ASSERT_EQ(::write(theirs_, text.data(), text.size()), ssize_t(text.size())); }
  void receive() {
    char buffer[64];
    ASSERT_GT(::read(ours_, buffer, sizeof buffer), 0);
  }
  void hang_up() { ::close(std::exchange(theirs_, -1)); }
  // Until no more fits in.
  void fill() {
    const std::string junk(65536, 'x');
    while (::write(ours_, junk.data(), junk.size()) > 0) {
    }
  }
  task<Result<Readiness>> wait(bool read, bool write, Instant deadline = Instant::never(),
                               Cancellation* cancel = nullptr) {
    return runtime_->wait_descriptor(ours_, read, write, deadline, cancel);
  }
  Result<Readiness> look(bool read, bool write) { return runtime_->run(wait(read, write, runtime_->now())); }

  std::unique_ptr<EpollRuntime> runtime_ = test_runtime();
  int ours_ = -1;
  int theirs_ = -1;
};

TEST_F(DescriptorWaitTest, what_comes_wakes_the_reader) {
  auto waiting = wait(true, false);
  EXPECT_EQ(look(true, false).error().code, Errc::kExists) << "one waits for a descriptor at a time";
  send("x");
  const auto ready = runtime_->run(std::move(waiting));
  ASSERT_TRUE(ready);
  EXPECT_TRUE(ready->readable);
  EXPECT_FALSE(ready->writable);
}

TEST_F(DescriptorWaitTest, each_wait_looks_anew) {
  send("x");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(runtime_->run(wait(true, false))->readable) << "nobody has read it";
  receive();
  EXPECT_EQ(look(true, false).error().code, Errc::kTimeout);
  send("y");
  EXPECT_TRUE(runtime_->run(wait(true, false))->readable);
}

TEST_F(DescriptorWaitTest, room_wakes_the_writer) {
  EXPECT_TRUE(runtime_->run(wait(true, true))->writable);
  fill();
  EXPECT_EQ(look(false, true).error().code, Errc::kTimeout);
  auto waiting = wait(true, true);
  char buffer[65536];
  while (::read(theirs_, buffer, sizeof buffer) > 0) {
  }
  const auto ready = runtime_->run(std::move(waiting));
  EXPECT_TRUE(ready->writable);
  EXPECT_FALSE(ready->readable);
}

TEST_F(DescriptorWaitTest, the_end_of_the_other_side_is_something_to_read) {
  auto waiting = wait(true, false);
  hang_up();
  EXPECT_TRUE(runtime_->run(std::move(waiting))->readable);
}

TEST_F(DescriptorWaitTest, a_deadline_ends_the_waiting) {
  const Instant deadline = runtime_->read_clock() + Duration::millis(5);
  EXPECT_EQ(runtime_->run(wait(true, false, deadline)).error().code, Errc::kTimeout);
  EXPECT_GE(runtime_->read_clock(), deadline);
}

TEST_F(DescriptorWaitTest, a_deadline_in_the_past_looks_once) {
  EXPECT_EQ(look(true, false).error().code, Errc::kTimeout);
  send("x");
  EXPECT_TRUE(look(true, false)->readable);
}

TEST_F(DescriptorWaitTest, waiting_is_cancelled) {
  Cancellation cancel;
  auto waiting = wait(true, false, Instant::never(), &cancel);
  cancel.cancel();
  EXPECT_EQ(runtime_->run(std::move(waiting)).error().code, Errc::kCancelled);
  send("x");
  EXPECT_EQ(runtime_->run(wait(true, false, Instant::never(), &cancel)).error().code, Errc::kCancelled);
}

TEST_F(DescriptorWaitTest, who_does_not_wait_any_more_is_forgotten) {
  { const auto forgotten = wait(true, false); }
  send("x");
  EXPECT_TRUE(runtime_->run(wait(true, false))->readable);
}

TEST_F(DescriptorWaitTest, what_cannot_be_waited_for_is_an_error) {
  const TemporaryFolder folder;
  const int file = ::open(folder.file("a", "x").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_FALSE(runtime_->run(runtime_->wait_descriptor(file, true, false, Instant::never(), nullptr)));
  ::close(file);
  EXPECT_FALSE(runtime_->run(runtime_->wait_descriptor(file, true, false, Instant::never(), nullptr)));
}

}  // namespace
}  // namespace bellwether::runtime
