#include "jobs/dispatch/codec/job_record_codec.h"

#include <gtest/gtest.h>

#include "jobs/dispatch/codec/job_record_testing.h"
#include "proto/job_record.pb.h"

namespace bellwether::dispatch {
namespace {

// A run of `assignments` assignments on as many workers, in its fifth minute, with all figures at their longest.
JobRecord run_of(uint32_t assignments) {
  JobRecord record;
  record.id = std::string(kMaxIdBytes, 'j');
  record.name = "checkout";
  record.by = "somebody@example.org";
  record.bundle = std::string(kMaxIdBytes, 'f');
  record.seed = UINT64_MAX;
  record.submitted = record.started = WallTime{1'800'000'000'000'000'000};
  record.state = JobState::kRunning;
  record.revision = 100'000;
  record.last_assignment = assignments;
  record.workflows.push_back({WorkflowState::kRunning, "", assignments, 0, 3, true});
  for (uint32_t i = 0; i < assignments; ++i) {
    AssignmentRecord assignment;
    assignment.id = AssignmentId(i + 1);
    assignment.worker = "worker-" + std::to_string(i) + ".west.example.org";
    assignment.life = UINT64_MAX - i;
    assignment.parts = {i, 1, assignments};
    assignment.cores = 1;
    assignment.state = AssignmentState::kEnded;
    assignment.from = 3;
    assignment.streams = true;
    assignment.lost_from = Duration::seconds(300) + Duration::nanos(i);
    assignment.end = AssignmentEnd{AssignmentOutcome::kCompleted, "", 300, Duration::seconds(300) + Duration::nanos(i)};
    record.assignments.push_back(assignment);
  }
  return record;
}

// Its events are texts that do not compress.
void add_history(JobRecord& record, std::size_t losses, std::size_t events, std::size_t detail_bytes) {
  Prng prng(5);
  for (std::size_t i = 0; i < losses; ++i) {
    const Duration at = Duration::seconds(250) + Duration::nanos(static_cast<int64_t>(i));
    record.losses.push_back(
        {at, at + Duration::millis(700), 0.005,
         "worker 'worker-" + std::to_string(i) + ".west.example.org' was lost, workflow 'checkout'"});
  }
  for (std::size_t i = 0; i < events; ++i) {
    std::string detail;
    while (detail.size() < detail_bytes) detail += static_cast<char>(prng.between('a', 'z'));
    record.events.push_back({Duration::seconds(250) + Duration::nanos(static_cast<int64_t>(i)), "worker_lost", detail});
  }
}

TEST(JobRecordCodec, each_record_comes_back_as_it_was) {
  AnyRecord any(1);
  for (int i = 0; i < 1'000; ++i) {
    const JobRecord record = any.record();
    const auto bytes = encode_record(record);
    ASSERT_TRUE(bytes) << bytes.error().message << ", record " << i;
    const auto read = read_record(bytes->value);
    ASSERT_TRUE(read) << read.error().message << ", record " << i;
    ASSERT_TRUE(*read == record) << "record " << i;
  }
}

TEST(JobRecordCodec, a_run_on_200_workers_with_a_long_history_fits_its_register) {
  JobRecord record = run_of(200);
  add_history(record, 100, 200, 100);
  const auto bytes = encode_record(record);
  ASSERT_TRUE(bytes) << bytes.error().message;
  RecordProperty("plain", static_cast<int>(record_bytes(record).size()));
  RecordProperty("compressed", static_cast<int>(bytes->value.size()));
  EXPECT_LE(record_bytes(record).size(), kMaxRecordBytes);
  EXPECT_LE(bytes->value.size(), kMaxRecordBytes / 2);
  EXPECT_EQ(*read_record(bytes->value), record);
  EXPECT_EQ(*read_record(record_bytes(record)), record);
}

TEST(JobRecordCodec, a_job_of_many_assignments_fits_its_register) {
  JobRecord record = run_of(500);
  record.workflows.resize(4, record.workflows[0]);
  while (record.assignments.size() < 2'000) {
    AssignmentRecord assignment = record.assignments[record.assignments.size() - 500];
    assignment.id = AssignmentId(++record.last_assignment);
    ++assignment.workflow;
    assignment.end->ran += Duration::nanos(record.last_assignment * 12'347);
    record.assignments.push_back(assignment);
  }
  const auto bytes = encode_record(record);
  ASSERT_TRUE(bytes) << bytes.error().message;
  RecordProperty("compressed", static_cast<int>(bytes->value.size()));
  EXPECT_EQ(*read_record(bytes->value), record);
}

TEST(JobRecordCodec, what_does_not_fit_its_register_is_kept_apart_and_the_register_has_a_summary) {
  JobRecord record = run_of(kMaxAssignments);
  record.stop = JobStop{JobStop::Cause::kCancelled, StopHow::kGraceful, "ann", "enough", 7, false};
  AnyRecord any(4);
  for (AssignmentRecord& assignment : record.assignments) {
    assignment.life = any.prng().next();
    assignment.end->detail = std::string(kMaxTextBytes - 20, 'd') + std::to_string(any.prng().next());
  }
  add_history(record, kMaxLosses, kMaxJobEvents, kMaxTextBytes);
  const auto bytes = encode_record(record);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_LE(record_bytes(record).size(), kMaxLargeRecordBytes / 2) << "figures may take more room than these";
  EXPECT_EQ(*read_record(bytes->large), record);
  ASSERT_TRUE(is_summary(bytes->value));
  EXPECT_LE(bytes->value.size(), 4'096u);
  for (auto clear : {+[](JobRecord& s) { s.workflows.clear(); }, +[](JobRecord& s) { s.assignments.clear(); },
                     +[](JobRecord& s) { s.losses.clear(); }, +[](JobRecord& s) { s.events.clear(); }}) {
    clear(record);
  }
  EXPECT_EQ(*read_record(bytes->value), record);
  const auto small = encode_record(record);
  ASSERT_TRUE(small);
  EXPECT_FALSE(is_summary(small->value));
  EXPECT_EQ(small->large, "");
}

TEST(JobRecordCodec, what_no_owner_could_have_written_is_neither_made_nor_read) {
  JobRecord record = run_of(2);
  record.assignments[1].end.reset();
  EXPECT_EQ(encode_record(record).error().code, Errc::kInvalid);
  const auto read = read_record(record_bytes(record));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kInvalid);
  EXPECT_NE(read.error().message.find("assignment 2 with the state ended without an end"), std::string::npos)
      << read.error().message;
}

TEST(JobRecordCodec, words_for_people_are_made_fit) {
  constexpr std::string_view kFit = "~?~";
  constexpr std::string_view kWild = "~\n~";
  AnyRecord fit(7, kFit);
  AnyRecord wild(7, kWild);
  for (int i = 0; i < 500; ++i) {
    const JobRecord good = fit.record();
    const std::string bytes = record_bytes(good);
    ASSERT_TRUE(record_bytes(wild.record()) == bytes) << "whoever writes makes them fit; record " << i;
    const auto read = read_record(with_wild_texts(bytes, kFit, kWild));
    ASSERT_TRUE(read && *read == good) << "whoever reads, too; record " << i;
  }
}

// The bytes of a good one, spoilt.
template <class Spoil>
::testing::AssertionResult job_record_codec_refuses(Spoil spoil, const std::string& says) {
  JobRecord record = run_of(3);
  add_history(record, 2, 2, 10);
  record.stop = JobStop{};
  wire::JobRecord raw;
  if (!raw.ParseFromString(record_bytes(record))) return ::testing::AssertionFailure() << "it cannot be read";
  spoil(raw);
  const auto read = read_record(raw.SerializeAsString());
  if (read) return ::testing::AssertionFailure() << "taken: " << says;
  if (read.error().code != Errc::kInvalid || read.error().message.find(says) == std::string::npos) {
    return ::testing::AssertionFailure() << read.error().message;
  }
  return ::testing::AssertionSuccess();
}

TEST(JobRecordCodec, columns_that_do_not_fit_together_are_refused) {
  const std::string lengths = "columns of different lengths";
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_workflows()->add_parts(1); }, lengths));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_assignments()->add_id(4); }, lengths));
  EXPECT_TRUE(
      job_record_codec_refuses([](auto& raw) { raw.mutable_assignments()->mutable_worker()->RemoveLast(); }, lengths));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_assignments()->add_ran_ns(1); }, lengths));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_lives()->add_life(1); }, lengths));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_losses()->add_ratio(1); }, lengths));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_events()->add_kind(1); }, lengths));
}

