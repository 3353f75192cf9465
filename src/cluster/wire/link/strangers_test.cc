// A server's treatment of peers that do not belong to the cluster, in simulated time.

#include <algorithm>
#include <gmock/gmock.h>

#include "cluster/wire/big_endian.h"
#include "cluster/wire/link/link_testing.h"
#include "cluster/wire/link/stream_io.h"
#include "sim/sim_testing.h"

namespace bellwether::link {
namespace {

using runtime::Endpoint;
using runtime::IpAddress;
using runtime::Runtime;
using runtime::task;
using wire::Refusal;
using wire::Role;

constexpr uint16_t kStrangersPort = 7000;

// The manager's process. What is seen of it stays when it is gone.
struct Manager {
  ServerSettings settings;
  wire::Keyring keys = test_keyring();
  EchoHandler handler;
  RefusalWatch refusals;
  Server* server = nullptr;
};

task<void> manage(Runtime& runtime, void* context) {
  auto& manager = *static_cast<Manager*>(context);
  auto server = Server::listen(runtime, {IpAddress::any(), kStrangersPort}, manager.settings, manager.keys,
                               manager.handler, manager.refusals);
  manager.server = server->get();
  co_await (*server)->serve(nullptr);
}

// Somebody who connects, sends these bytes one after the other, and listens until the end.
struct Stranger {
  Endpoint to;
  std::vector<std::string> says;
  Duration between;
  bool finishes = false;
  std::string heard;
  bool ended = false;
  Duration lasted;
};

task<void> talk(Runtime& runtime, Stranger& stranger) {
  const Instant from = runtime.now();
  auto stream = co_await runtime.connect(stranger.to, {}, nullptr);
  if (!stream) co_return;
  for (const std::string& text : stranger.says) {
    const Errc wrote = co_await sim::write_all(**stream, text);
    if (wrote != Errc::kOk) break;
    co_await runtime.sleep(stranger.between);
  }
  if (stranger.finishes) (*stream)->finish_writing();
  const sim::Received received = co_await sim::read_all(**stream);
  stranger.heard = received.text;
  stranger.ended = true;
  stranger.lasted = runtime.now() - from;
}

task<void> come(Runtime& runtime, void* context) {
  co_await runtime.sleep(Duration::millis(1));
  co_await talk(runtime, *static_cast<Stranger*>(context));
}

// A worker that asks again and again, and counts.
struct Worker {
  Endpoint to;
  wire::Keyring keys = test_keyring();
  EchoHandler handler;
  RefusalWatch refusals;
  DialSettings settings;
  uint64_t answers = 0;
  Duration slowest;
};

task<void> keep(Connection& connection) {
  const Error why = co_await connection.run(nullptr);
  static_cast<void>(why);
}

task<void> work(Runtime& runtime, void* context) {
  auto& worker = *static_cast<Worker*>(context);
  co_await runtime.sleep(Duration::millis(1));
  auto connection =
      co_await dial(runtime, worker.to, "m1", worker.settings, worker.keys, worker.handler, worker.refusals, nullptr);
  if (!connection) co_return;
  runtime::Scope scope;
  scope.spawn(keep(**connection));
  std::vector<std::byte> answer;
  while (true) {
    const Instant from = runtime.now();
    const auto status =
        co_await (*connection)->request({.type = 1, .body = as_bytes("work")}, from + Duration::seconds(60), answer);
    if (!status) break;
    ++worker.answers;
    worker.slowest = std::max(worker.slowest, runtime.now() - from);
    co_await runtime.sleep(Duration::millis(10));
  }
  co_await scope.join();
}

class StrangersTest : public testing::TestWithParam<uint64_t> {
 protected:
  StrangersTest() {
    manager_.settings.handshake = test_node("m1", Role::kManager);
    worker_.settings.handshake = test_node("w1", Role::kWorker);
  }
  void start_manager() {
    worker_.to = {server_.address(), kStrangersPort};
    server_.start(&manage, &manager_);
  }
  // One stranger, until it has been sent away.
  Stranger meet(std::vector<std::string> says, Duration between = Duration::zero(), bool finishes = false) {
    start_manager();
    Stranger stranger{
        .to = {server_.address(), kStrangersPort}, .says = std::move(says), .between = between, .finishes = finishes};
    client_.start(&come, &stranger);
    EXPECT_TRUE(world_.run_while_waiting(Duration::minutes(1), [&] { return stranger.ended; }));
    world_.run_for(Duration::seconds(1));
    EXPECT_TRUE(manager_.handler.opened.empty()) << "nothing was told of it";
    EXPECT_EQ(manager_.server->strangers(), 0U);
    client_.kill();
    return stranger;
  }
  void expect_refused(const Stranger& stranger, Refusal refusal) {
    EXPECT_EQ(stranger.heard, "") << "no detail for strangers";
    EXPECT_EQ(manager_.refusals.counts().of(refusal), 1U) << to_string(refusal);
    EXPECT_EQ(manager_.refusals.counts().total(), 1U);
  }
  static std::string hello_of(const wire::HandshakeSettings& settings, const wire::Keyring& keys) {
    Prng prng(1);
    const wire::Opener opener(settings, keys, wire::SessionId::draw({}, prng));
    return std::string(as_text(framed(opener.hello())));
  }

