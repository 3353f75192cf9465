#include "jobs/dispatch/job_sheet.h"

#include <gtest/gtest.h>
#include <limits>
#include <set>

namespace bellwether::dispatch {
namespace {

// Two workflows, and an assignment in each state.
JobSheet good_sheet() {
  JobSheet sheet;
  sheet.id = "job-1";
  sheet.bundle = "c0ffee";
  sheet.submitted = sheet.started = sheet.ended = WallTime{1'800'000'000'000'000'000};
  sheet.elapsed = Duration::minutes(5);
  sheet.stop = JobStop{JobStop::Cause::kOnError, StopHow::kGraceful, "", "a step failed"};
  sheet.last_share = 9;
  sheet.workflows.resize(2);
  sheet.losses = {{Duration::seconds(1), Duration::seconds(3), 0.25, "w2 died"}};
  sheet.events = {{Duration::seconds(3), "worker_lost", "w2"}};
  for (uint32_t i = 0; i < kShareStates; ++i) {
    ShareSheet share;
    share.id = ShareId(i + 1);
    share.workflow = static_cast<uint16_t>(i % 2);
    share.worker = "w1";
    share.state = static_cast<ShareState>(i);
    share.streams = share.state >= ShareState::kRunning;
    if (share.state == ShareState::kEnded) share.end = ShareEnd{ShareOutcome::kStopped, "", 12, Duration::seconds(12)};
    sheet.shares.push_back(share);
  }
  return sheet;
}

ShareSheet& of(JobSheet& sheet, ShareState state) { return sheet.shares[static_cast<std::size_t>(state)]; }

template <class Spoil>
::testing::AssertionResult refuses(Spoil spoil, const std::string& says) {
  JobSheet sheet = good_sheet();
  spoil(sheet);
  const Status status = check_sheet(sheet);
  if (status) return ::testing::AssertionFailure() << "taken: " << says;
  if (status.error().code != Errc::kInvalid || status.error().message.find(says) == std::string::npos) {
    return ::testing::AssertionFailure() << status.error().message;
  }
  return ::testing::AssertionSuccess();
}

TEST(JobSheet, a_sheet_of_every_state_is_good) {
  const Status status = check_sheet(good_sheet());
  EXPECT_TRUE(status) << status.error().message;
}

TEST(JobSheet, what_no_owner_could_have_written_is_refused) {
  const Duration ages = Duration::hours(24 * 365 * 20);
  EXPECT_TRUE(refuses([](auto& s) { s.id = "a/b"; }, "whose id is none"));
  EXPECT_TRUE(refuses([](auto& s) { s.bundle.clear(); }, "a hash"));
  EXPECT_TRUE(refuses([](auto& s) { s.state = static_cast<JobState>(kJobStates); }, "a state"));
  EXPECT_TRUE(refuses([](auto& s) { s.submitted.unix_ns = -1; }, "a time"));
  EXPECT_TRUE(refuses([](auto& s) { s.started.unix_ns = INT64_MAX; }, "a time"));
  EXPECT_TRUE(refuses([](auto& s) { s.ended.unix_ns = INT64_MIN; }, "a time"));
  EXPECT_TRUE(refuses([](auto& s) { s.elapsed = Duration::nanos(-1); }, "a time"));
  EXPECT_TRUE(refuses([&](auto& s) { s.elapsed = ages; }, "a time"));
  EXPECT_TRUE(refuses([](auto& s) { s.stop->cause = static_cast<JobStop::Cause>(kStopCauses); }, "a stop"));
  EXPECT_TRUE(refuses([](auto& s) { s.stop->how = static_cast<StopHow>(2); }, "a stop"));
  EXPECT_TRUE(refuses([](auto& s) { s.workflows.resize(kMostWorkflows + 1); }, "too many workflows"));
  EXPECT_TRUE(refuses([](auto& s) { s.shares.resize(kMostShares + 1); }, "too many shares"));
  EXPECT_TRUE(refuses([](auto& s) { s.losses.resize(kMostLosses + 1); }, "too many losses"));
  EXPECT_TRUE(refuses([](auto& s) { s.events.resize(kMostJobEvents + 1); }, "too many events"));
  EXPECT_TRUE(refuses([](auto& s) { s.events[0].at = Duration::nanos(-1); }, "an event"));
  EXPECT_TRUE(refuses([](auto& s) { s.losses[0].share = 1.01; }, "a loss of"));
  EXPECT_TRUE(refuses([](auto& s) { s.losses[0].share = std::numeric_limits<double>::quiet_NaN(); }, "a loss of"));
  EXPECT_TRUE(refuses([](auto& s) { s.losses[0].to = Duration::millis(999); }, "a loss that ends"));
  EXPECT_TRUE(refuses([](auto& s) { s.losses[0].from = Duration::nanos(-1); }, "a loss that ends"));
  EXPECT_TRUE(refuses([&](auto& s) { s.losses[0].to = ages; }, "a loss that ends"));
}

TEST(JobSheet, workflows_that_cannot_be_are_refused) {
  EXPECT_TRUE(refuses([](auto& s) { s.workflows[1].state = static_cast<WorkflowState>(kWorkflowStates); },
                      "workflow 1 with a state"));
  EXPECT_TRUE(refuses([](auto& s) { s.workflows[0].parts = kMostParts + 1; }, "workflow 0 with too many parts"));
  EXPECT_TRUE(refuses([](auto& s) { s.workflows[0].base_second = kMostSeconds + 1; }, "workflow 0 with a second"));
}

TEST(JobSheet, shares_that_cannot_be_are_refused) {
  EXPECT_TRUE(refuses([](auto& s) { s.shares[1].id = ShareId(); }, "share 0 with an id"));
  EXPECT_TRUE(refuses([](auto& s) { s.last_share = 5; }, "share 6 with an id"));
  EXPECT_TRUE(refuses([](auto& s) { s.shares[1].id = ShareId(1); }, "two shares with one id"));
  EXPECT_TRUE(refuses([](auto& s) { s.shares[0].workflow = 2; }, "share 1 with a workflow"));
  EXPECT_TRUE(refuses([](auto& s) { s.shares[0].worker.clear(); }, "share 1 with a worker's name"));
  EXPECT_TRUE(refuses([](auto& s) { s.shares[0].parts.count = 0; }, "share 1 with parts"));
  EXPECT_TRUE(refuses([](auto& s) { s.shares[0].cores = kMostParts + 1; }, "share 1 with too many cores"));
  EXPECT_TRUE(refuses([](auto& s) { s.shares[0].state = static_cast<ShareState>(kShareStates); }, "share 1 with a st"));
  EXPECT_TRUE(refuses([](auto& s) { s.shares[0].from = kMostSeconds + 1; }, "share 1 with a second"));
  EXPECT_TRUE(refuses([](auto& s) { s.shares[0].follows = s.shares[0].id; }, "share 1 with a share to follow"));
  EXPECT_TRUE(refuses([](auto& s) { s.shares[0].until = kMostSeconds + 1; }, "share 1 with a second"));
}

TEST(JobSheet, a_share_whose_state_contradicts_itself_is_refused) {
  using enum ShareState;
  EXPECT_TRUE(refuses([](auto& s) { of(s, kRunning).streams = false; }, "no stream"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kEnded).end.reset(); }, "no end"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kRunning).handed_over = true; }, "nothing to hand over"));
  EXPECT_TRUE(refuses(
      [](auto& s) {
        of(s, kOffered).until = 3;
        of(s, kOffered).streams = false;
        of(s, kOffered).handed_over = true;
      },
      "nothing to hand over"));
  EXPECT_TRUE(
      refuses([](auto& s) { of(s, kEnded).end->outcome = static_cast<ShareOutcome>(kShareOutcomes); }, "an outcome"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kEnded).end->last_number = kMostSeconds + 1; }, "a number"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kEnded).end->ran = Duration::max(); }, "a time"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kEnded).end->ran = Duration::nanos(-1); }, "a time"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kGone).lost_from = Duration::nanos(-1); }, "a time"));
  const plan::Finding backwards{plan::Strain::kCpu, Duration::seconds(2), Duration::seconds(1), 1, true};
  EXPECT_TRUE(refuses([&](auto& s) { s.findings = {backwards}; }, "a finding that cannot be"));
  EXPECT_TRUE(refuses([](auto& s) { s.findings.resize(plan::kMostFindings + 1); }, "too many findings"));
}

// The record takes a reported end even if the begin was not reported; the state is kEnded only when the account has all
// its seconds.
TEST(JobSheet, an_end_may_be_known_before_all_is_counted) {
  JobSheet sheet = good_sheet();
  for (ShareSheet& share : sheet.shares) {
    share.end = ShareEnd{ShareOutcome::kCrashed, "signal 9", 7, Duration::seconds(7)};
  }
  EXPECT_TRUE(check_sheet(sheet));
}

TEST(JobSheet, each_state_of_a_share_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kShareStates; ++i) names.insert(to_string(static_cast<ShareState>(i)));
  EXPECT_EQ(names.size(), kShareStates);
  EXPECT_EQ(to_string(ShareState::kOffered), "offered");
  EXPECT_EQ(to_string(ShareState::kGone), "gone");
}

}  // namespace
}  // namespace bellwether::dispatch
