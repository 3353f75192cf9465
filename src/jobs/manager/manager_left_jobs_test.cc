// The jobs that a manager finds: large records, registers that an owner has left halfway, and data files.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/hash.h"
#include "jobs/manager/manager_service_testing.h"
#include "load/codec/totals_codec.h"

namespace bellwether::node {
namespace {

using testing::HasSubstr;

// Its record exceeds the value of a register.
TEST_F(ManagerServiceTest, a_job_of_which_10000_assignments_have_ended_is_taken_over_cancelled_and_shown) {
  start({});
  const std::string bundle = bundle_of(R"yaml(
workflows:
  buy: {vus: 1, duration: 1h, steps: {pay: {http: {get: "http://127.0.0.1:1/"}}}}
)yaml");
  const dispatch::JobRecord left = moved_10000_times(bundle);
  const dispatch::AssignmentId last = left.assignments.back().id;
  worker_.runs.assignments = {{last, dispatch::AssignmentPhase::kRunning, Duration::seconds(1), 0, 0, 0, {}}};
  leave_behind(left, bundle, Left::kWhole);
  until([&] { return service_->jobs() == 1; });

  dispatch::Cancel cancel;
  cancel.job = "j1";
  cancel.by = "ann";
  cancel.number = 1;
  const auto answer = ask(c1_, cancel);
  EXPECT_TRUE(std::holds_alternative<dispatch::Noted>(answer)) << refusal_of(answer).why;
  until([&] { return worker_.stopped.has_value(); });
  EXPECT_EQ(worker_.stopped->assignment, last);
  const dispatch::AssignmentEnd end{dispatch::AssignmentOutcome::kStopped, "", 0, Duration::seconds(2)};
  EXPECT_TRUE(std::holds_alternative<dispatch::Noted>(ask(w1_, dispatch::EndMessage{"j1", last, end, 0})));
  until([&] { return std::count(said_.begin(), said_.end(), "job_over") == 1; });

  // Another manager, which was not its owner, shows the whole of it.
  restart();
  dispatch::Watch watch;
  watch.job = "j1";
  const auto shown = ask(c1_, watch);
  const auto* watched = std::get_if<dispatch::Watched>(&shown);
  ASSERT_NE(watched, nullptr) << refusal_of(shown).why;
  EXPECT_EQ(watched->record.state, dispatch::JobState::kCancelled);
  ASSERT_EQ(watched->record.assignments.size(), left.assignments.size());
  EXPECT_EQ(watched->record.assignments[4'000], left.assignments[4'000]);
  EXPECT_EQ(watched->record.assignments.back().state, dispatch::AssignmentState::kEnded);
  const auto listed = ask(c1_, dispatch::ListJobs{});
  ASSERT_EQ(std::get<dispatch::JobList>(listed).jobs.size(), 1u);
  EXPECT_EQ(std::get<dispatch::JobList>(listed).jobs[0].name, "buy");
}

TEST_F(ManagerServiceTest, without_a_quorum_a_client_gets_what_the_copies_and_the_workers_have) {
  start({});
  const dispatch::JobRecord left = moved_10000_times(test_bundle());
  const dispatch::AssignmentId last = left.assignments.back().id;
  leave_behind(left, test_bundle(), Left::kWhole);
  store_.away = true;
  const auto plan = plan::plan_of(*dispatch::decode_bundle(test_bundle()));
  const metrics::Window window = ingest::random_window(prng_, 0);
  aggregate::Totals measured(*plan);
  measured.add(window);
  ASSERT_GT(measured.counts().requests, 0u);
  worker_.kept.windows = {{"j1", last, 0, 1, 1, ingest::encode_window(window)}};
  const dispatch::AssignmentEnd end{dispatch::AssignmentOutcome::kStopped, "", 1, Duration::seconds(1)};
  worker_.kept.ends = {{"j1", last, end, 0}};

  const auto unconfirmed = [&](uint64_t requests, const std::string& detail) {
    const auto answer = ask(c1_, dispatch::FetchUnconfirmed{"j1"});
    const auto* watched = std::get_if<dispatch::Watched>(&answer);
    ASSERT_NE(watched, nullptr) << refusal_of(answer).why;
    EXPECT_FALSE(watched->final);
    auto totals = ingest::decode_totals(watched->totals, *plan);
    ASSERT_TRUE(totals);
    EXPECT_EQ(aggregate::Totals::restore(*plan, std::move(*totals)).counts().requests, requests);
    EXPECT_EQ(watched->record.assignments.size(), left.assignments.size());
    EXPECT_EQ(watched->record.assignments.back().end.has_value(), requests > 0);
    EXPECT_EQ(watched->record.events.back().kind, "unconfirmed");
    EXPECT_THAT(watched->record.events.back().detail, HasSubstr(detail));
  };
  unconfirmed(measured.counts().requests, "manager 'm1' counted what 1 of 1 worker still kept");
  worker_.kept = {{{"j1", last, 0, 2, 2, ingest::encode_window(window)}}, {}};
  unconfirmed(0, "1 of 1 worker still kept; some of it is missing");
  around_.places.erase("w1");
  unconfirmed(0, "what 0 of 1 worker still kept; no answer from 'w1'");
  EXPECT_EQ(refusal_of(ask(c1_, dispatch::FetchUnconfirmed{"j2"})).kind, dispatch::Refusal::Kind::kUnavailable)
      << "another manager may know it";
  EXPECT_EQ(service_->jobs(), 0u);
  around_.places["w1"] = w1_.address();
}

TEST_F(ManagerServiceTest, a_large_record_that_its_register_does_not_name_yet_is_where_the_next_owner_goes_on_from) {
  start({});
  leave_behind(moved_10000_times(test_bundle()), test_bundle(), Left::kHalf);
  const auto state = [&] {
    const auto content = registers::parse_content(register_replica_.find("j1")->value);
    return dispatch::read_record(*content->value)->state;
  };
  EXPECT_EQ(state(), dispatch::JobState::kRunning);
  until([&] { return state() == dispatch::JobState::kCancelled; });
  EXPECT_EQ(service_->jobs(), 0u);
}

TEST_F(ManagerServiceTest, a_register_that_missed_that_its_job_was_forgotten_is_retired_by_whoever_takes_it) {
  start({});
  const dispatch::JobRecord left = moved_10000_times(test_bundle());
  leave_behind(left, test_bundle(), Left::kForgotten);
  until([&] {
    return register_replica_.find("j1") != nullptr && registers::is_retired(register_replica_.find("j1")->value);
  });
  EXPECT_EQ(service_->jobs(), 0u);
}

// Its owner died when one replica had accepted the end: the next owner may end the job with another record.
TEST_F(ManagerServiceTest, an_end_of_which_nobody_knows_whether_a_majority_has_it_is_not_shown_before_that_is_known) {
  start({});
  until([&] { return register_replica_.has_read(); });
  dispatch::JobRecord record;
  record.id = "j1";
  record.state = dispatch::JobState::kCompleted;
  record.name = "buy";
  record.by = "ann";
  record.bundle = dispatch::bundle_hash(test_bundle());
  record.workflows.push_back({dispatch::WorkflowState::kCompleted, "", 1, 1, 0, true});
  record.revision = 9;
  record.submitted = record.ended = runtime_.wall_now();
  const auto bytes = dispatch::encode_record(record);
  ASSERT_TRUE(bytes) << bytes.error().message;
  const registers::Claim claim{jobs::JobFence(7), lines_.self_id(), 99};
  const registers::Accept last{1, registers::bytes_of_value(bytes->value)};
  lines_.send(lines_.self_id(), registers::Ask{"j1", 1, Duration::seconds(5), claim, last});
  until([&] { return register_replica_.find("j1") != nullptr; });

  dispatch::Watch watch;
  watch.job = "j1";
  dispatch::Cancel cancel;
  cancel.job = "j1";
  const auto listed = [&] { return std::get<dispatch::JobList>(ask(c1_, dispatch::ListJobs{})).jobs.at(0); };
  EXPECT_EQ(refusal_of(ask(c1_, watch)).kind, dispatch::Refusal::Kind::kUnavailable);
  EXPECT_EQ(refusal_of(ask(c1_, cancel)).kind, dispatch::Refusal::Kind::kUnavailable);
  EXPECT_EQ(listed().state, dispatch::JobState::kCompleting);
  EXPECT_EQ(listed().ended, client::Moment());

  const auto takeovers = [&] { return std::count(said_.begin(), said_.end(), "job_not_taken"); };
  until([&] { return takeovers() == 1; });
  const auto shown = ask(c1_, watch);
  const auto* const watched = std::get_if<dispatch::Watched>(&shown);
  ASSERT_NE(watched, nullptr) << refusal_of(shown).why;
  EXPECT_TRUE(watched->final);
  EXPECT_EQ(watched->record, record);
  EXPECT_EQ(refusal_of(ask(c1_, cancel)).kind, dispatch::Refusal::Kind::kConflict);
  EXPECT_EQ(listed().state, dispatch::JobState::kCompleted);
  machine_.run_for(Duration::minutes(2));
  EXPECT_EQ(takeovers(), 1) << "once is enough";
}

TEST_F(ManagerServiceTest, a_job_with_a_data_file_is_accepted_once_a_majority_has_the_file) {
  ManagerSettings settings;
  settings.coordinator.rules.worker_wait = Duration::hours(5);
  start(settings);
  std::string rows = "name\n";
  while (rows.size() <= dispatch::kMaxFileChunk) rows += "ann\n";
  const FileRef file{sha256_hex(rows), rows.size()};
  scenario::Bundle bundle = *dispatch::decode_bundle(test_bundle());
  std::get<scenario::RecordedScenario>(bundle).apart[{"users.csv", 1 << 30}] = file;
  const std::string bytes = *dispatch::encode_bundle(bundle);
  dispatch::Refusal refused = refusal_of(submit("j1", bytes));
  EXPECT_EQ(refused.kind, dispatch::Refusal::Kind::kBusy) << "a client asks again";
  EXPECT_THAT(refused.why, HasSubstr("a majority of the managers does not have the data file"));

  const auto put = [&](uint64_t offset, const std::string& chunk) {
    return std::get<dispatch::FileState>(ask(c1_, dispatch::PutFile{file, offset, chunk}));
  };
  EXPECT_EQ(put(0, {}), (dispatch::FileState{0, false}));
  const std::string first = rows.substr(0, dispatch::kMaxFileChunk);
  EXPECT_EQ(put(0, first), (dispatch::FileState{first.size(), false}));
  EXPECT_EQ(refusal_of(submit("j1", bytes)).kind, dispatch::Refusal::Kind::kBusy);
  EXPECT_EQ(put(first.size(), rows.substr(first.size())), (dispatch::FileState{rows.size(), true}));
  EXPECT_EQ(put(0, {}), (dispatch::FileState{rows.size(), true})) << "a second upload sends nothing";
  ASSERT_TRUE(std::holds_alternative<dispatch::Submitted>(submit("j1", bytes)));

  const auto chunk = ask(w1_, dispatch::FetchFile{file, first.size()});
  EXPECT_EQ(std::get<dispatch::FileChunk>(chunk).bytes, rows.substr(first.size()));
  EXPECT_EQ(refusal_of(ask(w1_, dispatch::FetchFile{{std::string(64, 'a'), 5}, 0})).kind,
            dispatch::Refusal::Kind::kUnknown);
  machine_.run_for(Duration::hours(2));
  EXPECT_FALSE(std::holds_alternative<dispatch::Refusal>(ask(w1_, dispatch::FetchFile{file, 0})))
      << "the job waits, and needs it";
  dispatch::Cancel cancel;
  cancel.job = "j1";
  ASSERT_TRUE(std::holds_alternative<dispatch::Noted>(ask(c1_, cancel)));
  machine_.run_for(Duration::hours(2));
  EXPECT_EQ(refusal_of(ask(w1_, dispatch::FetchFile{file, 0})).kind, dispatch::Refusal::Kind::kUnknown);
}

}  // namespace
}  // namespace bellwether::node
