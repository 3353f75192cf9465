#include "jobs/assignment/assignment_socket.h"

#include <array>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/runtime/stream_testing.h"
#include "jobs/assignment/assignment_order.h"

namespace bellwether::node {
namespace {

class AssignmentSocketTest : public testing::Test {
 protected:
  AssignmentSocketTest() {
    check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) == 0, "the test has descriptors left");
    socket_ = take(ends_[0]);
  }
  ~AssignmentSocketTest() override {
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  std::unique_ptr<AssignmentSocket> take(int fd) {
    auto socket = AssignmentSocket::take(*runtime_, fd);
    check(socket.has_value(), "that is a socket");
    return std::move(*socket);
  }
  // What another process writes, as it is.
  void other_writes(std::string_view bytes) {
    check(::write(ends_[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "a socket takes that");
  }
  void other_ends() { ::close(std::exchange(ends_[1], -1)); }
  Result<std::string> read() { return runtime_->run(socket_->read(nullptr)); }

  std::unique_ptr<runtime::EpollRuntime> runtime_ = runtime::test_runtime();
  std::array<int, 2> ends_{};
  std::unique_ptr<AssignmentSocket> socket_;
};

TEST_F(AssignmentSocketTest, frames_that_come_in_pieces_are_whole) {
  other_writes(std::string_view("\0\0\0\3ab", 6));
  auto reading = socket_->read(nullptr);
  other_writes(std::string_view("c\0\0\0\1", 5));
  EXPECT_EQ(*runtime_->run(std::move(reading)), "abc");
  other_writes("d");
  EXPECT_EQ(*read(), "d");
}

runtime::task<bool> carry(AssignmentSocket* from, AssignmentSocket* to, std::string text) {
  from->write(text);
  from->write("and one more");
  check(from->waiting() > text.size() / 2, "a socket does not hold as much");
  auto flushing = from->flush();
  auto first = co_await to->read(nullptr);
  auto second = co_await to->read(nullptr);
  co_await flushing;
  co_return first.has_value() && *first == text&& second.has_value() && *second == "and one more" &&
      from->waiting() == 0;
}
TEST_F(AssignmentSocketTest, the_largest_frame_waits_here_until_the_other_end_takes_it) {
  const auto other = take(std::exchange(ends_[1], -1));
  EXPECT_TRUE(runtime_->run(carry(socket_.get(), other.get(), runtime::pattern(kMaxAssignmentFrame))));
}

TEST_F(AssignmentSocketTest, an_end_is_told_also_in_the_middle_of_a_frame) {
  other_writes(std::string_view("\0\0\0\1x\0\0\0\3ab", 11));
  other_ends();
  EXPECT_EQ(*read(), "x");
  EXPECT_EQ(read().error().code, Errc::kClosed);
}

TEST_F(AssignmentSocketTest, frames_of_no_bytes_or_too_many_are_refused) {
  other_writes(std::string_view("\0\0\0\0", 4));
  EXPECT_EQ(read().error().code, Errc::kProtocol);
  std::array<int, 2> more{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, more.data()), 0);
  const auto other = take(more[0]);
  ASSERT_EQ(::write(more[1], "\x02\0\0\0", 4), 4);
  EXPECT_EQ(runtime_->run(other->read(nullptr)).error().code, Errc::kProtocol);
  ::close(more[1]);
}

TEST_F(AssignmentSocketTest, writing_to_one_that_is_gone_is_for_nothing) {
  other_ends();
  socket_->write("x");
  runtime_->run(socket_->flush());
  EXPECT_EQ(socket_->waiting(), 0u);
  socket_->write("y");
  EXPECT_EQ(socket_->waiting(), 0u);
}

TEST_F(AssignmentSocketTest, what_is_no_stream_socket_is_refused) {
  EXPECT_EQ(AssignmentSocket::take(*runtime_, STDERR_FILENO).error().code, Errc::kInvalid);
  EXPECT_EQ(AssignmentSocket::take(*runtime_, 9999).error().code, Errc::kInvalid);
}

}  // namespace
}  // namespace bellwether::node