TEST(JobRecordCodec, references_to_what_is_not_there_are_refused) {
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_texts()->RemoveLast(); }, "a missing text"));
  EXPECT_TRUE(
      job_record_codec_refuses([](auto& raw) { raw.mutable_lives()->set_worker(0, UINT32_MAX); }, "a missing text"));
  EXPECT_TRUE(
      job_record_codec_refuses([](auto& raw) { raw.mutable_assignments()->set_worker(1, 3); }, "a missing worker"));
  EXPECT_TRUE(job_record_codec_refuses(
      [](auto& raw) {
        raw.clear_lives();
        raw.mutable_assignments()->clear_worker();
      },
      "a missing worker"));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_assignments()->set_ended(0, 0); },
                                       "figures of a missing end"));
}

TEST(JobRecordCodec, figures_out_of_their_bounds_are_refused) {
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.set_state(kJobStates); }, "an unknown state"));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.set_submitted_ns(-1); }, "an impossible time"));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.set_elapsed_ns(-1); }, "an impossible duration"));
  EXPECT_TRUE(
      job_record_codec_refuses([](auto& raw) { raw.mutable_stop()->set_cause(kStopCauses); }, "an unknown state"));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_stop()->set_how(kStopHows); }, "an unknown state"));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_workflows()->set_state(0, kWorkflowStates); },
                                       "an unknown state"));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_workflows()->set_begun(0, 2); }, "neither 0 nor 1"));
  EXPECT_TRUE(
      job_record_codec_refuses([](auto& raw) { raw.mutable_assignments()->set_streams(0, 2); }, "neither 0 nor 1"));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_assignments()->set_state(0, kAssignmentStates); },
                                       "an unknown state"));
  EXPECT_TRUE(job_record_codec_refuses(
      [](auto& raw) { raw.mutable_assignments()->set_ended(0, kAssignmentOutcomes + 1); }, "an unknown state"));
  EXPECT_TRUE(job_record_codec_refuses([](auto& raw) { raw.mutable_assignments()->set_id(0, 0); },
                                       "an id that was never assigned"));
  EXPECT_TRUE(
      job_record_codec_refuses([](auto& raw) { raw.mutable_assignments()->mutable_of()->Clear(); }, "invalid parts"));
  EXPECT_TRUE(job_record_codec_refuses(
      [](auto& raw) {
        for (std::size_t i = 0; i < 3; ++i) raw.mutable_assignments()->add_squeeze(i == 0 ? 2 : 0);
      },
      "neither 0 nor 1"));
  EXPECT_TRUE(job_record_codec_refuses(
      [](auto& raw) {
        for (std::size_t i = 0; i < 3; ++i) raw.mutable_assignments()->add_workflow(1'000);
      },
      "an impossible workflow"));
  EXPECT_TRUE(
      job_record_codec_refuses([](auto& raw) { raw.mutable_losses()->set_from_ns(0, -1); }, "an impossible duration"));
  EXPECT_TRUE(
      job_record_codec_refuses([](auto& raw) { raw.mutable_events()->set_at_ns(0, -1); }, "an impossible duration"));
}

