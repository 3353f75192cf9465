#include "election/context/failover.h"

#include <gmock/gmock.h>

#include "election/context/duty_testing.h"

namespace bellwether::context_lead {
namespace {

using testing::HasSubstr;

class FailoverTest : public DutyTest {
 protected:
  // What the target would answer, of which `count` arrive.
  void answer(std::size_t count = 2) {
    const StateOffer offer = offers().back();
    std::vector<Message> answers = target_.on_offer(at(), NodeId(1), offer, "");
    answers.resize(std::min(count, answers.size()));
    for (const Message& one : answers) say(Heard{NodeId(2), one});
  }
  template <class Kind>
  std::vector<Kind> sent() const {
    std::vector<Kind> found;
    for (const Send& one : all<Send>()) {
      if (const auto* message = std::get_if<Kind>(&one.message)) found.push_back(*message);
    }
    return found;
  }
  std::vector<StateOffer> offers() const { return sent<StateOffer>(); }
  std::string why() const { return all<TransferEnded>().empty() ? "" : all<TransferEnded>().back().why; }

  Succession target_{ContextSettings(), NodeId(2), sha256};
};

// A transfer to node 2 has begun.
class TransferTest : public FailoverTest {
 protected:
  void SetUp() override {
    lead();
    ASSERT_TRUE(transfer(2));
  }
};

TEST_F(FailoverTest, a_transfer_goes_through_all_its_steps) {
  lead();
  ASSERT_TRUE(submit(1));
  ASSERT_TRUE(submit(2));
  ASSERT_TRUE(transfer(2));
  EXPECT_EQ(kernel->duty(), Duty::kStopping);
  EXPECT_TRUE(offers().empty()) << "a job runs";
  now += Duration::seconds(4);
  end(all<RunJob>()[0]);
  ASSERT_EQ(offers().size(), 1u);
  EXPECT_EQ(all<RunJob>().size(), 1u);
  const ReadState state = read_state(offers()[0].state, sha256, at().wall, NodeId(2));
  EXPECT_TRUE(state.validation.valid());
  EXPECT_EQ(state.state.queued_requests.size(), 1u);
  EXPECT_EQ(state.state.completed_jobs.size(), 1u);
  EXPECT_EQ(state.state.transfer_reason, "maintenance");
  EXPECT_EQ(state.state.transfer_duration, Duration::seconds(4));
  EXPECT_EQ(state.state.state_version, 1u);
  EXPECT_TRUE(all<HandOver>().empty());
  answer();
  ASSERT_EQ(all<HandOver>().size(), 1u);
  EXPECT_EQ(all<HandOver>()[0].target, NodeId(2));
  EXPECT_EQ(all<ReleaseRegister>().size(), 1u);
  say(LeadershipLost{Epoch(5), "handed over"});
  say(LeaderSeen{NodeId(2), Epoch(6)});
  EXPECT_TRUE(all<TransferEnded>()[0].ok);
  EXPECT_THAT(callbacks(), testing::ElementsAre("stopped", "lose", "changed", "changed", "failover"));
  EXPECT_EQ(all<LostLeadership>()[0].new_leader, NodeId(2));
  EXPECT_EQ(all<FailedOver>()[0].duration, Duration::seconds(4));
  EXPECT_EQ(status().transfers, 1u);
}

TEST_F(FailoverTest, who_does_not_lead_transfers_nothing) {
  const Status status = transfer(2);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kRefused);
}

TEST_F(TransferTest, one_transfer_runs_at_a_time) {
  const Status status = transfer(3);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kExists);
  EXPECT_THAT(status.error().message, HasSubstr("node 2 is running"));
}

TEST_F(FailoverTest, the_target_is_another_member) {
  lead();
  EXPECT_EQ(transfer(4).error().code, Errc::kNotFound);
  EXPECT_EQ(transfer(1).error().code, Errc::kNotFound);
  EXPECT_EQ(kernel->duty(), Duty::kGenerating);
}

TEST_F(FailoverTest, jobs_that_do_not_end_are_cancelled_killed_and_handed_over_as_queued) {
  lead();
  ASSERT_TRUE(submit(1));
  ASSERT_TRUE(transfer(2));
  run(Duration::seconds(60));
  ASSERT_EQ(all<CancelJob>().size(), 1u);
  EXPECT_TRUE(offers().empty());
  run(Duration::seconds(30));
  EXPECT_TRUE(all<CancelJob>()[1].kill);
  ASSERT_EQ(offers().size(), 1u);
  const ReadState state = read_state(offers()[0].state, sha256, at().wall, NodeId(2));
  EXPECT_EQ(state.state.queued_requests.size(), 1u);
  EXPECT_TRUE(state.state.active_jobs.empty());
}

