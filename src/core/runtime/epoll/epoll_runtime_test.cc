#include "core/runtime/epoll/epoll_runtime.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "core/runtime/full_queue_testing.h"
#include "core/runtime/scope.h"
#include "core/runtime/stream_testing.h"

namespace bellwether::runtime {
namespace {

using testing::HasSubstr;

const Endpoint kAnyPort{IpAddress::loopback(), 0};

class EpollRuntimeTest : public testing::Test {
 protected:
  Connected connected() { return runtime_->run(connect_loopback(*runtime_)); }
  Received received(Stream& stream, std::size_t most) { return runtime_->run(receive(stream, most)); }
  Result<std::unique_ptr<Stream>> connect(Endpoint to, Duration timeout = Duration::seconds(60),
                                          Cancellation* cancel = nullptr) {
    ConnectOptions options;
    options.timeout = timeout;
    return runtime_->run(runtime_->connect(to, options, cancel));
  }
  std::unique_ptr<EpollRuntime> runtime_ = test_runtime();
};

TEST_F(EpollRuntimeTest, large_transfers_both_ways_at_once_lose_nothing) {
  const Connected ends = connected();
  const std::string up = pattern(8 * kMegabyte, 1);
  const std::string down = pattern(8 * kMegabyte, 2);
  auto sending_up = send_all(*ends.client, up);
  auto sending_down = send_all(*ends.server, down);
  auto above = receive(*ends.server, up.size(), 100'000);
  EXPECT_TRUE(received(*ends.client, down.size()).bytes == down);
  EXPECT_TRUE(runtime_->run(std::move(above)).bytes == up);
  EXPECT_EQ(runtime_->run(std::move(sending_up)), Errc::kOk);
  EXPECT_EQ(runtime_->run(std::move(sending_down)), Errc::kOk);
}

TEST_F(EpollRuntimeTest, one_direction_can_end_before_the_other) {
  const Connected ends = connected();
  runtime_->run(send_all(*ends.client, "last words"));
  ends.client->finish_writing();
  const Received got = received(*ends.server, kMegabyte);
  EXPECT_EQ(got.bytes, "last words");
  EXPECT_TRUE(got.end);
  runtime_->run(send_all(*ends.server, "still here"));
  EXPECT_EQ(received(*ends.client, 10).bytes, "still here");
}

TEST_F(EpollRuntimeTest, a_connection_that_was_cut_is_reset) {
  Connected ends = connected();
  const linger at_once{1, 0};
  ::setsockopt(static_cast<SocketStream&>(*ends.server).socket(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ends.server.reset();
  EXPECT_EQ(received(*ends.client, 1).error, Errc::kReset);
  EXPECT_EQ(runtime_->run(send_all(*ends.client, "x")), Errc::kReset);
}

TEST_F(EpollRuntimeTest, closing_ends_the_connection_for_the_other_side) {
  Connected ends = connected();
  auto waiting = receive(*ends.client, 1);
  ends.server.reset();
  EXPECT_TRUE(runtime_->run(std::move(waiting)).end);
  EXPECT_FALSE(ends.client->idle_and_open());
}

TEST_F(EpollRuntimeTest, nobody_listening_is_refused) {
  const Endpoint gone = (*runtime_->listen(kAnyPort, {}))->local();
  const auto outcome = connect(gone);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::kRefused);
  EXPECT_THAT(outcome.error().message, HasSubstr(gone.to_string()));
}

TEST_F(EpollRuntimeTest, no_answer_is_a_timeout_and_can_be_cancelled) {
  const FullQueue full;
  const auto late = connect(full.endpoint(), Duration::millis(20));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kTimeout);
  EXPECT_THAT(late.error().message, HasSubstr("no answer within 20.0ms"));

  Cancellation cancel;
  auto connecting = runtime_->connect(full.endpoint(), {}, &cancel);
  EXPECT_FALSE(connecting.done());
  cancel.cancel();
  EXPECT_EQ(runtime_->run(std::move(connecting)).error().code, Errc::kCancelled);
  EXPECT_EQ(connect(full.endpoint(), Duration::seconds(60), &cancel).error().code, Errc::kCancelled);
}

TEST_F(EpollRuntimeTest, port_0_is_a_free_port_and_a_taken_one_is_told) {
  const auto listener = runtime_->listen(kAnyPort, {});
  ASSERT_TRUE(listener);
  EXPECT_NE((*listener)->local().port, 0);
  const auto second = runtime_->listen((*listener)->local(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kExists);
  EXPECT_THAT(second.error().message, HasSubstr((*listener)->local().to_string()));
  EXPECT_THAT(second.error().message, HasSubstr("choose another port"));
}

TEST_F(EpollRuntimeTest, a_shared_port_has_several_listeners) {
  ListenOptions shared;
  shared.share_port = true;
  const auto first = runtime_->listen(kAnyPort, shared);
  const auto second = runtime_->listen((*first)->local(), shared);
  ASSERT_TRUE(second);
  EXPECT_EQ((*first)->local(), (*second)->local());
}

TEST_F(EpollRuntimeTest, accepting_can_be_cancelled_and_taken_up_again) {
  const auto listener = *runtime_->listen(kAnyPort, {});
  Cancellation cancel;
  auto accepting = listener->accept(&cancel);
  EXPECT_FALSE(accepting.done());
  cancel.cancel();
  EXPECT_EQ(runtime_->run(std::move(accepting)).error().code, Errc::kCancelled);
  const auto client = connect(listener->local());
  EXPECT_TRUE(runtime_->run(listener->accept(nullptr)));
}

TEST_F(EpollRuntimeTest, connections_that_wait_are_all_accepted) {
  const auto listener = *runtime_->listen(kAnyPort, {});
  std::vector<std::unique_ptr<Stream>> kept;
  for (int i = 0; i < 20; ++i) kept.push_back(*connect(listener->local()));
  for (int i = 0; i < 20; ++i) kept.push_back(*runtime_->run(listener->accept(nullptr)));
  EXPECT_FALSE(listener->accept(nullptr).done());
}

// No descriptor can be opened while this lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next);
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST_F(EpollRuntimeTest, running_out_of_descriptors_is_told_and_passes) {
  const auto listener = *runtime_->listen(kAnyPort, {});
  const auto client = connect(listener->local());
  {
    const NoDescriptors none;
    EXPECT_EQ(EpollRuntime::create({}).error().code, Errc::kExhausted);
    const auto refused = connect(listener->local());
    EXPECT_EQ(refused.error().code, Errc::kExhausted);
    EXPECT_THAT(refused.error().message, HasSubstr("ulimit -n"));
    EXPECT_EQ(runtime_->listen(kAnyPort, {}).error().code, Errc::kExhausted);
    EXPECT_EQ(runtime_->bind_udp(kAnyPort).error().code, Errc::kExhausted);
    EXPECT_EQ(runtime_->run(listener->accept(nullptr)).error().code, Errc::kExhausted);
  }
  EXPECT_TRUE(runtime_->run(listener->accept(nullptr)));
}

TEST_F(EpollRuntimeTest, datagrams_are_sent_and_received) {
  const auto a = *runtime_->bind_udp(kAnyPort);
  const auto b = *runtime_->bind_udp(kAnyPort);
  std::array<std::byte, 8> buffer{};
  auto receiving = b->receive(buffer, nullptr);
  ASSERT_TRUE(a->send(b->local(), as_bytes("hello")));
  const auto got = runtime_->run(std::move(receiving));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->from, a->local());
  EXPECT_EQ(as_text(Bytes(buffer).first(got->size)), "hello");

  ASSERT_TRUE(a->send(b->local(), as_bytes("longer than the buffer")));
  EXPECT_EQ(runtime_->run(b->receive(buffer, nullptr))->size, 8U);
  ASSERT_TRUE(a->send(b->local(), {}));
  EXPECT_EQ(runtime_->run(b->receive(buffer, nullptr))->size, 0U);
}

TEST_F(EpollRuntimeTest, a_datagram_to_an_address_of_the_other_family_is_an_error) {
  auto socket = std::move(*runtime_->bind_udp({IpAddress::loopback(), 0}));
  const auto sent = socket->send({*IpAddress::parse("::1"), 9}, as_bytes(std::string_view("x")));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Errc::kUnreachable);
}

TEST_F(EpollRuntimeTest, a_datagram_to_nobody_does_not_spoil_the_socket) {
  const auto a = *runtime_->bind_udp(kAnyPort);
  const Endpoint nobody = (*runtime_->bind_udp(kAnyPort))->local();
  EXPECT_TRUE(a->send(nobody, as_bytes("x")));
  ASSERT_TRUE(a->send(a->local(), as_bytes("y")));
  std::array<std::byte, 8> buffer{};
  EXPECT_EQ(runtime_->run(a->receive(buffer, nullptr))->size, 1U);
}

TEST_F(EpollRuntimeTest, receiving_can_be_cancelled) {
  const auto socket = *runtime_->bind_udp(kAnyPort);
  Cancellation cancel;
  std::array<std::byte, 8> buffer{};
  auto receiving = socket->receive(buffer, &cancel);
  cancel.cancel();
  EXPECT_EQ(runtime_->run(std::move(receiving)).error().code, Errc::kCancelled);
}

}  // namespace
}  // namespace bellwether::runtime