TEST(JobRecordCodec, more_than_there_may_be_is_refused) {
  const std::string more = "a count above its limit";
  const auto refuses_many = [&](auto add, std::size_t most) {
    return job_record_codec_refuses(
        [&](auto& raw) {
          for (std::size_t i = 0; i <= most; ++i) add(raw);
        },
        more);
  };
  EXPECT_TRUE(refuses_many([](auto& raw) { raw.mutable_workflows()->add_state(0); }, kMaxWorkflows));
  EXPECT_TRUE(refuses_many([](auto& raw) { raw.mutable_assignments()->add_id(1); }, kMaxAssignments));
  EXPECT_TRUE(refuses_many([](auto& raw) { raw.mutable_losses()->add_from_ns(1); }, kMaxLosses));
  EXPECT_TRUE(refuses_many([](auto& raw) { raw.mutable_events()->add_at_ns(1); }, kMaxJobEvents));
  EXPECT_TRUE(refuses_many([](auto& raw) { raw.add_texts("t"); }, 60'000));
}

TEST(JobRecordCodec, what_a_newer_version_adds_is_ignored) {
  AnyRecord any(2);
  for (int i = 0; i < 100; ++i) {
    const JobRecord record = any.record();
    const auto read = read_record(record_bytes(record) + "\xfa\x3f\x05hello");
    ASSERT_TRUE(read && *read == record);
  }
  EXPECT_EQ(read_record("").error().code, Errc::kInvalid);
  EXPECT_EQ(read_record(std::string(9, '\0')).error().code, Errc::kInvalid);
  EXPECT_EQ(read_record("no record").error().code, Errc::kInvalid);
  EXPECT_EQ(read_record(std::string(kMaxLargeRecordBytes + 1, '\0')).error().code, Errc::kInvalid);
}

TEST(JobRecordCodec, what_was_torn_or_changed_does_no_harm) {
  AnyRecord any(3);
  for (int i = 0; i < 5'000; ++i) {
    std::string bytes = i % 2 == 0 ? record_bytes(any.record()) : encode_record(any.record())->value;
    bytes.resize(any.prng().below(bytes.size() + 1));
    if (!bytes.empty()) bytes[any.prng().below(bytes.size())] = static_cast<char>(any.prng().below(256));
    const auto read = read_record(bytes);
    if (!read) continue;
    const auto again = read_record(record_bytes(*read));
    ASSERT_TRUE(again && *again == *read) << "record " << i;
  }
}

}  // namespace
}  // namespace bellwether::dispatch
