#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "cluster/net/message_classes.h"
#include "cluster/net/message_router.h"
#include "core/base/time_testing.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "sim/machine_testing.h"

namespace bellwether::cluster {
namespace {

using resilience::LoadState;
using resilience::Operation;
using resilience::Urgency;
using wire::Role;

wire::Identity who(std::string name, Role role) { return {.node = std::move(name), .role = role}; }

class AdmissionControlTest : public sim::MachineTest {
 protected:
  void on_load_changed(LoadState state, std::string_view reason) {
    changes.push_back(std::string(to_string(state)) + " " + std::string(reason));
  }
  std::optional<wire::Busy> ask(double when, const std::string& name, Role role, const dispatch::JobMessage& message) {
    const std::string body = dispatch::encode(message);
    return kernel_.turns_away_at(at_seconds(when), who(name, role), message_type::kDispatch, as_bytes(body));
  }
  void fill(double queue) {
    kernel_.on_queue(queue);
    for (int i = 0; i < 2; ++i) kernel_.on_loop_lag(0);
  }

  std::vector<std::string> changes;
  const MessageClasses classes_{&message::message_of<dispatch::JobMessage>()};
  AdmissionControl kernel_{runtime_, classes_, callback_to<&AdmissionControlTest::on_load_changed>(*this)};
};

TEST_F(AdmissionControlTest, a_healthy_node_takes_in_what_stays_within_its_limits) {
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(ask(0, "c1", Role::kClient, dispatch::Submit()));
  const auto busy = ask(1, "c1", Role::kClient, dispatch::Submit());
  ASSERT_TRUE(busy);
  EXPECT_GE(busy->again_after, Duration::seconds(9));
  EXPECT_EQ(busy->why, "'c1' has used its share: 50 requests (submit) in 10s");
  EXPECT_FALSE(ask(1, "c1", Role::kClient, dispatch::Watch()));
  EXPECT_FALSE(ask(1, "c2", Role::kClient, dispatch::Submit()));
  EXPECT_EQ(kernel_.counts().limited[static_cast<std::size_t>(Operation::kSubmit)], 1);
  EXPECT_EQ(kernel_.counts().admitted[static_cast<std::size_t>(Urgency::kHigh)], 51);
}

TEST_F(AdmissionControlTest, each_state_turns_away_what_it_cannot_bear) {
  const std::vector<dispatch::JobMessage> messages = {dispatch::Cancel(), dispatch::Submit(), dispatch::Watch(),
                                                      dispatch::ListJobs()};
  const std::vector<std::pair<double, std::size_t>> states = {{0.0, 4}, {0.75, 3}, {0.9, 2}, {1.0, 1}};
  for (const auto& [queue, passing] : states) {
    fill(queue);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const auto busy = ask(0, "c", Role::kClient, messages[i]);
      EXPECT_EQ(busy.has_value(), i >= passing) << queue << ", " << i;
      if (busy) {
        EXPECT_GE(busy->again_after, Duration::seconds(1));
      }
    }
  }
  EXPECT_THAT(changes, testing::ElementsAre("busy queue", "stressed queue", "overloaded queue"));
  EXPECT_EQ(ask(0, "c", Role::kClient, dispatch::Submit())->why, "the node is overloaded (queue)");
}

TEST_F(AdmissionControlTest, a_thousand_clients_flood_and_what_keeps_a_run_alive_passes) {
  fill(0.9);
  ASSERT_EQ(kernel_.state(), LoadState::kStressed);
  int passed = 0;
  Duration shortest = Duration::max();
  Duration longest;
  for (int second = 0; second < 10; ++second) {
    for (int client = 0; client < 1'000; ++client) {
      const std::string name = "c" + std::to_string(client);
      for (int i = 0; i < 5; ++i) {
        const auto busy = ask(second, name, Role::kClient, dispatch::Submit());
        passed += busy ? 0 : 1;
        if (busy) {
          shortest = std::min(shortest, busy->again_after);
          longest = std::max(longest, busy->again_after);
        }
      }
      EXPECT_TRUE(ask(second, name, Role::kClient, dispatch::ListJobs()));
      EXPECT_FALSE(ask(second, name, Role::kClient, dispatch::Cancel()));
    }
    EXPECT_FALSE(ask(second, "w1", Role::kWorker, dispatch::WindowMessage()));
    EXPECT_FALSE(ask(second, "w1", Role::kWorker, dispatch::WorkerReport()));
    EXPECT_FALSE(ask(second, "m2", Role::kManager, dispatch::Offer()));
  }
  EXPECT_EQ(passed, 500) << "what the node still bears in a window, of 50,000";
  EXPECT_GT(shortest, Duration::zero());
  EXPECT_GT(longest, shortest) << "they do not all come back at once";
}

TEST_F(AdmissionControlTest, the_loop_that_is_late_and_the_process_that_is_full_are_seen) {
  for (int i = 0; i < 50; ++i) kernel_.on_loop_lag(0.2);
  EXPECT_EQ(kernel_.state(), LoadState::kHealthy) << "20 ms are the scheduler's";
  for (int i = 0; i < 20; ++i) kernel_.on_loop_lag(i % 2 == 0 ? 0.0 : 1.0);
  EXPECT_EQ(kernel_.state(), LoadState::kHealthy);
  for (int i = 0; i < 10; ++i) kernel_.on_loop_lag(25);
  EXPECT_EQ(kernel_.state(), LoadState::kOverloaded);
  EXPECT_EQ(kernel_.reason(), "latency");
  for (int i = 0; i < 30; ++i) kernel_.on_loop_lag(0);
  EXPECT_EQ(kernel_.state(), LoadState::kHealthy);
  EXPECT_EQ(changes.back(), "healthy ");
  kernel_.on_resource_usage({.memory = 90, .memory_most = 100});
  for (int i = 0; i < 2; ++i) kernel_.on_loop_lag(0);
  EXPECT_EQ(changes.back(), "stressed memory");
}

TEST_F(AdmissionControlTest, what_the_node_computes_is_measured_against_the_one_core_it_can_use) {
  ResourceUsage signs;
  signs.cores = 16;
  signs.cpu_ratio = 0.5 / 16;
  for (int i = 0; i < 10; ++i) kernel_.on_resource_usage(signs);
  for (int i = 0; i < 2; ++i) kernel_.on_loop_lag(0);
  EXPECT_EQ(kernel_.state(), LoadState::kHealthy);
  signs.cpu_ratio = 0.9 / 16;
  for (int i = 0; i < 10; ++i) kernel_.on_resource_usage(signs);
  for (int i = 0; i < 2; ++i) kernel_.on_loop_lag(0);
  EXPECT_EQ(changes, std::vector<std::string>{"stressed cpu"});
}

RC_GTEST_FIXTURE_PROP(AdmissionControlTest, nothing_critical_is_ever_turned_away, (uint64_t seed)) {
  Prng random(seed);
  const std::vector<std::pair<Role, dispatch::JobMessage>> critical = {
      {Role::kWorker, dispatch::WindowMessage()}, {Role::kWorker, dispatch::EndMessage()},
      {Role::kManager, dispatch::BeginMessage()}, {Role::kManager, dispatch::StopMessage()},
      {Role::kManager, dispatch::AdoptMessage()}, {Role::kManager, dispatch::Cancel()}};
  double now = 0;
  for (int i = 0; i < 300; ++i) {
    now += random.unit() * 0.1;
    if (random.chance(0.1)) fill(random.unit() * 2);
    if (random.chance(0.5)) ask(now, "n", Role::kManager, dispatch::Offer());
    const auto& [role, message] = critical[random.below(critical.size())];
    RC_ASSERT(!ask(now, "n", role, message));
  }
}

}  // namespace
}  // namespace bellwether::cluster
