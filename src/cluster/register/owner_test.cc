#include "cluster/register/owner.h"

#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cluster/register/acceptor.h"

namespace bellwether::registers {
namespace {

using testing::HasSubstr;

// Owners and acceptors of five peers, three of which are the replicas; messages take no time, and those of a peer that
// is down are lost.
class JobOwnerTest : public testing::Test {
 protected:
  JobOwnerTest() {
    for (uint64_t id = 1; id <= 5; ++id) {
      JobOwnerConfig config;
      config.key = "job";
      config.self = MemberId(id);
      config.replicas.old = ids({1, 2, 3});
      owners_.emplace_back(std::move(config), id);
      acceptors_.emplace_back(JobAcceptorConfig{});
      AcceptorEffects none;
      acceptors_.back().step(now_, AcceptorStart{}, none);
    }
  }

  static std::vector<MemberId> ids(const std::vector<uint64_t>& numbers) { return {numbers.begin(), numbers.end()}; }
  void replicas_are(uint64_t id, const std::vector<uint64_t>& old, const std::vector<uint64_t>& next) {
    tell(id, ReplicasAre{{ids(old), ids(next)}});
  }
  void tell(uint64_t id, const OwnerEvent& event) {
    OwnerEffects effects;
    owners_[id - 1].step(now_, event, effects);
    for (OwnerEffect& effect : effects) {
      if (const auto* sending = std::get_if<SendAsk>(&effect)) {
        asked_.push_back({MemberId(id), *sending});
      } else {
        told_[id].push_back(std::move(effect));
      }
    }
  }
  void exchange() {
    while (!asked_.empty()) exchange_one();
  }
  void exchange_one() {
    const auto [from, sending] = asked_.front();
    asked_.pop_front();
    const uint64_t to = sending.to.value();
    if (down_.contains(to)) return;
    AcceptorEffects effects;
    acceptors_[to - 1].step(now_, Asked{from, sending.ask}, effects);
    for (std::size_t i = 0; i < effects.size(); ++i) {
      if (const auto* keep = std::get_if<KeepJob>(&effects[i])) {
        const uint64_t number = keep->number;
        acceptors_[to - 1].step(now_, JobKept{number, true}, effects);
      }
    }
    for (const AcceptorEffect& effect : effects) {
      const auto* reply = std::get_if<Reply>(&effect);
      if (reply != nullptr) tell(reply->to.value(), JobAnswered{sending.to, reply->answer});
      const auto* freed = std::get_if<TellFreed>(&effect);
      if (freed != nullptr) tell(freed->to.value(), JobFreed{});
    }
  }
  // Who takes a job for the first time learns only from a refusal which fence comes next.
  void take(uint64_t id) {
    tell(id, TakeJob{});
    exchange();
    if (!owners_[id - 1].owns(now_)) pass(id, Duration::seconds(1));
  }
  // Lets time pass in which only this one is awake.
  void pass(uint64_t id, Duration span) {
    const Instant end = now_ + span;
    while (owners_[id - 1].wake() <= end) {
      now_ = std::max(now_, owners_[id - 1].wake());
      tell(id, JobTick{});
      exchange();
    }
    now_ = end;
  }
  bool settled(uint64_t id) const { return !acceptors_[id - 1].find("job")->unsettled; }
  template <class Kind>
  const Kind* last(uint64_t id) {
    const Kind* found = nullptr;
    for (const OwnerEffect& effect : told_[id]) {
      if (const auto* one = std::get_if<Kind>(&effect)) found = one;
    }
    return found;
  }

