#include "sim/tcp.h"

#include <gtest/gtest.h>

#include "sim/sim_testing.h"

namespace bellwether::sim {
namespace {

using runtime::Endpoint;
using runtime::Runtime;
using runtime::Stream;
using runtime::task;

constexpr uint16_t kPort = 80;

// One server that takes one connection, one client that makes it; each side sends, finishes, and reads to the end.
struct Exchange {
  Endpoint server;
  std::string request;
  std::string answer;
  bool server_reads = true;
  bool server_resets = false;
  bool accepts = true;
  Duration connect_timeout = Duration::seconds(100);
  Duration server_waits;

  Endpoint peer_of_server;
  Received at_server;
  Received at_client;
  Errc connected = Errc::kInvalid;
  Errc client_wrote = Errc::kInvalid;
  bool client_done = false;
};

task<void> serve(Runtime& runtime, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  auto listener = runtime.listen({runtime::IpAddress::any(), kPort}, {.backlog = 2});
  if (!exchange.accepts) {
    co_await runtime.sleep_until(Instant::never());
    co_return;
  }
  auto accepted = co_await (*listener)->accept(nullptr);
  Stream& stream = **accepted;
  exchange.peer_of_server = stream.peer();
  co_await runtime.sleep(exchange.server_waits);
  if (!exchange.server_reads) co_return;
  exchange.at_server = co_await read_all(stream);
  co_await write_all(stream, exchange.answer);
  if (exchange.server_resets) stream.reset_when_closed();
}

task<void> ask(Runtime& runtime, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  co_await runtime.sleep(Duration::millis(1));
  auto stream = co_await runtime.connect(exchange.server, {.timeout = exchange.connect_timeout}, nullptr);
  exchange.connected = stream ? Errc::kOk : stream.error().code;
  if (stream) {
    exchange.client_wrote = co_await write_all(**stream, exchange.request);
    (*stream)->finish_writing();
    exchange.at_client = co_await read_all(**stream);
  }
  exchange.client_done = true;
}

class TcpTest : public testing::TestWithParam<uint64_t> {
 protected:
  void start() {
    exchange_.server = {server_.address(), kPort};
    server_.start(&serve, &exchange_);
    client_.start(&ask, &exchange_);
  }
  bool client_ends(Duration within) {
    return world_.run_while_waiting(within, [this] { return exchange_.client_done; });
  }

