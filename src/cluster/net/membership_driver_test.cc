#include "cluster/net/membership_driver.h"

#include <algorithm>
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "cluster/net/node_testing.h"
#include "core/runtime/stream_testing.h"

namespace bellwether::cluster {
namespace {

using membership::kMaxDatagram;
using membership::PacketHead;
using membership::PacketKind;
using membership::PacketReader;
using membership::PacketWriter;
using membership::Update;
using runtime::task;

constexpr uint8_t kMembers = 200;  // news of them fills dozens of packets

Update join_of(uint8_t number) {
  Update join{
      .kind = membership::UpdateKind::kJoin, .name = fmt::format("w{:03}", number), .profile = {}, .accusers = {}};
  join.node = membership::node_id(join.name);
  join.profile.endpoint = membership::Endpoint::v4({127, 0, 1, number}, 9);
  return join;
}

std::string packet_of(const PacketHead& head) {
  std::string bytes;
  PacketWriter writer(bytes);
  membership::write_head(writer, head);
  return bytes;
}

std::string joins_of_all() {
  std::string bytes = packet_of({.kind = PacketKind::kNews, .from = membership::node_id("m2")});
  for (uint8_t i = 0; i < kMembers; ++i) PacketWriter(bytes).update(join_of(i));
  return bytes;
}

// Looks at what m1 sends to m2.
struct Hearer {
  std::size_t largest = 0;
  std::size_t broken = 0;
  void on_datagram(const runtime::Endpoint&, uint64_t, Bytes text) {
    PacketReader in(as_text(text));
    PacketHead head;
    Update update;
    broken += membership::read_head(in, head) ? 0 : 1;
    while (in.update(update)) {
    }
    broken += in.ok() ? 0 : 1;
    largest = std::max(largest, text.size());
  }
  bool has_full_packet() const { return largest + size_of(join_of(0)) > kMaxDatagram; }
};

task<void> hear(link::Datagrams& datagrams, Hearer& hearer, runtime::Cancellation* cancel) {
  const Status ended = co_await datagrams.receive(callback_to<&Hearer::on_datagram>(hearer), cancel);
  static_cast<void>(ended);
}

std::unique_ptr<link::Datagrams> bind(TestNode& node, link::RefusalWatch& refusals) {
  auto made = link::Datagrams::bind(node.runtime, {runtime::IpAddress::loopback(), 0},
                                    {.self = node.dialling.handshake.self.identity}, node.keys, refusals);
  check(made.has_value(), "a free port can be bound");
  return std::move(*made);
}

// m1 hears of many members, and answers m2 with its news.
task<void> ask_for_news(TestNode& m1, TestNode& m2, Hearer& hearer) {
  constexpr int kMaxTries = 500;
  const auto own = bind(m1, m1.refusals);
  const auto theirs = bind(m2, m2.refusals);
  const membership::Endpoint from = from_runtime(theirs->local());
  const auto ignored = [](const MembershipNews&) {};
  MembershipDriver driver(m1.runtime, *own, *m1.links, m1.router,
                          {.name = "m1",
                           .profile = {.endpoint = from_runtime(own->local()), .role = 0, .meta = {}},
                           .life = 1,
                           .figures = membership::lan()},
                          1, ignored);
  runtime::Scope scope;
  scope.spawn(driver.run({}, true, scope.cancellation()));
  scope.spawn(hear(*theirs, hearer, scope.cancellation()));
  const std::string joins = joins_of_all();
  driver.tell(membership::DatagramArrived{from, joins});
  const std::string ping =
      packet_of({.kind = PacketKind::kPing, .from = membership::node_id("m2"), .to = membership::node_id("m1")});
  for (int tries = 0; tries < kMaxTries && !hearer.has_full_packet(); ++tries) {
    driver.tell(membership::DatagramArrived{from, ping});
    co_await m1.runtime.sleep(Duration::millis(10));
  }
  scope.cancel();
  co_await scope.join();
  co_await m1.close();
  co_await m2.close();
}

TEST(MembershipDriver, a_packet_that_is_full_of_news_arrives) {
  const auto runtime = runtime::test_runtime();
  TestNode m1(*runtime, "m1");
  TestNode m2(*runtime, "m2");
  Hearer hearer;
  runtime->run(ask_for_news(m1, m2, hearer));
  EXPECT_TRUE(hearer.has_full_packet()) << hearer.largest;
  EXPECT_LE(hearer.largest, kMaxDatagram);
  EXPECT_EQ(hearer.broken, 0U);
}

}  // namespace
}  // namespace bellwether::cluster