  Instant now_ = Instant::from_ns(1'000'000'000);
  std::vector<JobOwner> owners_;
  std::vector<JobAcceptor> acceptors_;
  std::deque<std::pair<MemberId, SendAsk>> asked_;
  std::map<uint64_t, std::vector<OwnerEffect>> told_;
  std::set<uint64_t> down_;
};

TEST_F(JobOwnerTest, takes_writes_and_reads_a_job) {
  take(1);
  ASSERT_NE(last<JobTaken>(1), nullptr);
  EXPECT_TRUE(owners_[0].owns(now_));
  tell(1, WriteJob{7, "half done"});
  exchange();
  ASSERT_NE(last<JobWritten>(1), nullptr);
  EXPECT_EQ(last<JobWritten>(1)->ticket, 7u);
  tell(1, ReadJob{8});
  exchange();
  ASSERT_NE(last<JobRead>(1), nullptr);
  EXPECT_EQ(last<JobRead>(1)->value, "half done");
}

TEST_F(JobOwnerTest, gives_the_next_owner_what_the_last_one_wrote) {
  take(1);
  tell(1, WriteJob{1, "half done"});
  exchange();
  const JobFence first = owners_[0].fence();
  now_ += Duration::seconds(31);
  take(2);
  ASSERT_NE(last<JobTaken>(2), nullptr);
  EXPECT_EQ(last<JobTaken>(2)->value, "half done");
  EXPECT_GT(last<JobTaken>(2)->fence, first);
}

TEST_F(JobOwnerTest, waits_for_the_lease_of_another_one) {
  take(1);
  take(2);
  EXPECT_EQ(last<JobTaken>(2), nullptr);
  ASSERT_NE(last<JobBusy>(2), nullptr);
  EXPECT_EQ(last<JobBusy>(2)->owner, MemberId(1));
  pass(2, Duration::seconds(62));
  EXPECT_NE(last<JobTaken>(2), nullptr);
}

// The one that refuses would grant it later, and the one that is down may never come back.
TEST_F(JobOwnerTest, takes_a_job_that_one_refuses_for_a_while_and_that_another_never_grants) {
  take(1);
  now_ += Duration::seconds(31);
  AcceptorEffects effects;
  RegisterRecord leased = *acceptors_[1].find("job");
  acceptors_[1].step(now_, Learned{1, {leased}}, effects);
  down_ = {3};
  tell(2, TakeJob{});
  exchange();
  pass(2, Duration::seconds(90));
  EXPECT_NE(last<JobTaken>(2), nullptr);
}

TEST_F(JobOwnerTest, keeps_a_job_as_long_as_a_majority_answers) {
  take(1);
  down_ = {3};
  pass(1, Duration::minutes(10));
  EXPECT_TRUE(owners_[0].owns(now_));
  down_ = {2, 3};
  pass(1, Duration::seconds(30));
  EXPECT_FALSE(owners_[0].owns(now_));
  ASSERT_NE(last<JobLost>(1), nullptr);
  EXPECT_THAT(last<JobLost>(1)->why, HasSubstr("majority"));
}

TEST_F(JobOwnerTest, says_that_a_write_may_have_happened_when_nobody_answered) {
  take(1);
  down_ = {1, 2, 3};
  tell(1, WriteJob{5, "perhaps"});
  exchange();
  pass(1, Duration::seconds(31));
  ASSERT_NE(last<JobFailed>(1), nullptr);
  EXPECT_EQ(last<JobFailed>(1)->ticket, 5u);
  EXPECT_TRUE(last<JobFailed>(1)->perhaps);
}

// What reached only some may be the newest, or be gone; what the next owner says it is, it stays.
TEST_F(JobOwnerTest, settles_a_write_that_reached_one_peer_only) {
  take(1);
  down_ = {2, 3};
  tell(1, WriteJob{1, "reached one"});
  exchange();
  now_ += Duration::seconds(31);
  tell(1, GiveJobBack{});
  down_ = {3};
  take(2);
  ASSERT_NE(last<JobTaken>(2), nullptr);
  EXPECT_EQ(last<JobTaken>(2)->value, "reached one");
  now_ += Duration::seconds(62);
  down_ = {1};
  take(3);
  ASSERT_NE(last<JobTaken>(3), nullptr);
  EXPECT_EQ(last<JobTaken>(3)->value, "reached one");
}

// The renewal was asked for before the read was: its answers prove nothing of the read.
TEST_F(JobOwnerTest, answers_a_read_by_a_question_that_was_asked_after_it) {
  take(1);
  now_ += Duration::seconds(10);
  tell(1, JobTick{});
  ASSERT_EQ(asked_.size(), 3u);
  const uint64_t renewal = asked_.front().second.ask.number;
  tell(1, ReadJob{9});
  for (uint64_t id = 1; id <= 2; ++id) {
    Answer granted;
    granted.key = "job";
    granted.number = renewal;
    granted.verdict = Verdict::kGranted;
    granted.promised = asked_.front().second.ask.claim;
    tell(1, JobAnswered{MemberId(id), granted});
  }
  EXPECT_EQ(last<JobRead>(1), nullptr);
  exchange();
  EXPECT_NE(last<JobRead>(1), nullptr);
}

TEST_F(JobOwnerTest, gives_a_job_back_to_be_taken_at_once) {
  take(1);
  tell(1, GiveJobBack{});
  exchange();
  take(2);
  EXPECT_NE(last<JobTaken>(2), nullptr);
  EXPECT_FALSE(owners_[0].owns(now_));
}

TEST_F(JobOwnerTest, who_gives_a_job_back_says_which_write_a_majority_has) {
  take(1);
  tell(1, WriteJob{1, "end"});
  exchange();
  EXPECT_FALSE(settled(1));
  down_ = {3};
  tell(1, GiveJobBack{});
  exchange();
  EXPECT_TRUE(settled(1) && settled(2));
  EXPECT_FALSE(settled(3)) << "it has not heard it, and costs one more take-over";
  down_ = {};
  pass(3, Duration::seconds(31));
  take(3);
  tell(3, GiveJobBack{});
  exchange();
  EXPECT_TRUE(settled(1) && settled(2) && settled(3));
  EXPECT_EQ(acceptors_[2].find("job")->value, "end");
}

TEST_F(JobOwnerTest, a_write_under_way_is_not_settled_when_its_job_is_given_back) {
  take(1);
  down_ = {2, 3};
  tell(1, WriteJob{1, "an end that one peer has"});
  exchange();
  down_ = {};
  tell(1, GiveJobBack{});
  exchange();
  EXPECT_FALSE(settled(1));
  EXPECT_TRUE(settled(2) && settled(3)) << "the write before it is";
}

TEST_F(JobOwnerTest, who_gives_a_job_back_before_it_had_it_settles_nothing) {
  take(1);
  pass(3, Duration::seconds(31));
  // One peer accepts what the next owner begins with.
  tell(2, TakeJob{});
  exchange();
  now_ = owners_[1].wake();
  tell(2, JobTick{});
  while (!std::holds_alternative<Accept>(asked_.back().second.ask.body)) exchange_one();
  down_ = {2, 3};
  exchange();
  down_ = {};
  tell(2, GiveJobBack{});
  exchange();
  EXPECT_EQ(last<JobTaken>(2), nullptr);
  EXPECT_EQ(acceptors_[0].find("job")->promised.owner, MemberId(2));
  EXPECT_FALSE(settled(1));
}

TEST_F(JobOwnerTest, who_waits_for_a_lease_takes_the_job_as_soon_as_it_is_given_back) {
  take(1);
  take(2);
  ASSERT_EQ(last<JobTaken>(2), nullptr);
  tell(1, GiveJobBack{});
  exchange();
  pass(2, Duration::seconds(1));
  EXPECT_NE(last<JobTaken>(2), nullptr);
}

// The first peers are asked before they hear that it is given back, the others after it.
TEST_F(JobOwnerTest, a_job_that_is_given_back_while_it_is_asked_for_is_asked_for_again_at_once) {
  take(1);
  tell(2, TakeJob{});
  exchange();
  now_ = owners_[1].wake();
  tell(2, JobTick{});
  ASSERT_EQ(asked_.size(), 3u);
  tell(2, JobFreed{});
  exchange();
  EXPECT_EQ(last<JobTaken>(2), nullptr);
  EXPECT_LE(owners_[1].wake() - now_, Duration::millis(200));
}

TEST_F(JobOwnerTest, a_write_that_is_not_wanted_any_more_is_dropped_unless_it_is_under_way) {
  take(1);
  tell(1, WriteJob{1, "under way"});
  tell(1, WriteJob{2, "waits"});
  tell(1, Withdraw{2});
  ASSERT_NE(last<JobFailed>(1), nullptr);
  EXPECT_EQ(last<JobFailed>(1)->ticket, 2u);
  EXPECT_FALSE(last<JobFailed>(1)->perhaps);
  tell(1, Withdraw{1});
  EXPECT_EQ(last<JobFailed>(1)->ticket, 2u);
  exchange();
  ASSERT_NE(last<JobWritten>(1), nullptr);
  EXPECT_EQ(last<JobWritten>(1)->ticket, 1u);
  tell(1, ReadJob{3});
  exchange();
  EXPECT_EQ(last<JobRead>(1)->value, "under way");
}

TEST_F(JobOwnerTest, finds_out_first_that_it_slept_past_its_lease) {
  take(1);
  now_ += Duration::minutes(1);
  EXPECT_FALSE(owners_[0].owns(now_));
  tell(1, WriteJob{1, "too late"});
  ASSERT_NE(last<JobFailed>(1), nullptr);
  EXPECT_FALSE(last<JobFailed>(1)->perhaps);
  EXPECT_NE(last<JobLost>(1), nullptr);
}

TEST_F(JobOwnerTest, during_a_change_of_the_replicas_majorities_of_both_sets_decide) {
  take(1);
  replicas_are(1, {1, 2, 3}, {3, 4, 5});
  down_ = {4, 5};
  tell(1, WriteJob{1, "new"});
  exchange();
  EXPECT_EQ(last<JobWritten>(1), nullptr);
  down_ = {1, 2};
  pass(1, Duration::seconds(1));
  EXPECT_NE(last<JobWritten>(1), nullptr) << "the first ones have granted it already";
  replicas_are(1, {3, 4, 5}, {});
  tell(1, WriteJob{2, "newer"});
  exchange();
  EXPECT_EQ(last<JobWritten>(1)->ticket, 2u);
}

// Else what a replica granted before it read a newer promise makes a majority with one that has read nothing.
TEST_F(JobOwnerTest, what_was_granted_under_a_former_set_does_not_count) {
  take(1);
  down_ = {2, 3};
  tell(1, WriteJob{1, "new"});
  exchange();
  asked_.clear();
  replicas_are(1, {1, 4}, {});
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[0].second.ask.number, asked_[1].second.ask.number);
  down_ = {1, 2, 3};
  exchange();
  EXPECT_EQ(last<JobWritten>(1), nullptr);
  down_ = {2, 3};
  pass(1, Duration::seconds(1));
  EXPECT_NE(last<JobWritten>(1), nullptr);
}

TEST_F(JobOwnerTest, new_replicas_are_asked_what_is_being_asked) {
  take(1);
  tell(1, WriteJob{1, "new"});
  asked_.clear();
  replicas_are(1, {1, 2, 3}, {1, 2, 3, 4});
  exchange();
  ASSERT_NE(last<JobWritten>(1), nullptr);
  EXPECT_EQ(acceptors_[3].find("job")->value, "new");
}

// A replica that has promised may have read a newer value since.
TEST_F(JobOwnerTest, a_takeover_asks_all_again_when_the_replicas_change) {
  tell(1, TakeJob{});
  down_ = {2, 3};
  const uint64_t number = asked_.front().second.ask.number;
  exchange();
  replicas_are(1, {1, 2, 3}, {1, 4});
  ASSERT_EQ(asked_.size(), 4u);
  for (const auto& [from, sending] : asked_) EXPECT_NE(sending.ask.number, number);
  exchange();
  EXPECT_EQ(last<JobTaken>(1), nullptr);
  down_ = {};
  pass(1, Duration::seconds(1));
  EXPECT_NE(last<JobTaken>(1), nullptr);
}

TEST_F(JobOwnerTest, a_lease_needs_majorities_of_both_sets) {
  take(1);
  replicas_are(1, {1, 2, 3}, {3, 4, 5});
  down_ = {4, 5};
  pass(1, Duration::seconds(20));
  EXPECT_TRUE(owners_[0].owns(now_)) << "what was promised holds";
  pass(1, Duration::seconds(10));
  EXPECT_FALSE(owners_[0].owns(now_));
}

TEST_F(JobOwnerTest, refuses_what_is_too_much) {
  take(1);
  tell(1, WriteJob{1, std::string(kMaxValueBytes + 1, 'x')});
  ASSERT_NE(last<JobFailed>(1), nullptr);
  EXPECT_THAT(last<JobFailed>(1)->why, HasSubstr("64 KiB"));
  tell(2, ReadJob{2});
  EXPECT_THAT(last<JobFailed>(2)->why, HasSubstr("does not own"));
}

}  // namespace
}  // namespace bellwether::registers
