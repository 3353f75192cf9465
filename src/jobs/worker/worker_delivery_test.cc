// The delivery of measured seconds to the owner of the job.
#include "jobs/worker/worker_service_testing.h"

namespace bellwether::node {
namespace {

using dispatch::AssignmentId;
using dispatch::Refusal;
using testing::HasSubstr;

struct WorkerDelivery : WorkerServiceTest {
  FakeProcess& process = *run_assignment(1);
};

struct WorkerDeliveryAmongThree : WorkerDelivery {
  WorkerDeliveryAmongThree() {
    three_.disown(two_.not_mine);
    managers_.all.push_back(m3_.address());
    one_.silent = true;
    measure(process, 0);
  }
  void TearDown() override {
    WorkerDelivery::TearDown();
    machine_.run(m3_.close());
  }

  TestNode m3_{runtime_, "m3", wire::Role::kManager, kAnyPort, kJobMessages};
  FakeManager three_{m3_, safe_};
};

TEST_F(WorkerDelivery, asks_the_others_when_the_owner_does_not_answer_and_loses_nothing) {
  one_.silent = true;
  for (uint64_t second = 0; second < 8; ++second) measure(process, second);
  until([&] { return two_.refused > 0; });
  one_.silent = false;
  until([&] { return applied(1) == 8; });
  expect_all_counted(one_);
}

TEST_F(WorkerDelivery, follows_who_is_named_as_the_owner) {
  two_.own();
  Refusal other;
  other.owner = "m2";
  other.fence = dispatch::JobFence(2);
  one_.disown(other);
  for (uint64_t second = 0; second < 3; ++second) measure(process, second);
  until([&] { return applied(1) == 3; });
  EXPECT_EQ(one_.windows, 0u);
  EXPECT_EQ(service_->kernel().owner_of("j1"), "m2");
  expect_all_counted(two_);
}

TEST_F(WorkerDelivery, who_takes_what_was_measured_is_the_owner) {
  one_.disown({});  // it names no owner
  two_.own();
  measure(process, 0);
  until([&] { return service_->kernel().owner_of("j1") == "m2"; });
  const uint64_t before = one_.refused;
  measure(process, 1);
  until([&] { return applied(1) == 2; });
  EXPECT_EQ(one_.refused, before) << "it was not asked again";
}

TEST_F(WorkerDeliveryAmongThree, an_owner_that_another_manager_names_is_asked_before_the_rest) {
  until([&] { return two_.refused > 0; });
  one_.silent = false;
  until([&] { return applied(1) == 1; });
  EXPECT_EQ(three_.refused, 0u);
}

TEST_F(WorkerDeliveryAmongThree, each_manager_has_its_turn_while_all_name_an_owner_that_is_silent) {
  until([&] { return three_.refused > 0; });
  EXPECT_EQ(two_.refused, 1u);
}

TEST_F(WorkerDelivery, a_new_owner_that_does_not_take_it_yet_is_asked_again_soon) {
  one_.disown({});
  two_.disown({});
  measure(process, 0);
  machine_.run_for(Duration::seconds(20));  // the pauses have grown to a second and more
  const uint64_t before = one_.refused + two_.refused;
  ask(two_, two_.adoption(2));
  machine_.run_for(Duration::millis(900));
  EXPECT_GE(one_.refused + two_.refused, before + 3);
}

TEST_F(WorkerDelivery, an_owner_that_was_replaced_is_not_believed_though_the_new_one_is_silent) {
  two_.own();
  ask(two_, two_.adoption(2));
  two_.silent = true;
  process.to.on_ended({AssignmentEnd::How::kCompleted, {}, Duration::seconds(1)});
  until([&] { return !one_.ends.empty(); });
  two_.silent = false;
  until([&] { return !two_.ends.empty(); });
}

TEST_F(WorkerDelivery, two_managers_that_name_each_other_do_not_keep_it_busy) {
  Refusal other;
  other.owner = "m2";
  other.fence = dispatch::JobFence(2);
  one_.disown(other);
  other.owner = "m1";
  two_.disown(other);
  measure(process, 0);
  machine_.run_for(Duration::millis(300));
  EXPECT_LT(one_.refused + two_.refused, 30u);
  one_.own();
  until([&] { return applied(1) == 1; });
  EXPECT_EQ(one_.windows, 1u);
}

TEST_F(WorkerDelivery, a_new_owner_goes_on_from_the_copy_that_was_safe) {
  for (uint64_t second = 0; second < 4; ++second) measure(process, second);
  until([&] { return applied(1) == 4; });  // and durable
  for (uint64_t second = 4; second < 7; ++second) measure(process, second);
  until([&] { return one_.windows >= 7; });
  one_.disown({});
  two_.own();
  const auto answer = ask(two_, two_.adoption(2));
  const auto* adopted = std::get_if<dispatch::Adopted>(&answer);
  ASSERT_NE(adopted, nullptr);
  ASSERT_EQ(adopted->assignments.size(), 1u);
  EXPECT_EQ(adopted->assignments[0].measured, 7u);
  for (uint64_t second = 7; second < 9; ++second) measure(process, second);
  until([&] { return applied(1) == 9; });
  expect_all_counted(two_);
  EXPECT_TRUE(process.stops.empty()) << "the load goes on";
  const auto old = ask(one_, dispatch::StopMessage{"j1", dispatch::JobFence(1), AssignmentId(1), {}, "old"});
  EXPECT_EQ(refusal(old).kind, Refusal::Kind::kStale);
  EXPECT_EQ(refusal(old).owner, "m2");
}

TEST_F(WorkerDelivery, what_an_owner_noted_before_it_died_is_told_to_the_next_one) {
  measure(process, 0);
  process.to.on_ended({AssignmentEnd::How::kCompleted, {}, Duration::seconds(1)});
  until([&] { return !one_.ends.empty(); });
  one_.disown({});
  two_.own();  // from an empty copy
  ask(two_, two_.adoption(2));
  until([&] { return !two_.ends.empty(); });
  EXPECT_EQ(two_.ends[0].end.last_number, 1u);
  expect_all_counted(two_);
}

TEST_F(WorkerDelivery, what_is_lost_on_the_way_back_is_counted_once) {
  one_.loses_answers = 1;
  measure(process, 0);
  until([&] { return one_.windows == 1; });
  one_.loses_answers = 0;
  measure(process, 1);
  until([&] { return applied(1) == 2; });
  EXPECT_EQ(one_.windows, 3u) << "the first one came twice";
  expect_all_counted(one_);
}

TEST_F(WorkerDelivery, load_that_belongs_to_somebody_else_is_stopped_and_not_kept) {
  one_.all_is_excess = true;
  measure(process, 0);
  until([&] { return !process.stops.empty(); });
  EXPECT_THAT(process.stops, testing::ElementsAre(false));
  process.to.on_second(1, ingest::encode_window(ingest::empty_window()), Duration::seconds(1));
  process.to.on_ended({AssignmentEnd::How::kStopped, {}, Duration::seconds(1)});
  until([&] { return !one_.ends.empty(); });
  EXPECT_THAT(one_.ends[0].end.detail, HasSubstr("reassigned"));
  EXPECT_EQ(one_.windows, 1u);
}

TEST_F(WorkerDelivery, screens_are_told_what_its_assignments_do) {
  measure(process, 0);
  until([&] { return applied(1) == 1; });
  vuser::Tally tally;
  tally.requests = 12;
  tally.vus_active = 3;
  process.to.on_counters({.tally = tally});
  until([&] { return !one_.lives.empty(); });
  ASSERT_EQ(one_.lives[0].assignments.size(), 1u);
  EXPECT_EQ(one_.lives[0].assignments[0].requests, 12u);
  EXPECT_EQ(one_.lives[0].assignments[0].vus, 3);
  tally.requests = 20;
  process.to.on_counters({.tally = tally});
  until([&] { return one_.lives.size() == 2; });
  EXPECT_GT(one_.lives[1].number, one_.lives[0].number);
  EXPECT_EQ(one_.lives[1].assignments[0].requests, 20u);
  EXPECT_TRUE(two_.lives.empty()) << "who does not own the job";
}

TEST_F(WorkerDelivery, the_last_counters_of_an_assignment_are_told_when_it_has_ended_before_its_end_is) {
  measure(process, 0);
  until([&] { return applied(1) == 1; });
  vuser::Tally tally;
  tally.requests = 12;
  tally.vus_active = 3;
  process.to.on_counters({tally});
  until([&] { return one_.lives.size() == 1; });
  tally.requests = 20;
  process.to.on_counters({tally});
  process.to.on_ended({AssignmentEnd::How::kCompleted, {}, Duration::seconds(1)});
  until([&] { return !one_.ends.empty(); });
  ASSERT_GE(one_.lives.size(), 2u);
  EXPECT_EQ(one_.lives[1].assignments.at(0).requests, 20u);
  EXPECT_EQ(one_.lives[1].assignments.at(0).vus, 0);
  EXPECT_GE(one_.lives[1].collected, one_.lives[0].collected);
  EXPECT_GT(one_.lives[0].collected, Instant());
}

TEST_F(WorkerDelivery, drains_by_waiting_for_the_end_and_for_its_delivery) {
  measure(process, 0);
  const auto late = machine_.run(service_->drain(runtime_.now() + Duration::millis(50), nullptr));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("1 assignments are still running"));
  until([&] { return one_.reports.back().state == "draining"; });
  EXPECT_EQ(refusal(ask(one_, dispatch::Offer{test_order(2)})).kind, Refusal::Kind::kBusy);
  process.to.on_ended({AssignmentEnd::How::kCompleted, {}, Duration::seconds(1)});
  until([&] { return !one_.ends.empty(); });
  const auto unsafe = machine_.run(service_->drain(runtime_.now() + Duration::millis(50), nullptr));
  ASSERT_FALSE(unsafe);
  EXPECT_THAT(unsafe.error().message, HasSubstr("no manager has accepted all"));
  one_.make_safe();
  EXPECT_TRUE(machine_.run(service_->drain(runtime_.now() + Duration::seconds(20), nullptr)));
  expect_all_counted(one_);
}

TEST_F(WorkerDelivery, shows_a_manager_what_it_keeps_and_its_owner_gets_all_of_it_later) {
  one_.silent = true;
  for (uint64_t second = 0; second < 3; ++second) measure(process, second);
  const auto kept = [this](const std::string& job, uint64_t from) {
    return std::get<dispatch::Kept>(ask(two_, dispatch::FetchKept{job, {{AssignmentId(1), from}}}));
  };
  EXPECT_EQ(kept("j1", 0).windows.size(), 3u);
  EXPECT_TRUE(kept("j1", 0).ends.empty());
  process.to.on_ended({AssignmentEnd::How::kCompleted, {}, Duration::seconds(3)});
  turn();
  const dispatch::Kept rest = kept("j1", 2);
  ASSERT_EQ(rest.windows.size(), 1u);
  EXPECT_EQ(rest.windows[0].first, 3u);
  EXPECT_EQ(rest.windows[0].assignment, AssignmentId(1));
  ASSERT_EQ(rest.ends.size(), 1u);
  EXPECT_EQ(rest.ends[0].end.outcome, dispatch::AssignmentOutcome::kCompleted);
  EXPECT_EQ(kept("j2", 0), dispatch::Kept{});
  one_.silent = false;
  until([&] { return !one_.ends.empty(); });
  expect_all_counted(one_);
}

}  // namespace
}  // namespace bellwether::node
