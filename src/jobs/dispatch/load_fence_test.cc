#include "jobs/dispatch/load_fence.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "jobs/dispatch/job_pool.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

// One job with an assignment that runs on each of five workers, the first three of which are its witnesses.
class LoadFenceTest : public testing::Test {
 protected:
  LoadFenceTest() {
    book_.owned = true;
    book_.zero = now_;
    book_.record.workflows = {{.state = WorkflowState::kRunning, .parts = 5, .begun = true}};
    for (uint32_t i = 0; i < 5; ++i) {
      AssignmentRecord one;
      one.id = AssignmentId(++book_.record.last_assignment);
      one.worker = "w" + std::to_string(i);
      one.life = 10 + i;
      one.parts = {i, 1, 5};
      one.state = AssignmentState::kRunning;
      one.streams = true;
      book_.record.assignments.push_back(one);
      if (i < 3) book_.record.witnesses.push_back({one.worker, one.life});
      fence_.heard(now_, one.worker, one.life);
    }
  }
  // Everybody but these is heard at each tenth of a second. The workers that are gone.
  std::vector<std::string> pass(Duration span, const std::vector<uint32_t>& silent) {
    std::vector<std::string> gone;
    for (const Instant end = now_ + span; now_ < end;) {
      now_ = now_ + Duration::millis(100);
      for (uint32_t i = 0; i < 5; ++i) {
        const bool speaks = std::find(silent.begin(), silent.end(), i) == silent.end();
        if (speaks) fence_.heard(now_, who(i).worker, who(i).life);
      }
      if (fence_.wake() > now_) continue;
      for (const auto& one : fence_.look(now_, out_)) gone.push_back(one.who.worker);
    }
    return gone;
  }
  static Witness who(uint32_t i) { return {"w" + std::to_string(i), 10 + i}; }
  std::size_t denials() const {
    return static_cast<std::size_t>(std::count_if(out_.begin(), out_.end(), [](const JobEffect& effect) {
      return std::holds_alternative<job_effect::Deny>(effect);
    }));
  }

