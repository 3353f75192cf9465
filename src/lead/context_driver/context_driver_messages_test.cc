// What nodes that lead contexts say to each other, and what of it counts.
#include "cluster/vote/vote_keys_testing.h"
#include "lead/context_driver/context_driver_testing.h"

namespace bellwether::cluster {
namespace {

using namespace context_lead;

TEST_F(ContextDriverTest, a_state_that_is_malformed_is_refused_or_taken_but_for_the_fields_that_are_named) {
  ASSERT_TRUE(register_manager());
  driver_->on_leader_changed("b", election::Term(4));
  const auto verdict_on = [&](uint64_t number, std::string state) {
    say(other_, StateOffer{{Epoch(4), number}, std::move(state)});
    const StateVerdict* found = nullptr;
    until([&] {
      for (const ContextMessage& one : other_.heard) {
        const auto* verdict = std::get_if<StateVerdict>(&one);
        if (verdict != nullptr && verdict->id.number == number) found = verdict;
      }
      return found != nullptr;
    });
    return *found;
  };
  const StateVerdict garbage = verdict_on(1, "no state at all");
  EXPECT_FALSE(garbage.accepted);
  EXPECT_FALSE(garbage.why.empty());

  FailoverState state;
  state.leader = NodeId(member_id("b").value());
  state.term = Epoch(4);
  state.transfer_time = runtime_.wall_now();
  state.cluster_state.members = {NodeId(member_id("a").value()), NodeId(member_id("b").value())};
  state.state_version = 1;
  state.transfer_reason = "maintenance of the rack";
  state.transfer_source = "operator ann";
  auto bytes = encode(state, &wire::sha256);
  ASSERT_TRUE(bytes);
  bytes->at(bytes->find("maintenance")) = 'M';
  const StateVerdict damaged = verdict_on(2, *bytes);
  EXPECT_TRUE(std::any_of(damaged.dropped.begin(), damaged.dropped.end(), [](const StateIssue& one) {
    return one.field == StateField::kTransferReason;
  })) << damaged.why;
}

TEST_F(ContextDriverTest, messages_of_strangers_count_for_nothing) {
  driver_->on_leader_changed("b", election::Term(4));
  say(operator_, StateOffer{{Epoch(4), 1}, "a state"});
  until([&] { return driver_->refused() == 1; });
  EXPECT_TRUE(has_said("context_message_refused"));
  EXPECT_EQ(node_.router.refused(), 1u) << "and counted with all that is refused";
  EXPECT_THAT(other_.heard, testing::IsEmpty());
}

// Each node signs with a separate key, by the number of its place in the alphabet.
struct Seals {
  VoteSeal a = test_seal(1);
  VoteSeal b = test_seal(2);
  VoteSeal c = test_seal(3);
};

class SignedContextTest : protected Seals, public ContextDriverTest {
 protected:
  SignedContextTest() : ContextDriverTest(&a) { other_.seal = &b; }
};

TEST_F(SignedContextTest, what_a_node_says_is_signed_and_what_is_not_counts_for_nothing) {
  lead();
  until([&] { return !other_.heard.empty(); });
  EXPECT_TRUE(std::holds_alternative<GenerationBegun>(other_.heard.front()));
  say(other_, GenerationBegun{9});
  until([&] { return has_said("context_generation_heard"); });
  EXPECT_EQ(driver_->refused(), 0u);
  other_.seal = &c;
  say(other_, GenerationBegun{10});
  until([&] { return driver_->refused() == 1; });
  other_.seal = nullptr;
  say(other_, GenerationBegun{11});
  until([&] { return driver_->refused() == 2; });
  EXPECT_TRUE(has_said("context_message_refused"));
}

}  // namespace
}  // namespace bellwether::cluster