TEST_F(FailoverTest, requests_are_taken_while_jobs_end_and_refused_while_the_office_is_handed_over) {
  lead();
  ASSERT_TRUE(submit(1));
  ASSERT_TRUE(transfer(2));
  EXPECT_TRUE(submit(2));
  EXPECT_TRUE(was_accepted(2));
  end(all<RunJob>()[0]);
  EXPECT_THAT(submit(3).error().message, HasSubstr("handed over"));
}

TEST_F(TransferTest, an_offer_that_is_not_answered_is_repeated_until_the_transfer_is_over) {
  run(Duration::seconds(12));
  EXPECT_EQ(offers().size(), 2u);
  EXPECT_EQ(offers()[0].id, offers()[1].id);
  run(Duration::seconds(18));
  EXPECT_EQ(offers().size(), 3u);
  EXPECT_THAT(why(), HasSubstr("did not take the state within 30s: it did not answer within 10s"));
  EXPECT_EQ(sent<OfferWithdrawn>().size(), 1u);
  EXPECT_EQ(kernel->duty(), Duty::kGenerating);
  EXPECT_EQ(status().transfers_failed, 1u);
}

TEST_F(FailoverTest, there_are_three_repetitions) {
  config.settings.coordination_timeout = Duration::seconds(1);
  make();
  lead();
  ASSERT_TRUE(transfer(2));
  run(Duration::seconds(29));
  EXPECT_EQ(offers().size(), 4u);
  EXPECT_THAT(why(), HasSubstr("was asked 4 times"));
}

