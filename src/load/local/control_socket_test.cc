#include "load/local/control_socket.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::node {
namespace {

class ControlSocketTest : public testing::Test {
 protected:
  // `ask` runs in a separate thread while the socket is served.
  template <class Ask>
  void serve(Ask ask) {
    auto socket = ControlSocket::open(*runtime_, folder_, "one.sock", echo_);
    ASSERT_TRUE(socket) << socket.error().message;
    runtime::Cancellation cancel;
    struct Done {
      runtime::Cancellation* cancel;
    } done{&cancel};
    std::thread asker([&] {
      ask((*socket)->path());
      runtime_->post([](void* self) { static_cast<Done*>(self)->cancel->cancel(); }, &done);
    });
    runtime_->run((*socket)->serve(&cancel));
    asker.join();
  }

  std::unique_ptr<runtime::EpollRuntime> runtime_ = std::move(*runtime::EpollRuntime::create({}));
  runtime::TemporaryFolder temporary_;
  std::string folder_ = temporary_.path() + "/runs";
  static constexpr auto echo_ = [](std::string_view line) { return "heard: " + std::string(line); };
};

TEST_F(ControlSocketTest, a_line_is_answered_with_a_line) {
  serve([](const std::string& path) {
    for (const std::string& text : {std::string("hello"), std::string(60'000, 'x')}) {
      const auto answer = ask_control(path, text, Duration::seconds(20));
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(*answer, "heard: " + text);
    }
  });
  EXPECT_EQ(ask_control(folder_ + "/one.sock", "hello", Duration::seconds(20)).error().code, Errc::kNotFound)
      << "it is gone with whoever made it";
}

TEST_F(ControlSocketTest, a_line_without_end_is_not_answered) {
  serve([](const std::string& path) {
    const auto answer = ask_control(path, std::string(kMaxControlLine + 5000, 'x'), Duration::seconds(20));
    ASSERT_FALSE(answer);
  });
}

TEST_F(ControlSocketTest, it_is_for_its_owner_alone) {
  serve([this](const std::string& path) {
    struct stat about {};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
    ASSERT_EQ(::stat(folder_.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0700u);
  });
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  const auto socket = ControlSocket::open(*runtime_, folder_, "one.sock", echo_);
  ASSERT_FALSE(socket) << "others could put theirs in its place";
  EXPECT_EQ(socket.error().code, Errc::kRefused);
}

TEST_F(ControlSocketTest, a_path_that_is_too_long_is_told) {
  const auto socket = ControlSocket::open(*runtime_, folder_, std::string(120, 'n'), echo_);
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, Errc::kInvalid);
}

TEST_F(ControlSocketTest, what_a_killed_process_left_is_replaced) {
  ASSERT_EQ(::mkdir(folder_.c_str(), 0700), 0);
  const int fd = ::open((folder_ + "/one.sock").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  ::close(fd);
  serve([](const std::string& path) { EXPECT_TRUE(ask_control(path, "hello", Duration::seconds(20))); });
}

}  // namespace
}  // namespace bellwether::node
