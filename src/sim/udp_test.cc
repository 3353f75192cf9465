#include <gmock/gmock.h>

#include "sim/sim_testing.h"
#include "sim/sockets.h"

namespace bellwether::sim {
namespace {

using runtime::Endpoint;
using runtime::Runtime;
using runtime::task;
using testing::ElementsAre;

// Receives until it is killed; what came, as "sender:text".
struct Ear {
  std::vector<std::string> heard;
};

task<void> hear(Runtime& runtime, void* context) {
  auto socket = runtime.bind_udp({runtime::IpAddress::any(), 9000});
  std::byte buffer[8];
  while (true) {
    auto datagram = co_await (*socket)->receive(buffer, nullptr);
    static_cast<Ear*>(context)->heard.push_back(datagram->from.address.to_string() + ":" +
                                                std::string(as_text(Bytes(buffer).first(datagram->size))));
  }
}

struct Mouth {
  Endpoint to;
  std::vector<std::string> words;
};

task<void> speak(Runtime& runtime, void* context) {
  auto& mouth = *static_cast<Mouth*>(context);
  auto socket = runtime.bind_udp({runtime::IpAddress::any(), 0});
  for (const std::string& word : mouth.words) {
    co_await runtime.sleep(Duration::millis(5));
    if (!(*socket)->send(mouth.to, as_bytes(word))) mouth.words.clear();
  }
}

class UdpTest : public testing::Test {
 protected:
  void run(std::vector<std::string> words) {
    mouth_ = {{hearer_.address(), 9000}, std::move(words)};
    hearer_.start(&hear, &ear_);
    speaker_.start(&speak, &mouth_);
    world_.run_for(Duration::minutes(1));
  }

  World world_{7};
  Ear ear_;
  Mouth mouth_;
  Node& speaker_ = world_.add_node("speaker");
  Node& hearer_ = world_.add_node("hearer");
};

TEST_F(UdpTest, a_datagram_arrives_with_its_sender) {
  run({"one", "two"});
  EXPECT_THAT(ear_.heard, ElementsAre("10.0.0.1:one", "10.0.0.1:two"));
}

TEST_F(UdpTest, a_long_datagram_is_cut_to_the_buffer) {
  run({"123456789"});
  EXPECT_THAT(ear_.heard, ElementsAre("10.0.0.1:12345678"));
}

TEST_F(UdpTest, nothing_arrives_over_a_network_that_loses_everything) {
  world_.network().set_links({.loss = 1});
  run({"one", "two"});
  EXPECT_THAT(ear_.heard, ElementsAre());
}

TEST_F(UdpTest, everything_arrives_twice_over_a_network_that_repeats) {
  world_.network().set_links({.duplicate = 1});
  run({"one"});
  EXPECT_THAT(ear_.heard, ElementsAre("10.0.0.1:one", "10.0.0.1:one"));
}

TEST_F(UdpTest, a_slow_link_lets_later_datagrams_come_first) {
  world_.network().set_links({.reorder = 0.5, .reorder_max = Duration::seconds(1)});
  std::vector<std::string> words;
  std::vector<std::string> in_order;
  for (int i = 0; i < 20; ++i) {
    words.push_back(std::to_string(i));
    in_order.push_back("10.0.0.1:" + words.back());
  }
  run(words);
  EXPECT_THAT(ear_.heard, testing::UnorderedElementsAreArray(in_order));
  EXPECT_THAT(ear_.heard, testing::Not(testing::ElementsAreArray(in_order)));
}

TEST_F(UdpTest, a_paused_process_hears_it_later) {
  hearer_.start(&hear, &ear_);
  world_.run_for(Duration::millis(1));
  hearer_.pause();
  mouth_ = {{hearer_.address(), 9000}, {"early"}};
  speaker_.start(&speak, &mouth_);
  world_.run_for(Duration::seconds(10));
  EXPECT_THAT(ear_.heard, ElementsAre());
  hearer_.resume();
  world_.run_for(Duration::millis(1));
  EXPECT_THAT(ear_.heard, ElementsAre("10.0.0.1:early"));
}

TEST_F(UdpTest, one_socket_a_port) {
  struct Pair {
    Errc first = Errc::kInvalid;
    Errc second = Errc::kInvalid;
  } pair;
  const auto bind_twice = [](Runtime& runtime, void* context) -> task<void> {
    auto& errors = *static_cast<Pair*>(context);
    const auto first = runtime.bind_udp({runtime::IpAddress::any(), 5});
    const auto second = runtime.bind_udp({runtime::IpAddress::any(), 5});
    errors.first = first ? Errc::kOk : first.error().code;
    errors.second = second ? Errc::kOk : second.error().code;
    co_return;
  };
  speaker_.start(bind_twice, &pair);
  world_.run_for(Duration::millis(1));
  EXPECT_EQ(pair.first, Errc::kOk);
  EXPECT_EQ(pair.second, Errc::kExists);
}

}  // namespace
}  // namespace bellwether::sim