  // What processes refer to outlives them, and so the world.
  Manager manager_;
  Worker worker_;
  sim::World world_{GetParam()};
  sim::Node& server_ = world_.add_node("server");
  sim::Node& client_ = world_.add_node("client");
  sim::Node& other_ = world_.add_node("other");
};

TEST_P(StrangersTest, another_protocol_is_sent_away) {
  expect_refused(meet({"GET / HTTP/1.1\r\nHost: m1\r\n\r\n"}), Refusal::kOversized);
}

TEST_P(StrangersTest, an_empty_frame_is_sent_away) {
  expect_refused(meet({std::string("\0\0\0\0rest", 8)}), Refusal::kGarbage);
}

TEST_P(StrangersTest, a_frame_above_the_limit_of_strangers_is_sent_away) {
  expect_refused(meet({std::string("\0\0\x10\x01", 4)}), Refusal::kOversized);
}

TEST_P(StrangersTest, bytes_that_are_no_envelope_are_sent_away) {
  expect_refused(meet({std::string("\0\0\0\x50", 4) + std::string(0x50, 'x')}), Refusal::kFormat);
}

TEST_P(StrangersTest, a_hello_that_is_cut_off_is_sent_away) {
  const std::string hello = hello_of(worker_.settings.handshake, worker_.keys);
  expect_refused(meet({hello.substr(0, hello.size() - 1)}, Duration::zero(), true), Refusal::kTruncated);
}

TEST_P(StrangersTest, a_hello_that_was_changed_is_sent_away) {
  std::string hello = hello_of(worker_.settings.handshake, worker_.keys);
  hello[70] = static_cast<char>(hello[70] ^ 1);
  expect_refused(meet({hello}), Refusal::kForged);
}

TEST_P(StrangersTest, silence_ends_after_the_time_for_a_handshake) {
  const Stranger stranger = meet({});
  expect_refused(stranger, Refusal::kTimeout);
  EXPECT_GE(stranger.lasted, Duration::seconds(5));
  EXPECT_LE(stranger.lasted, Duration::seconds(8));
}

TEST_P(StrangersTest, one_byte_at_a_time_does_not_make_the_time_longer) {
  const std::string hello = hello_of(worker_.settings.handshake, worker_.keys);
  std::vector<std::string> bytes;
  for (const char c : hello) bytes.emplace_back(1, c);
  const Stranger stranger = meet(bytes, Duration::millis(200));
  EXPECT_EQ(stranger.heard, "");
  EXPECT_EQ(manager_.refusals.counts().of(Refusal::kTimeout), 1U);
}

TEST_P(StrangersTest, a_copied_hello_is_answered_and_leads_nowhere) {
  const Stranger stranger = meet({hello_of(worker_.settings.handshake, worker_.keys)});
  EXPECT_FALSE(stranger.heard.empty()) << "the welcome, which the copier cannot read";
  EXPECT_EQ(manager_.refusals.counts().of(Refusal::kTimeout), 1U) << "no frame followed that opens";
}

TEST_P(StrangersTest, a_copied_hello_with_guessed_frames_is_sent_away) {
  std::string frame("\0\0\0\x30", 4);
  const Stranger stranger =
      meet({hello_of(worker_.settings.handshake, worker_.keys), frame + std::string(0x30, 'x')}, Duration::millis(50));
  EXPECT_EQ(manager_.refusals.counts().of(Refusal::kForged), 1U);
}

TEST_P(StrangersTest, a_crowd_of_silent_ones_does_not_keep_a_worker_out) {
  manager_.settings.strangers = 8;
  manager_.settings.rate = {.per_source = 1e6, .burst = 1e6, .in_all = 1e6, .burst_in_all = 1e6, .sources = 64};
  start_manager();
  struct Crowd {
    Endpoint to;
    std::vector<std::unique_ptr<Stranger>> members;
  } crowd{{server_.address(), kStrangersPort}, {}};
  const auto gather = [](Runtime& runtime, void* context) -> task<void> {
    auto& all = *static_cast<Crowd*>(context);
    runtime::Scope scope;
    for (int i = 0; i < 100; ++i) {
      all.members.push_back(std::make_unique<Stranger>(Stranger{.to = all.to, .says = {"\x01"}, .between = {}}));
      scope.spawn(talk(runtime, *all.members.back()));
      co_await runtime.sleep(Duration::millis(10));
    }
    co_await scope.join();
  };
  other_.start(gather, &crowd);
  world_.run_for(Duration::millis(200));
  client_.start(&work, &worker_);
  world_.run_for(Duration::seconds(3));
  EXPECT_GT(worker_.answers, 50U);
  EXPECT_LE(manager_.server->strangers(), 8U);
  const auto sent_away = [](const auto& one) { return one->ended; };
  EXPECT_GE(std::count_if(crowd.members.begin(), crowd.members.end(), sent_away), 80);
  EXPECT_GE(manager_.refusals.counts().of(Refusal::kCrowded), 80U);
  EXPECT_EQ(manager_.refusals.counts().of(Refusal::kTruncated), 0U) << "each is counted once";
  other_.kill();
}

TEST_P(StrangersTest, a_flood_of_connections_from_one_address_is_cut_and_another_address_is_served) {
  start_manager();
  struct Flood {
    Endpoint to;
    uint64_t made = 0;
  } flood{{server_.address(), kStrangersPort}, 0};
  const auto pour = [](Runtime& runtime, void* context) -> task<void> {
    auto& one = *static_cast<Flood*>(context);
    while (true) {
      auto stream = co_await runtime.connect(one.to, {}, nullptr);
      ++one.made;
      if (stream) (*stream)->reset_when_closed();
    }
  };
  other_.start(pour, &flood);
  client_.start(&work, &worker_);
  world_.run_for(Duration::seconds(5));
  EXPECT_GT(flood.made, 1000U);
  EXPECT_GT(manager_.refusals.counts().of(Refusal::kRateLimited), flood.made / 3);
  EXPECT_GT(worker_.answers, 100U);
  other_.kill();
}

TEST_P(StrangersTest, a_worker_survives_a_bad_network) {
  world_.network().set_links({.loss = 0.05, .duplicate = 0.05, .reorder = 0.1});
  start_manager();
  client_.start(&work, &worker_);
  world_.run_for(Duration::seconds(60));
  EXPECT_GT(worker_.answers, 200U);
  EXPECT_EQ(manager_.refusals.counts().total(), 0U);
}

TEST_P(StrangersTest, both_ends_notice_that_the_other_one_is_gone) {
  start_manager();
  client_.start(&work, &worker_);
  world_.run_for(Duration::seconds(2));
  ASSERT_EQ(manager_.handler.opened.size(), 1U);
  world_.network().block_both_ways(server_, client_);
  world_.run_for(Duration::seconds(16));
  ASSERT_EQ(worker_.handler.closed.size(), 1U);
  EXPECT_EQ(worker_.handler.closed[0].code, Errc::kTimeout);
  EXPECT_EQ(manager_.handler.closed.size(), 1U);
}

TEST_P(StrangersTest, the_same_seed_gives_the_same_run) {
  const auto fingerprint = [] {
    Manager manager;
    manager.settings.handshake = test_node("m1", Role::kManager);
    Worker worker;
    worker.settings.handshake = test_node("w1", Role::kWorker);
    sim::World world(GetParam());
    sim::Node& server = world.add_node("server");
    worker.to = {server.address(), kStrangersPort};
    server.start(&manage, &manager);
    world.add_node("client").start(&work, &worker);
    world.run_for(Duration::seconds(10));
    return world.fingerprint();
  };
  EXPECT_EQ(fingerprint(), fingerprint());
}

INSTANTIATE_TEST_SUITE_P(Seeds, StrangersTest, testing::Values(1, 2, 3));

}  // namespace
}  // namespace bellwether::link