  World world_{GetParam()};
  Exchange exchange_;
  Node& server_ = world_.add_node("server");
  Node& client_ = world_.add_node("client");
};

TEST_P(TcpTest, carries_bytes_both_ways_in_order) {
  exchange_.request = pattern(100'000);
  exchange_.answer = pattern(70'001);
  start();
  ASSERT_TRUE(client_ends(Duration::minutes(1)));
  EXPECT_TRUE(exchange_.at_server.text == pattern(100'000));
  EXPECT_TRUE(exchange_.at_client.text == pattern(70'001));
  EXPECT_EQ(exchange_.at_client.error, Errc::kOk);
  EXPECT_EQ(exchange_.peer_of_server.address, client_.address());
}

TEST_P(TcpTest, a_bad_network_delays_and_changes_nothing) {
  world_.network().set_links({.loss = 0.2, .duplicate = 0.1, .reorder = 0.2});
  exchange_.request = pattern(50'000);
  exchange_.answer = pattern(20'000);
  start();
  ASSERT_TRUE(client_ends(Duration::minutes(30)));
  EXPECT_TRUE(exchange_.at_server.text == pattern(50'000));
  EXPECT_TRUE(exchange_.at_client.text == pattern(20'000));
  EXPECT_EQ(exchange_.at_client.error, Errc::kOk);
}

TEST_P(TcpTest, a_partition_only_delays) {
  exchange_.request = pattern(60'000);
  exchange_.answer = "yes";
  start();
  world_.run_for(Duration::millis(2));
  world_.network().block(server_, client_);
  EXPECT_FALSE(client_ends(Duration::seconds(20)));
  world_.network().heal();
  ASSERT_TRUE(client_ends(Duration::minutes(3)));
  EXPECT_TRUE(exchange_.at_server.text == pattern(60'000));
  EXPECT_EQ(exchange_.at_client.text, "yes");
}

TEST_P(TcpTest, a_reader_that_waits_makes_the_writer_wait) {
  exchange_.request = pattern(200'000);
  exchange_.server_waits = Duration::seconds(50);
  start();
  world_.run_for(Duration::seconds(49));
  EXPECT_EQ(exchange_.client_wrote, Errc::kInvalid) << "the writer is done although nobody has read";
  ASSERT_TRUE(client_ends(Duration::minutes(3)));
  EXPECT_TRUE(exchange_.at_server.text == pattern(200'000));
}

TEST_P(TcpTest, a_port_where_nobody_listens_refuses) {
  start();
  exchange_.server.port = kPort + 1;
  ASSERT_TRUE(client_ends(Duration::seconds(1)));
  EXPECT_EQ(exchange_.connected, Errc::kRefused);
}

TEST_P(TcpTest, a_machine_without_power_is_silent) {
  exchange_.server = {server_.address(), kPort};
  exchange_.connect_timeout = Duration::seconds(7);
  client_.start(&ask, &exchange_);
  world_.run_for(Duration::seconds(6));
  EXPECT_FALSE(exchange_.client_done);
  world_.run_for(Duration::seconds(2));
  EXPECT_EQ(exchange_.connected, Errc::kTimeout);
}

TEST_P(TcpTest, the_kernel_gives_up_on_a_silent_machine_after_a_while) {
  exchange_.server = {server_.address(), kPort};
  exchange_.connect_timeout = Duration::hours(1);
  client_.start(&ask, &exchange_);
  ASSERT_TRUE(client_ends(Duration::minutes(5)));
  EXPECT_EQ(exchange_.connected, Errc::kTimeout);
}

TEST_P(TcpTest, a_peer_that_closes_without_reading_resets) {
  exchange_.request = pattern(50'000);
  exchange_.server_reads = false;
  exchange_.server_waits = Duration::seconds(1);
  start();
  ASSERT_TRUE(client_ends(Duration::minutes(1)));
  EXPECT_TRUE(exchange_.client_wrote == Errc::kReset || exchange_.at_client.error == Errc::kReset);
}

TEST_P(TcpTest, a_stream_that_is_told_to_resets_when_it_is_closed) {
  exchange_.server_resets = true;
  start();
  ASSERT_TRUE(client_ends(Duration::minutes(1)));
  EXPECT_EQ(exchange_.at_client.error, Errc::kReset);
}

TEST_P(TcpTest, a_killed_process_resets_or_finishes_its_connections) {
  exchange_.request = pattern(200'000);
  exchange_.server_waits = Duration::hours(1);
  start();
  world_.run_for(Duration::seconds(1));
  server_.kill();
  ASSERT_TRUE(client_ends(Duration::seconds(10)));
  EXPECT_EQ(exchange_.client_wrote, Errc::kReset);
}

TEST_P(TcpTest, a_machine_that_comes_back_resets_what_it_does_not_know) {
  exchange_.request = pattern(200'000);
  exchange_.server_waits = Duration::hours(1);
  start();
  world_.run_for(Duration::seconds(1));
  server_.lose_power();
  EXPECT_FALSE(client_ends(Duration::seconds(30))) << "a machine without power cannot say that it has none";
  server_.restart();
  ASSERT_TRUE(client_ends(Duration::minutes(5)));
  EXPECT_EQ(exchange_.client_wrote, Errc::kReset);
}

TEST_P(TcpTest, a_paused_process_keeps_its_connections) {
  exchange_.request = pattern(5'000);
  exchange_.answer = "late";
  start();
  world_.run_for(Duration::micros(500));
  server_.pause();
  EXPECT_FALSE(client_ends(Duration::minutes(1)));
  EXPECT_EQ(exchange_.connected, Errc::kOk) << "the kernel of a paused process still answers";
  EXPECT_EQ(exchange_.at_server.text.size(), 0u);
  server_.resume();
  ASSERT_TRUE(client_ends(Duration::seconds(10)));
  EXPECT_EQ(exchange_.at_client.text, "late");
}

INSTANTIATE_TEST_SUITE_P(Seeds, TcpTest, testing::Range<uint64_t>(1, 11));

}  // namespace
}  // namespace bellwether::sim
