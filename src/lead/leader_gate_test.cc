#include "lead/leader_gate.h"

#include <gtest/gtest.h>
#include <vector>

#include "core/base/time_testing.h"

namespace bellwether::lead {
namespace {

// A process with the three surfaces of NIP-LE, of which two act by themselves.
struct Instance {
  LeaderGate gate{FailPolicy::kClosed};
  int idle_agents = 1;
  bool heartbeat_in_flight = false;
  std::vector<int> queued{1};
  std::vector<int> dispatched;

  void heartbeat(Instant now) {
    if (!gate.surface("heartbeat").permits(now)) return;
    --idle_agents;
    heartbeat_in_flight = true;
  }
  void dispatch(Instant now) {
    if (queued.empty() || !gate.surface("dispatch").permits(now)) return;
    dispatched.push_back(queued.back());
    queued.pop_back();
  }
};

TEST(LeaderGate, nip_le_a_heartbeat_of_who_does_not_lead_claims_no_agent_and_is_not_in_flight) {
  Instance instance;
  instance.heartbeat(at_seconds(1));
  EXPECT_EQ(instance.idle_agents, 1);
  EXPECT_FALSE(instance.heartbeat_in_flight);
}

TEST(LeaderGate, nip_le_a_heartbeat_of_the_leader_claims_an_idle_agent_and_fires) {
  Instance instance;
  instance.gate.leads_until(at_seconds(10));
  instance.heartbeat(at_seconds(1));
  EXPECT_EQ(instance.idle_agents, 0);
  EXPECT_TRUE(instance.heartbeat_in_flight);
}

TEST(LeaderGate, nip_le_who_does_not_lead_dispatches_nothing_that_is_queued_and_keeps_it) {
  Instance instance;
  instance.dispatch(at_seconds(1));
  EXPECT_TRUE(instance.dispatched.empty());
  EXPECT_EQ(instance.queued, std::vector<int>{1});
}

TEST(LeaderGate, nip_le_the_leader_dispatches_one_queued_event) {
  Instance instance;
  instance.gate.leads_until(at_seconds(10));
  instance.dispatch(at_seconds(1));
  EXPECT_EQ(instance.dispatched, std::vector<int>{1});
}

TEST(LeaderGate, a_term_that_was_not_renewed_permits_nothing_although_nobody_said_so) {
  LeaderGate gate(FailPolicy::kClosed);
  gate.leads_until(at_seconds(10));
  EXPECT_TRUE(gate.permits(at_seconds(9)));
  EXPECT_FALSE(gate.permits(at_seconds(10)));
  gate.leads_until(at_seconds(20));
  EXPECT_TRUE(gate.permits(at_seconds(10)));
  gate.term_ended();
  EXPECT_FALSE(gate.permits(at_seconds(10)));
}

TEST(LeaderGate, each_surface_counts_what_it_was_permitted_and_what_was_suppressed) {
  LeaderGate gate(FailPolicy::kClosed);
  gate.surface("dispatch").permits(at_seconds(1));
  gate.leads_until(at_seconds(10));
  gate.surface("dispatch").permits(at_seconds(1));
  gate.surface("dispatch").permits(at_seconds(2));
  gate.surface("reaction").permits(at_seconds(11));
  ASSERT_EQ(gate.surfaces().size(), 2u);
  const LeaderGate::Surface& dispatch = gate.surfaces()[0];
  const LeaderGate::Surface& reaction = gate.surfaces()[1];
  EXPECT_EQ(dispatch.name(), "dispatch");
  EXPECT_EQ(dispatch.permitted(), 2u);
  EXPECT_EQ(dispatch.suppressed(), 1u);
  EXPECT_EQ(dispatch.without_proof(), 0u);
  EXPECT_EQ(reaction.permitted(), 0u);
  EXPECT_EQ(reaction.suppressed(), 1u);
}

TEST(LeaderGate, only_an_open_gate_permits_without_proof_and_counts_that_apart) {
  LeaderGate closed(FailPolicy::kClosed);
  closed.set_open(true);
  EXPECT_FALSE(closed.permits(at_seconds(1)));

  LeaderGate open(FailPolicy::kOpen);
  EXPECT_FALSE(open.surface("dispatch").permits(at_seconds(1))) << "somebody else may hold the key";
  open.set_open(true);
  EXPECT_TRUE(open.surface("dispatch").permits(at_seconds(1)));
  EXPECT_EQ(open.surface("dispatch").without_proof(), 1u);
  open.leads_until(at_seconds(10));
  EXPECT_TRUE(open.surface("dispatch").permits(at_seconds(1)));
  EXPECT_EQ(open.surface("dispatch").without_proof(), 1u);
  open.term_ended();
  open.set_open(false);
  EXPECT_FALSE(open.surface("dispatch").permits(at_seconds(1)));
}

}  // namespace
}  // namespace bellwether::lead
