#include "core/runtime/stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/runtime/task.h"

namespace bellwether::runtime {
namespace {

// A socket whose readiness the test announces by hand.
class HandDriven final : public Stream {
 public:
  explicit HandDriven(int fd) : Stream(fd) {}
  void finish_writing() override { ::shutdown(fd(), SHUT_WR); }
  using Stream::announce;
};

// A layer that upcases what it reads.
class Layer final : public Stream {
 public:
  explicit Layer(Stream& below) : Stream(&below), below_(below) {}
  void finish_writing() override { below_.finish_writing(); }
  using Stream::keep_readable;

 protected:
  Io do_read(MutableBytes into) override {
    const Io io = below_.try_read(into);
    for (std::byte& b : into.first(io.count)) b &= std::byte{0xdf};
    return io;
  }
  Io do_write(Bytes bytes) override { return below_.try_write(bytes); }

 private:
  Stream& below_;
};

class StreamTest : public testing::Test {
 protected:
  void SetUp() override {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    stream_ = std::make_unique<HandDriven>(fds[0]);
    peer_ = fds[1];
  }
  void TearDown() override {
    stream_.reset();
    if (peer_ >= 0) ::close(peer_);
  }
  void peer_sends(std::string_view text) {
    ASSERT_EQ(::write(peer_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    stream_->announce(true, false, false);
  }
  void peer_closes() {
    ::close(std::exchange(peer_, -1));
    stream_->announce(true, true, true);
  }
  Io read(Stream& from) { return from.try_read(buffer_); }

  std::array<std::byte, 8> buffer_{};
  std::unique_ptr<HandDriven> stream_;
  int peer_ = -1;
};

task<Errc> wait_to_read(Stream& stream) {
  const Errc why = co_await stream.readable();
  co_return why;
}
task<Errc> wait_to_write(Stream& stream) {
  const Errc why = co_await stream.writable();
  co_return why;
}
void stream_drain() { RunQueue::local().drain(1000); }

task<void> read_on_and_on(Stream& stream, int& reads) {
  while (true) {
    const Errc why = co_await stream.readable();
    if (why != Errc::kOk) co_return;
    ++reads;
  }
}

TEST_F(StreamTest, a_stream_that_is_always_readable_lets_others_have_their_turn) {
  stream_->announce(true, false, false);
  int reads = 0;
  const task<void> reader = read_on_and_on(*stream_, reads);
  const int at_first = reads;
  EXPECT_GT(at_first, 0);
  EXPECT_LT(at_first, 100);
  stream_drain();
  EXPECT_GT(reads, at_first) << "it goes on with the next turn";
  EXPECT_LT(reads, 2 * at_first + 2) << "and only as far as before";
  stream_->interrupt(Errc::kCancelled);
  stream_drain();
  EXPECT_TRUE(reader.done()) << "an interrupt ends it";
  EXPECT_TRUE(RunQueue::local().empty());
}

TEST_F(StreamTest, an_empty_socket_would_block) { EXPECT_EQ(read(*stream_).kind, Io::Kind::kWouldBlock); }

TEST_F(StreamTest, reads_what_was_sent_and_is_idle_again) {
  peer_sends("hello");
  EXPECT_FALSE(stream_->idle_and_open());
  const Io io = read(*stream_);
  EXPECT_EQ(io.kind, Io::Kind::kDone);
  EXPECT_EQ(as_text(Bytes(buffer_).first(io.count)), "hello");
  EXPECT_TRUE(stream_->idle_and_open());
}

TEST_F(StreamTest, a_read_that_fills_the_buffer_leaves_it_readable) {
  peer_sends("0123456789");
  EXPECT_EQ(read(*stream_).count, 8u);
  const task<Errc> waiting = wait_to_read(*stream_);
  EXPECT_TRUE(waiting.done());
  EXPECT_FALSE(stream_->idle_and_open());
}

TEST_F(StreamTest, a_reader_waits_for_the_announcement) {
  task<Errc> waiting = wait_to_read(*stream_);
  EXPECT_FALSE(waiting.done());
  peer_sends("x");
  stream_drain();
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.take(), Errc::kOk);
}

TEST_F(StreamTest, the_end_is_seen_after_the_last_byte_and_announced_once_is_enough) {
  peer_sends("bye");
  peer_closes();
  EXPECT_EQ(read(*stream_).count, 3u);
  const task<Errc> waiting = wait_to_read(*stream_);
  EXPECT_TRUE(waiting.done()) << "no second announcement will come";
  EXPECT_EQ(read(*stream_).kind, Io::Kind::kEnd);
  EXPECT_FALSE(stream_->idle_and_open());
}

TEST_F(StreamTest, writing_to_a_closed_peer_is_a_reset) {
  peer_closes();
  const Io io = stream_->try_write(as_bytes("x"));
  EXPECT_EQ(io.kind, Io::Kind::kError);
  EXPECT_EQ(io.error, Errc::kReset);
}

TEST_F(StreamTest, a_full_socket_would_block_and_wakes_its_writer) {
  stream_->announce(false, true, false);
  const std::vector<std::byte> much(1 << 20);
  Io io;
  while ((io = stream_->try_write(much)).kind == Io::Kind::kDone) {
  }
  EXPECT_EQ(io.kind, Io::Kind::kWouldBlock);
  task<Errc> waiting = wait_to_write(*stream_);
  EXPECT_FALSE(waiting.done());
  stream_->announce(false, true, false);
  stream_drain();
  EXPECT_TRUE(waiting.done());
}

TEST_F(StreamTest, interrupting_ends_waits_until_it_is_cleared) {
  task<Errc> reader = wait_to_read(*stream_);
  task<Errc> writer = wait_to_write(*stream_);
  stream_->interrupt(Errc::kTimeout);
  stream_drain();
  ASSERT_TRUE(reader.done() && writer.done());
  EXPECT_EQ(reader.take(), Errc::kTimeout);
  EXPECT_EQ(writer.take(), Errc::kTimeout);
  EXPECT_TRUE(wait_to_read(*stream_).done());
  stream_->clear_interrupt();
  EXPECT_FALSE(wait_to_read(*stream_).done());
}

TEST_F(StreamTest, a_reader_that_is_destroyed_is_forgotten) {
  { const task<Errc> waiting = wait_to_read(*stream_); }
  peer_sends("x");
  EXPECT_TRUE(RunQueue::local().empty());
}

TEST_F(StreamTest, a_layer_shares_the_readiness_and_interruption_of_the_stream_below) {
  Layer layer(*stream_);
  task<Errc> waiting = wait_to_read(layer);
  peer_sends("abc");
  stream_drain();
  ASSERT_TRUE(waiting.done());
  EXPECT_FALSE(layer.idle_and_open());
  EXPECT_EQ(read(layer).count, 3u);
  EXPECT_EQ(as_text(Bytes(buffer_).first(3)), "ABC");
  EXPECT_TRUE(layer.idle_and_open());

  layer.interrupt(Errc::kCancelled);
  EXPECT_EQ(layer.interrupted(), Errc::kCancelled);
  EXPECT_EQ(stream_->interrupted(), Errc::kCancelled);
  layer.clear_interrupt();
  EXPECT_EQ(stream_->interrupted(), Errc::kOk);
}

TEST_F(StreamTest, a_layer_that_holds_bytes_stays_readable) {
  Layer layer(*stream_);
  layer.keep_readable();
  EXPECT_FALSE(layer.idle_and_open());
  EXPECT_TRUE(wait_to_read(layer).done());
}

}  // namespace
}  // namespace bellwether::runtime
