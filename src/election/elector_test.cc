#include "election/elector.h"

#include <gtest/gtest.h>

#include "election/elector_testing.h"

namespace bellwether::election {
namespace {

// Two that may stand for one key.
struct ElectorTest : testing::Test {
  Register reg;
  Bench a{reg, config("a")};
  Bench b{reg, config("b"), 2};
};
// The first of them has it.
struct LeadingElector : ElectorTest {
  LeadingElector() { a.tell(Start{}); }
};

TEST_F(LeadingElector, a_free_key_is_taken_at_once_with_the_first_epoch) {
  EXPECT_EQ(a.elector.state(), Elector::State::kLeading);
  ASSERT_EQ(a.of<Elected>().size(), 1u);
  EXPECT_EQ(a.of<Elected>()[0].epoch, Epoch(1));
  EXPECT_EQ(a.of<Elected>()[0].ends, a.now + Duration::seconds(10));
  EXPECT_EQ(reg.record.holder, "a");
}

TEST_F(LeadingElector, a_term_counts_from_before_the_renewal_was_sent) {
  a.now += Duration::seconds(5);
  const Effects asked = a.step(Tick{});
  ASSERT_EQ(asked.size(), 1u);
  const auto request = std::get<Act>(asked[0]).request;
  a.now += Duration::seconds(3);  // the answer takes its time
  a.settle(a.step(Acted{reg.act(request)}));
  EXPECT_EQ(a.elector.term_ends(), Instant::from_ns(0) + Duration::seconds(15));
}

TEST_F(LeadingElector, a_longer_lease_gives_the_work_no_more_time_before_it_was_confirmed) {
  const LeaseTiming before = a.elector.config().timing;
  const LeaseTiming longer = LeaseTiming::of(Duration::seconds(60));
  a.tell(Retime{longer});
  a.store_is_down = true;
  a.pass_to(Duration::seconds(12));
  ASSERT_EQ(a.of<TermEnded>().size(), 1u);
  EXPECT_EQ(a.of<TermEnded>()[0].stop_by, Instant::from_ns(0) + before.last_act()) << "others wait for the old lease";
}

TEST_F(LeadingElector, a_lease_that_changes_takes_the_time_for_stopping_with_it) {
  for (const Duration lease : {Duration::seconds(60), Duration::seconds(6)}) {
    const LeaseTiming timing = LeaseTiming::of(lease);
    a.tell(Retime{timing});
    a.tell(Extend{});
    a.tell(Tick{});
    EXPECT_EQ(reg.record.lease, lease);
    EXPECT_EQ(a.elector.stop_grace(), timing.stop_grace);
    EXPECT_EQ(a.elector.term_ends(), a.now + timing.renew_deadline);
  }
}

TEST(Elector, a_store_that_keeps_a_shorter_lease_than_was_sent_confirms_nothing) {
  Register reg;
  reg.longest_kept = Duration::seconds(5);
  Bench a(reg, config("a"));
  a.tell(Start{});
  EXPECT_FALSE(a.elector.holds()) << "others would wait for 5 s, and we would act for 10";
  reg.longest_kept = Duration::hours(1);
  a.pass_to(Duration::seconds(3));
  EXPECT_TRUE(a.elector.holds());
  EXPECT_EQ(reg.record.lease, Duration::seconds(15));
}

TEST(Elector, a_longer_lease_that_the_store_does_not_keep_confirms_nothing_more) {
  Register reg;
  reg.longest_kept = Duration::seconds(15);
  Bench a(reg, config("a"));
  a.tell(Start{});
  const Instant ends = a.elector.term_ends();
  a.tell(Retime{LeaseTiming::of(Duration::seconds(20))});
  a.pass_to(Duration::seconds(9));
  EXPECT_EQ(a.elector.term_ends(), ends);
}

TEST_F(LeadingElector, a_store_that_keeps_less_than_it_had_confirmed_ends_the_term) {
  reg.longest_kept = Duration::seconds(5);
  a.pass_to(Duration::seconds(6));
  ASSERT_EQ(a.of<TermEnded>().size(), 1u);
  EXPECT_EQ(a.of<TermEnded>()[0].reason, EndReason::kExpired);
}

TEST_F(LeadingElector, without_a_confirmed_renewal_the_term_ends_at_its_deadline_and_not_later) {
  a.store_is_down = true;
  a.pass_to(Duration::millis(9999));
  EXPECT_TRUE(a.elector.holds());
  a.pass_to(Duration::seconds(10));
  EXPECT_FALSE(a.elector.holds());
  ASSERT_EQ(a.of<TermEnded>().size(), 1u);
  EXPECT_EQ(a.of<TermEnded>()[0].reason, EndReason::kExpired);
  EXPECT_LE(a.of<TermEnded>()[0].stop_by, Instant::from_ns(0) + Duration::millis(14850));
}

TEST_F(LeadingElector, a_paused_holder_finds_its_term_over_before_anything_else) {
  a.now += Duration::hours(1);
  const Effects first = a.step(Tick{});
  ASSERT_FALSE(first.empty());
  EXPECT_TRUE(std::holds_alternative<TermEnded>(first[0]));
}

TEST_F(LeadingElector, a_crashed_holder_is_succeeded_after_its_lease_as_seen_here) {
  b.tell(Start{});
  EXPECT_FALSE(b.elector.holds());
  b.pass_to(Duration::millis(15149));
  EXPECT_FALSE(b.elector.holds());
  b.pass_to(Duration::millis(15700));
  EXPECT_TRUE(b.elector.holds());
  EXPECT_EQ(b.elector.epoch(), Epoch(2));
}

TEST_F(ElectorTest, a_healthy_holder_stays) {
  a.tell(Start{});
  b.tell(Start{});
  for (int s = 1; s < 3600; ++s) {
    a.pass_to(Duration::seconds(s));
    b.pass_to(Duration::seconds(s));
  }
  EXPECT_TRUE(a.elector.holds());
  EXPECT_EQ(a.elector.epoch(), Epoch(1));
  EXPECT_EQ(b.of<Elected>().size(), 0u);
}

TEST_F(LeadingElector, the_key_is_released_only_after_the_work_has_stopped) {
  a.tell(Resign{.cause = "going", .heir = {}, .stay_out = true});
  EXPECT_EQ(a.of<Drain>().size(), 1u);
  EXPECT_TRUE(reg.record.held());
  a.pass_to(Duration::seconds(30));
  EXPECT_TRUE(a.elector.holds()) << "it is renewed while the work winds up";
  a.tell(WorkStopped{});
  EXPECT_FALSE(reg.record.held());
  EXPECT_EQ(reg.record.epoch, Epoch(1)) << "the epoch outlives the term";
  EXPECT_EQ(a.of<Stopped>().size(), 1u);
  ASSERT_EQ(a.of<TermEnded>().size(), 1u);
  EXPECT_EQ(a.of<TermEnded>()[0].reason, EndReason::kResigned);
}

TEST_F(LeadingElector, after_losing_it_does_not_stand_again_before_its_work_has_stopped) {
  a.store_is_down = true;
  a.pass_to(Duration::seconds(10));
  a.store_is_down = false;
  a.pass_to(Duration::seconds(100));
  EXPECT_EQ(a.of<Elected>().size(), 1u);
  a.tell(WorkStopped{});
  a.pass_to(Duration::seconds(110));
  ASSERT_EQ(a.of<Elected>().size(), 2u);
  EXPECT_EQ(a.of<Elected>()[1].epoch, Epoch(2));
}

TEST_F(ElectorTest, a_claim_whose_answer_was_lost_is_found_and_renewed_before_it_counts) {
  Effects asked = a.step(Start{});
  asked = a.step(Looked{reg.look()});
  const auto claim = std::get<Act>(asked.back()).request;
  reg.act(claim);
  a.settle(a.step(Acted{fail(Errc::kTimeout, "lost")}));
  EXPECT_FALSE(a.elector.holds());
  a.pass_to(Duration::seconds(3));
  EXPECT_TRUE(a.elector.holds());
  EXPECT_EQ(a.elector.epoch(), Epoch(1));
  EXPECT_GE(a.elector.term_ends(), Instant::from_ns(0) + Duration::seconds(11)) << "counted from the renewal";
}

TEST(Elector, a_store_that_forgot_ends_the_term_and_is_not_believed_for_a_lease) {
  Register reg;
  reg.present = true;
  reg.record.epoch = Epoch(41);
  Bench a(reg, config("a"));
  a.tell(Start{});
  ASSERT_EQ(a.elector.epoch(), Epoch(42));
  reg = Register{};
  reg.version = 1000;
  a.pass_to(Duration::seconds(5));
  ASSERT_EQ(a.of<TermEnded>().size(), 1u);
  EXPECT_EQ(a.of<TermEnded>()[0].reason, EndReason::kLostData);
  a.tell(WorkStopped{});
  a.pass_to(Duration::seconds(20));
  EXPECT_FALSE(a.elector.holds());
  a.pass_to(Duration::seconds(25));
  EXPECT_TRUE(a.elector.holds());
  EXPECT_EQ(a.elector.epoch(), Epoch(43));
}

TEST_F(ElectorTest, a_request_to_transfer_is_followed_and_the_heir_goes_first) {
  Bench c(reg, config("c"), 3);
  a.tell(Start{});
  b.tell(Start{});
  c.tell(Start{});
  reg.record.heir = "c";
  reg.record.cause = "transferred to c by ops";
  ++reg.version;
  a.pass_to(Duration::seconds(6));
  ASSERT_EQ(a.of<Drain>().size(), 1u);
  a.tell(WorkStopped{});
  EXPECT_FALSE(reg.record.held());
  b.pass_to(Duration::seconds(8));
  EXPECT_FALSE(b.elector.holds());
  c.pass_to(Duration::seconds(8));
  EXPECT_TRUE(c.elector.holds());
  EXPECT_EQ(c.elector.epoch(), Epoch(2));
}

TEST(Elector, work_that_shows_no_progress_loses_the_key_on_purpose) {
  Register reg;
  ElectorConfig c = config("a");
  c.evidence.require(EvidenceKind::kWork, Duration::seconds(4));
  Bench a(reg, c);
  a.tell(Start{});
  a.pass_to(Duration::seconds(6));
  ASSERT_EQ(a.of<Drain>().size(), 1u);
  EXPECT_FALSE(a.of<Drain>()[0].renewing);
  a.pass_to(Duration::seconds(10));
  ASSERT_EQ(a.of<TermEnded>().size(), 1u) << "the work never stopped: nothing is renewed, nothing released";
  EXPECT_EQ(a.of<TermEnded>()[0].reason, EndReason::kUnhealthy);
  EXPECT_TRUE(reg.record.held());
}

TEST_F(ElectorTest, a_holder_counts_as_one_for_its_lease_since_it_was_seen_to_renew) {
  b.tell(Start{});
  EXPECT_EQ(a.elector.holder_until(), Instant()) << "nobody has been seen";
  a.now = b.now = Instant::from_ns(0) + Duration::seconds(1);
  a.tell(Start{});
  const Instant first = a.now + Duration::millis(15'150);
  EXPECT_EQ(a.elector.holder_until(), first);
  a.pass_to(Duration::seconds(10));
  EXPECT_EQ(a.elector.holder_until(), first) << "looked at again, it has not been renewed";
  b.pass_to(Duration::seconds(10));
  a.pass_to(Duration::seconds(14));
  EXPECT_GT(a.elector.holder_until(), first);
  EXPECT_GT(a.elector.seen_at(), Instant::from_ns(0) + Duration::seconds(10));
  a.store_is_down = true;
  const Instant seen = a.elector.seen_at();
  a.pass_to(Duration::seconds(20));
  EXPECT_EQ(a.elector.seen_at(), seen) << "no answer shows nothing";
}

TEST_F(ElectorTest, who_does_not_stand_for_a_free_key_sees_who_takes_it) {
  a.tell(BadEvidence{EvidenceKind::kSelf, "not its turn"});
  a.tell(Start{});
  a.pass_to(Duration::minutes(1));
  b.now = a.now;
  b.tell(Start{});
  ASSERT_EQ(b.elector.state(), Elector::State::kLeading);
  a.pass_to(Duration::seconds(63));
  EXPECT_EQ(a.elector.seen().record.holder, "b");
  EXPECT_TRUE(a.of<Elected>().empty());
}

TEST_F(ElectorTest, a_claim_that_fails_again_for_the_same_reason_is_noted_once) {
  const auto warnings = [&] {
    std::vector<std::string> out;
    for (const Note& one : a.of<Note>()) {
      if (one.warning) out.push_back(one.text);
    }
    return out;
  };
  a.no_act = "no";
  a.tell(Start{});
  a.pass_to(Duration::minutes(1));
  const std::string no = "the store did not answer the claim: no";
  EXPECT_EQ(warnings(), std::vector{no});
  a.no_act = "never";
  a.pass_to(Duration::minutes(2));
  EXPECT_EQ(warnings(), (std::vector<std::string>{no, "the store did not answer the claim: never"}));
}

TEST_F(ElectorTest, an_error_of_the_store_never_elects) {
  a.store_is_down = true;
  a.tell(Start{});
  a.pass_to(Duration::hours(1));
  EXPECT_EQ(a.of<Elected>().size(), 0u);
}

TEST(Elector, failing_open_is_told_and_ends_when_another_holder_is_seen) {
  Register reg;
  ElectorConfig c = config("b");
  c.fail_open = true;
  Bench b(reg, c);
  b.store_is_down = true;
  b.tell(Start{});
  ASSERT_EQ(b.of<FailOpen>().size(), 1u);
  EXPECT_TRUE(b.of<FailOpen>()[0].open);
  Bench a(reg, config("a"), 2);
  a.tell(Start{});
  b.store_is_down = false;
  b.pass_to(Duration::seconds(3));
  ASSERT_EQ(b.of<FailOpen>().size(), 2u);
  EXPECT_FALSE(b.of<FailOpen>()[1].open);
}

}  // namespace
}  // namespace bellwether::election