TEST_F(TransferTest, a_verdict_that_does_not_come_in_ten_seconds_costs_a_try) {
  answer(1);
  run(Duration::millis(11'999));
  EXPECT_EQ(offers().size(), 1u);
  run(Duration::millis(1));
  EXPECT_EQ(offers().size(), 2u);
  answer();
  EXPECT_EQ(all<HandOver>().size(), 1u);
}

TEST_F(TransferTest, the_verdict_is_enough_when_the_receipt_was_lost) {
  say(Heard{NodeId(2), StateVerdict{offers()[0].id, true, {}, {}}});
  EXPECT_EQ(all<HandOver>().size(), 1u);
}

TEST_F(TransferTest, answers_of_others_and_to_other_offers_do_not_count) {
  const TransferId id = offers()[0].id;
  say(Heard{NodeId(3), StateVerdict{id, true, {}, {}}});
  say(Heard{NodeId(2), StateVerdict{{id.epoch, id.number + 1}, true, {}, {}}});
  say(Heard{NodeId(2), StateVerdict{{Epoch(4), id.number}, true, {}, {}}});
  EXPECT_TRUE(all<HandOver>().empty());
  say(Heard{NodeId(2), StateVerdict{id, true, {}, {}}});
  say(Heard{NodeId(2), StateVerdict{id, true, {}, {}}});
  EXPECT_EQ(all<HandOver>().size(), 1u);
}

TEST_F(TransferTest, a_refusal_ends_the_transfer_at_once) {
  say(Heard{NodeId(2), StateVerdict{offers()[0].id, false, "no room", {}}});
  EXPECT_THAT(why(), HasSubstr("no room"));
  EXPECT_EQ(kernel->duty(), Duty::kGenerating);
  ASSERT_TRUE(transfer(2));
  EXPECT_EQ(offers().back().id.number, 2u);
}

TEST_F(TransferTest, the_leader_takes_back_what_the_target_does_not_take_in_thirty_seconds) {
  answer();
  run(Duration::millis(29'999));
  EXPECT_TRUE(all<TakeBack>().empty());
  const std::size_t takes = all<TakeRegister>().size();
  run(Duration::millis(1));
  EXPECT_EQ(all<TakeBack>().size(), 1u);
  EXPECT_THAT(why(), HasSubstr("did not lead within 30s"));
  EXPECT_EQ(all<TakeRegister>().size(), takes + 1);
  run(Duration::seconds(5));
  EXPECT_EQ(kernel->duty(), Duty::kGenerating);
}

TEST_F(TransferTest, who_gave_the_office_away_stands_again_when_nobody_took_it) {
  answer();
  say(LeadershipLost{Epoch(5), "handed over"});
  run(Duration::seconds(30));
  EXPECT_EQ(all<TakeBack>().size(), 1u);
  EXPECT_EQ(kernel->duty(), Duty::kNotLeading);
  say(Elected{Epoch(6)});
  EXPECT_TRUE(kernel->is_leader());
}

TEST_F(TransferTest, a_hand_over_that_the_election_refuses_is_over) {
  answer();
  say(HandOverRefused{"nobody answers"});
  EXPECT_THAT(why(), HasSubstr("nobody answers"));
  EXPECT_TRUE(all<TakeBack>().empty());
  EXPECT_TRUE(kernel->is_leader());
}

TEST_F(TransferTest, a_third_node_that_leads_ends_the_transfer) {
  answer();
  say(LeaderSeen{NodeId(3), Epoch(7)});
  EXPECT_FALSE(all<TransferEnded>()[0].ok);
  EXPECT_THAT(why(), HasSubstr("node 3 leads instead of node 2"));
  run(Duration::minutes(2));
  EXPECT_TRUE(all<TakeBack>().empty());
}

TEST_F(TransferTest, a_register_that_the_target_takes_is_no_trouble) {
  answer();
  log.clear();
  say(RegisterLost{"the target"});
  EXPECT_TRUE(log.empty());
}

TEST_F(TransferTest, the_leader_says_what_the_target_drops) {
  say(Heard{NodeId(2), StateVerdict{offers()[0].id, true, {}, {{StateField::kQueuePolicy, "0 tries"}}}});
  EXPECT_EQ(all<DutyError>().back().text, "the target drops queue_policy: 0 tries");
}

// Node 1 as the target of node 2, which leads under epoch 9.
class SuccessionTest : public DutyTest {
 protected:
  SuccessionTest() {
    EXPECT_TRUE(register_manager());
    say(LeaderSeen{NodeId(2), Epoch(9)});
    state.leader = NodeId(2);
    state.term = Epoch(9);
    state.node_assignments = {{"n1", {"index"}}};
  }
  void offer(uint64_t from = 2) { say(Heard{NodeId(from), StateOffer{{Epoch(9), 1}, *encode(state, sha256)}}); }
  std::optional<StateVerdict> verdict() const {
    std::optional<StateVerdict> found;
    for (const Send& one : all<Send>()) {
      if (const auto* message = std::get_if<StateVerdict>(&one.message)) found = *message;
    }
    return found;
  }
  FailoverState state;
};

TEST_F(SuccessionTest, what_was_offered_is_taken_over_in_part_when_this_node_leads) {
  offer();
  ASSERT_TRUE(verdict() && verdict()->accepted);
  EXPECT_FALSE(verdict()->dropped.empty()) << "most of it is empty";
  EXPECT_TRUE(all<Restored>().empty());
  say(Elected{Epoch(10)});
  ASSERT_EQ(all<Restored>().size(), 1u);
  EXPECT_EQ(all<Restored>()[0].state.state.node_assignments, state.node_assignments);
  EXPECT_EQ(all<Restored>()[0].state.dropped, verdict()->dropped);
}

TEST_F(SuccessionTest, an_offer_is_answered_each_time_it_comes) {
  offer();
  offer();
  EXPECT_EQ(all<Send>().size(), 4u);
}

TEST_F(SuccessionTest, only_the_leader_offers) {
  offer(3);
  ASSERT_TRUE(verdict());
  EXPECT_FALSE(verdict()->accepted);
  EXPECT_THAT(verdict()->why, HasSubstr("does not know that one as the leader"));
}

TEST_F(SuccessionTest, a_state_of_another_leader_is_refused) {
  state.term = Epoch(8);
  offer();
  EXPECT_THAT(verdict()->why, HasSubstr("not of the leader that offers it"));
}

TEST_F(SuccessionTest, a_state_of_nobody_is_refused_unless_validation_is_off) {
  state.leader = NodeId();
  offer();
  EXPECT_FALSE(verdict()->accepted);
  config.settings.require_state_validation = false;
  make();
  ASSERT_TRUE(register_manager());
  say(LeaderSeen{NodeId(2), Epoch(9)});
  offer();
  EXPECT_TRUE(verdict()->accepted);
  EXPECT_FALSE(verdict()->dropped.empty());
}

TEST_F(SuccessionTest, a_node_without_a_context_manager_cannot_lead_unless_that_is_allowed) {
  make();
  say(LeaderSeen{NodeId(2), Epoch(9)});
  offer();
  EXPECT_THAT(verdict()->why, HasSubstr("no context manager"));
  config.settings.require_context_capability = false;
  make();
  say(LeaderSeen{NodeId(2), Epoch(9)});
  offer();
  EXPECT_TRUE(verdict()->accepted);
}

TEST_F(SuccessionTest, what_was_withdrawn_or_is_too_old_is_not_taken) {
  offer();
  say(Heard{NodeId(2), OfferWithdrawn{{Epoch(9), 1}}});
  say(Elected{Epoch(10)});
  EXPECT_TRUE(all<Restored>().empty());
  make();
  value.clear();
  ASSERT_TRUE(register_manager());
  say(LeaderSeen{NodeId(2), Epoch(9)});
  offer();
  run(Duration::seconds(60));
  say(Elected{Epoch(10)});
  EXPECT_TRUE(all<Restored>().empty());
}

TEST_F(SuccessionTest, a_withdrawal_of_somebody_else_does_not_count) {
  offer();
  say(Heard{NodeId(3), OfferWithdrawn{{Epoch(9), 1}}});
  say(Elected{Epoch(10)});
  EXPECT_EQ(all<Restored>().size(), 1u);
}

}  // namespace
}  // namespace bellwether::context_lead