  Instant now_ = Instant::from_ns(1'000'000'000);
  JobBook book_{{load_spec("browse", Duration::minutes(10))}, JobRules(), JobRecord()};
  LoadFence fence_{book_};
  JobEffects out_;
};
using Names = std::vector<std::string>;

TEST_F(LoadFenceTest, a_worker_that_reports_is_left_alone) {
  EXPECT_EQ(pass(kMinute, {}), Names());
  EXPECT_EQ(denials(), 0u);
}

TEST_F(LoadFenceTest, a_silent_worker_is_gone_when_a_majority_has_denied_and_its_last_permit_has_ended) {
  const Instant last = now_;
  EXPECT_EQ(pass(Duration::millis(2'100), {4}), Names());
  ASSERT_EQ(denials(), 1u);
  EXPECT_TRUE(fence_.is_silent(who(4)));
  fence_.denied(now_, who(4), who(0), {});
  EXPECT_EQ(pass(Duration::seconds(10), {4}), Names()) << "one of three is no majority";
  fence_.denied(now_, who(4), who(1), Duration::millis(500));
  EXPECT_EQ(pass(Duration::millis(500), {4}), Names()) << "the permit of this witness lasts";
  EXPECT_EQ(pass(Duration::millis(300), {4}), Names{"w4"});
  EXPECT_GT(now_ - last, book_.rules.permit);
}

TEST_F(LoadFenceTest, nobody_is_gone_before_the_permit_of_the_owner_has_ended) {
  pass(Duration::millis(2'100), {4});
  for (const uint32_t witness : {0u, 1u, 2u}) fence_.denied(now_, who(4), who(witness), {});
  EXPECT_EQ(pass(Duration::millis(900), {4}), Names()) << "3 s after it was last heard";
  EXPECT_EQ(pass(Duration::millis(300), {4}), Names{"w4"});
}

TEST_F(LoadFenceTest, a_worker_that_is_heard_again_goes_on_and_is_denied_anew_later) {
  pass(Duration::millis(2'500), {4});
  for (const uint32_t witness : {0u, 1u}) fence_.denied(now_, who(4), who(witness), {});
  EXPECT_EQ(pass(kMinute, {}), Names());
  EXPECT_FALSE(fence_.is_silent(who(4)));
  EXPECT_EQ(pass(Duration::seconds(10), {4}), Names()) << "the denials were for the silence of before";
  EXPECT_EQ(denials(), 2u);
}

// The answer to a denial comes late, when the worker is silent again and runs what came after that denial.
TEST_F(LoadFenceTest, a_denial_counts_only_if_it_covers_what_a_silent_worker_may_run) {
  pass(Duration::millis(2'100), {4});
  const job_effect::Deny before = std::get<job_effect::Deny>(out_.back());
  EXPECT_TRUE(fence_.wants(before));
  pass(Duration::millis(100), {});
  EXPECT_FALSE(fence_.wants(before)) << "it is heard again";
  AssignmentRecord next = book_.record.assignments[4];
  next.id = AssignmentId(++book_.record.last_assignment);
  book_.record.assignments.push_back(next);
  pass(Duration::millis(2'100), {4});
  const job_effect::Deny now = std::get<job_effect::Deny>(out_.back());
  EXPECT_EQ(now.last, next.id);
  EXPECT_TRUE(fence_.wants(now));
  EXPECT_FALSE(fence_.wants(before));
}

TEST_F(LoadFenceTest, a_silent_witness_is_denied_by_the_others_only) {
  pass(Duration::millis(2'100), {0});
  fence_.denied(now_, who(0), who(0), {});
  fence_.denied(now_, who(0), who(1), {});
  EXPECT_EQ(pass(Duration::seconds(10), {0}), Names()) << "its own word does not count";
  fence_.denied(now_, who(0), who(2), {});
  EXPECT_EQ(pass(Duration::millis(200), {0}), Names{"w0"});
}

TEST_F(LoadFenceTest, a_witness_whose_process_has_ended_gives_no_permits) {
  fence_.process_ended(now_, "w1", 11);
  book_.record.assignments[1].state = AssignmentState::kGone;
  pass(Duration::millis(2'100), {4});
  fence_.denied(now_, who(4), who(0), {});
  EXPECT_EQ(pass(Duration::millis(1'100), {4}), Names{"w4"});
}

TEST_F(LoadFenceTest, the_end_of_another_life_is_not_that_of_a_witness) {
  fence_.process_ended(now_, "w1", 99);
  pass(Duration::millis(2'100), {4});
  fence_.denied(now_, who(4), who(0), {});
  EXPECT_EQ(pass(Duration::seconds(10), {4}), Names());
}

TEST_F(LoadFenceTest, without_a_majority_it_is_gone_when_it_has_stopped_by_itself) {
  EXPECT_EQ(pass(book_.rules.isolation_limit, {4}), Names());
  EXPECT_EQ(pass(Duration::seconds(3), {4}), Names());
  EXPECT_EQ(pass(Duration::seconds(2), {4}).front(), "w4");
}

// Its reports 1 to 5 come, one a second, and it hears no answer after that to the first one.
TEST_F(LoadFenceTest, a_worker_that_hears_no_answer_becomes_silent_although_its_reports_come) {
  EXPECT_TRUE(fence_.heard(now_, who(4).worker, who(4).life, 1, 0));
  EXPECT_EQ(pass(Duration::seconds(1), {4}), Names());
  EXPECT_TRUE(fence_.heard(now_, who(4).worker, who(4).life, 2, 1)) << "it has heard the first answer";
  EXPECT_EQ(pass(Duration::seconds(1), {4}), Names());
  EXPECT_TRUE(fence_.heard(now_, who(4).worker, who(4).life, 3, 1));
  const Instant last = now_;
  EXPECT_EQ(pass(Duration::seconds(1), {4}), Names());
  ASSERT_EQ(denials(), 1u) << "2 s after the answer that did not arrive";
  EXPECT_FALSE(fence_.heard(now_, who(4).worker, who(4).life, 4, 1)) << "a permit would keep its parts from moving";
  for (const uint32_t witness : {0u, 1u}) fence_.denied(now_, who(4), who(witness), {});
  EXPECT_EQ(pass(Duration::millis(1'900), {4}), Names()) << "the permit of the last answer";
  EXPECT_EQ(pass(Duration::millis(300), {4}), Names{"w4"});
  EXPECT_GT(now_ - last, book_.rules.permit);
}

TEST_F(LoadFenceTest, a_silent_worker_that_hears_an_answer_again_gets_permits) {
  fence_.heard(now_, who(4).worker, who(4).life, 1, 0);
  pass(Duration::millis(2'100), {4});
  EXPECT_FALSE(fence_.heard(now_, who(4).worker, who(4).life, 2, 0));
  EXPECT_TRUE(fence_.is_silent(who(4)));
  EXPECT_TRUE(fence_.heard(now_, who(4).worker, who(4).life, 3, 2)) << "the answer to its second report has arrived";
  EXPECT_FALSE(fence_.is_silent(who(4)));
}

TEST_F(LoadFenceTest, a_doubt_of_the_members_begins_the_denials_at_once) {
  EXPECT_TRUE(fence_.doubt(now_, "w4"));
  EXPECT_EQ(fence_.look(now_, out_).size(), 0u);
  EXPECT_EQ(denials(), 1u);
  for (const uint32_t witness : {0u, 1u}) fence_.denied(now_, who(4), who(witness), {});
  EXPECT_EQ(pass(Duration::millis(3'000), {4}), Names());
  EXPECT_EQ(pass(Duration::millis(200), {4}), Names{"w4"});
}

TEST_F(LoadFenceTest, a_dead_worker_keeps_nobody_from_the_end) {
  EXPECT_TRUE(fence_.doubt(now_, "w4"));
  EXPECT_EQ(pass(Duration::seconds(30), {4}), Names()) << "nobody has denied";
  book_.spec[0].length = Duration::seconds(20);
  EXPECT_EQ(pass(Duration::seconds(1), {4}).front(), "w4");
}

TEST_F(LoadFenceTest, nothing_is_past_for_a_new_owner_whose_clock_is_not_certain) {
  book_.adopting = true;
  EXPECT_TRUE(fence_.doubt(now_, "w4"));
  EXPECT_EQ(pass(Duration::seconds(30), {4}), Names()) << "nobody has denied";
  book_.spec[0].length = Duration::seconds(20);
  EXPECT_EQ(pass(Duration::seconds(1), {4}), Names()) << "it may still run";
  book_.adopting = false;
  EXPECT_EQ(pass(Duration::seconds(1), {4}).front(), "w4");
}

TEST_F(LoadFenceTest, what_is_past_does_not_take_along_what_still_runs) {
  book_.spec.push_back(load_spec("short", Duration::seconds(20)));
  book_.record.workflows.push_back({.state = WorkflowState::kRunning, .parts = 1, .begun = true});
  AssignmentRecord past = book_.record.assignments[4];
  past.id = AssignmentId(++book_.record.last_assignment);
  past.workflow = 1;
  past.parts = {0, 1, 1};
  book_.record.assignments.push_back(past);
  EXPECT_TRUE(fence_.doubt(now_, "w4"));
  EXPECT_EQ(pass(Duration::seconds(40), {4}), Names()) << "nobody has denied what still runs";
}

// The job had w0 alone as its witness, and now has three.
TEST_F(LoadFenceTest, a_worker_that_may_know_the_old_witnesses_only_is_denied_by_a_majority_of_each) {
  const auto heard = [&](uint64_t number) { fence_.heard(now_, who(4).worker, who(4).life, number, number - 1); };
  heard(1);
  book_.record.witnesses_before = {who(3)};
  book_.record.witnesses_since = 7;
  heard(2);
  heard(3);
  EXPECT_FALSE(fence_.knows_witnesses(who(4))) << "no quorum has them yet, so it was not told";
  book_.kept_revision = 7;
  heard(4);
  EXPECT_FALSE(fence_.knows_witnesses(who(4)));
  LoadFence knows = fence_;
  EXPECT_TRUE(knows.heard(now_, who(4).worker, who(4).life, 5, 4));
  EXPECT_TRUE(knows.knows_witnesses(who(4))) << "it has heard the answer that told it";
  const auto gone = [&](LoadFence& fence, const std::vector<uint32_t>& denying) {
    fence.doubt(now_, "w4");
    fence.look(now_, out_);
    for (const uint32_t one : denying) fence.denied(now_, who(4), who(one), {});
    return fence.look(now_ + Duration::seconds(4), out_).size();
  };
  EXPECT_EQ(gone(fence_, {0, 1}), 0u) << "w3 may renew its permits";
  EXPECT_EQ(gone(fence_, {3}), 1u);
  EXPECT_EQ(gone(knows, {0, 1}), 1u);
}

TEST_F(LoadFenceTest, what_has_not_begun_has_nothing_to_wait_for) {
  AssignmentRecord& one = book_.record.assignments[4];
  one.streams = false;
  one.state = AssignmentState::kReady;
  EXPECT_FALSE(fence_.may_run(now_, one));
  EXPECT_FALSE(fence_.doubt(now_, "w4"));
  book_.unsighted.insert(one.id);
  EXPECT_TRUE(fence_.may_run(now_, one)) << "the owner before may have begun it";
  book_.unsighted.clear();
  EXPECT_FALSE(fence_.may_run(now_, one));
}

TEST_F(LoadFenceTest, a_new_owner_counts_permits_from_when_it_took_over) {
  LoadFence next(book_);
  next.adopt(now_);
  EXPECT_TRUE(next.doubt(now_, "w4"));
  next.look(now_, out_);
  for (const uint32_t witness : {0u, 1u, 2u}) next.denied(now_, who(4), who(witness), {});
  EXPECT_TRUE(next.look(now_ + book_.rules.permit, out_).empty());
  const auto gone = next.look(now_ + Duration::millis(3'200), out_);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].who, who(4));
}

// It may not keep permits, so neither their end nor a denial says that it has stopped.
TEST_F(LoadFenceTest, a_worker_that_does_not_say_that_it_keeps_permits_is_gone_by_proof_only) {
  book_.record.assignments[4].unfenced = true;
  pass(Duration::millis(2'100), {4});
  EXPECT_TRUE(fence_.is_silent(who(4)));
  for (const uint32_t witness : {0u, 1u, 2u}) fence_.denied(now_, who(4), who(witness), {});
  EXPECT_EQ(pass(book_.rules.isolation_limit * 2, {4}), Names());
  EXPECT_EQ(pass(Duration::seconds(2), {}), Names()) << "it is heard again and goes on";
}

TEST_F(LoadFenceTest, nor_does_time_say_so_of_workers_that_an_owner_without_permits_has_left) {
  book_.record.witnesses.clear();
  EXPECT_EQ(pass(book_.rules.isolation_limit * 2, {4}), Names());
  EXPECT_TRUE(fence_.is_silent(who(4)));
}

TEST_F(LoadFenceTest, a_stopped_job_waits_for_such_a_worker_no_longer_than_for_one_that_is_isolated) {
  book_.record.assignments[4].unfenced = true;
  EXPECT_EQ(pass(book_.rules.isolation_limit, {4}), Names());
  book_.record.stop = JobStop();
  EXPECT_EQ(pass(Duration::seconds(5), {4}).front(), "w4");
}

TEST_F(LoadFenceTest, witnesses_are_workers_that_say_that_they_keep_permits_if_there_are_any) {
  JobPool pool(book_, Prng(1));
  std::vector<WorkerSight> workers;
  for (uint32_t i = 0; i < 5; ++i) {
    workers.push_back({.name = who(i).worker, .life = who(i).life, .cores = 1, .takes_work = true, .permits = i == 3});
  }
  pool.take_in(workers);
  EXPECT_EQ(pool.witnesses(now_), std::vector{who(3)});
  workers[3].permits = false;
  pool.take_in(workers);
  EXPECT_EQ(pool.witnesses(now_).size(), 5u);
  for (const bool permits : {true, false}) {
    workers[0].permits = permits;
    pool.offer(now_, 0, workers[0], {0, 1, 5}, 1, false);
    EXPECT_EQ(book_.record.assignments.back().unfenced, !permits);
  }
}

}  // namespace
}  // namespace bellwether::dispatch
