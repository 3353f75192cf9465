#include "jobs/dispatch/codec/sheet_codec.h"

#include <gtest/gtest.h>

#include "jobs/dispatch/codec/sheet_testing.h"
#include "proto/sheet.pb.h"

namespace bellwether::dispatch {
namespace {

// A run of `shares` assignments on as many workers, in its fifth minute, with all figures at their longest.
JobSheet run_of(uint32_t shares) {
  JobSheet sheet;
  sheet.id = std::string(kMostIdBytes, 'j');
  sheet.name = "checkout";
  sheet.by = "somebody@example.org";
  sheet.bundle = std::string(kMostIdBytes, 'f');
  sheet.seed = UINT64_MAX;
  sheet.submitted = sheet.started = WallTime{1'800'000'000'000'000'000};
  sheet.state = JobState::kRunning;
  sheet.revision = 100'000;
  sheet.last_share = shares;
  sheet.workflows.push_back({WorkflowState::kRunning, "", shares, 0, 3, true});
  for (uint32_t i = 0; i < shares; ++i) {
    ShareSheet share;
    share.id = ShareId(i + 1);
    share.worker = "worker-" + std::to_string(i) + ".west.example.org";
    share.life = UINT64_MAX - i;
    share.parts = {i, 1, shares};
    share.cores = 1;
    share.state = ShareState::kEnded;
    share.from = 3;
    share.streams = true;
    share.lost_from = Duration::seconds(300) + Duration::nanos(i);
    share.end = ShareEnd{ShareOutcome::kCompleted, "", 300, Duration::seconds(300) + Duration::nanos(i)};
    sheet.shares.push_back(share);
  }
  return sheet;
}

// Its events are texts that do not compress.
void add_history(JobSheet& sheet, std::size_t losses, std::size_t events, std::size_t detail_bytes) {
  Prng prng(5);
  for (std::size_t i = 0; i < losses; ++i) {
    const Duration at = Duration::seconds(250) + Duration::nanos(static_cast<int64_t>(i));
    sheet.losses.push_back(
        {at, at + Duration::millis(700), 0.005,
         "worker 'worker-" + std::to_string(i) + ".west.example.org' was lost, workflow 'checkout'"});
  }
  for (std::size_t i = 0; i < events; ++i) {
    std::string detail;
    while (detail.size() < detail_bytes) detail += static_cast<char>(prng.between('a', 'z'));
    sheet.events.push_back({Duration::seconds(250) + Duration::nanos(static_cast<int64_t>(i)), "worker_lost", detail});
  }
}

TEST(SheetCodec, each_sheet_comes_back_as_it_was) {
  AnySheet any(1);
  for (int i = 0; i < 1'000; ++i) {
    const JobSheet sheet = any.sheet();
    const auto bytes = encode_sheet(sheet);
    ASSERT_TRUE(bytes) << bytes.error().message << ", sheet " << i;
    const auto read = read_sheet(bytes->value);
    ASSERT_TRUE(read) << read.error().message << ", sheet " << i;
    ASSERT_TRUE(*read == sheet) << "sheet " << i;
  }
}

TEST(SheetCodec, a_run_on_200_workers_with_a_long_history_fits_its_register) {
  JobSheet sheet = run_of(200);
  add_history(sheet, 100, 200, 100);
  const auto bytes = encode_sheet(sheet);
  ASSERT_TRUE(bytes) << bytes.error().message;
  RecordProperty("plain", static_cast<int>(sheet_bytes(sheet).size()));
  RecordProperty("compressed", static_cast<int>(bytes->value.size()));
  EXPECT_LE(sheet_bytes(sheet).size(), kMostSheetBytes);
  EXPECT_LE(bytes->value.size(), kMostSheetBytes / 2);
  EXPECT_EQ(*read_sheet(bytes->value), sheet);
  EXPECT_EQ(*read_sheet(sheet_bytes(sheet)), sheet);
}

TEST(SheetCodec, a_job_of_many_shares_fits_its_register) {
  JobSheet sheet = run_of(500);
  sheet.workflows.resize(4, sheet.workflows[0]);
  while (sheet.shares.size() < 2'000) {
    ShareSheet share = sheet.shares[sheet.shares.size() - 500];
    share.id = ShareId(++sheet.last_share);
    ++share.workflow;
    share.end->ran += Duration::nanos(sheet.last_share * 12'347);
    sheet.shares.push_back(share);
  }
  const auto bytes = encode_sheet(sheet);
  ASSERT_TRUE(bytes) << bytes.error().message;
  RecordProperty("compressed", static_cast<int>(bytes->value.size()));
  EXPECT_EQ(*read_sheet(bytes->value), sheet);
}

TEST(SheetCodec, what_does_not_fit_its_register_is_kept_apart_and_the_register_has_a_summary) {
  JobSheet sheet = run_of(kMostShares);
  sheet.stop = JobStop{JobStop::Cause::kCancelled, StopHow::kGraceful, "ann", "enough", 7, false};
  AnySheet any(4);
  for (ShareSheet& share : sheet.shares) {
    share.life = any.prng().next();
    share.end->detail = std::string(kMostTextBytes - 20, 'd') + std::to_string(any.prng().next());
  }
  add_history(sheet, kMostLosses, kMostJobEvents, kMostTextBytes);
  const auto bytes = encode_sheet(sheet);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_LE(sheet_bytes(sheet).size(), kMostLargeSheetBytes / 2) << "figures may take more room than these";
  EXPECT_EQ(*read_sheet(bytes->large), sheet);
  ASSERT_TRUE(is_summary(bytes->value));
  EXPECT_LE(bytes->value.size(), 4'096u);
  for (auto clear : {+[](JobSheet& s) { s.workflows.clear(); }, +[](JobSheet& s) { s.shares.clear(); },
                     +[](JobSheet& s) { s.losses.clear(); }, +[](JobSheet& s) { s.events.clear(); }}) {
    clear(sheet);
  }
  EXPECT_EQ(*read_sheet(bytes->value), sheet);
  const auto small = encode_sheet(sheet);
  ASSERT_TRUE(small);
  EXPECT_FALSE(is_summary(small->value));
  EXPECT_EQ(small->large, "");
}

TEST(SheetCodec, what_no_owner_could_have_written_is_neither_made_nor_read) {
  JobSheet sheet = run_of(2);
  sheet.shares[1].end.reset();
  EXPECT_EQ(encode_sheet(sheet).error().code, Errc::kInvalid);
  const auto read = read_sheet(sheet_bytes(sheet));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kInvalid);
  EXPECT_NE(read.error().message.find("share 2 with no end"), std::string::npos) << read.error().message;
}

TEST(SheetCodec, words_for_people_are_made_fit) {
  constexpr std::string_view kFit = "~?~";
  constexpr std::string_view kWild = "~\n~";
  AnySheet fit(7, kFit);
  AnySheet wild(7, kWild);
  for (int i = 0; i < 500; ++i) {
    const JobSheet good = fit.sheet();
    const std::string bytes = sheet_bytes(good);
    ASSERT_TRUE(sheet_bytes(wild.sheet()) == bytes) << "whoever writes makes them fit; sheet " << i;
    const auto read = read_sheet(with_wild_texts(bytes, kFit, kWild));
    ASSERT_TRUE(read && *read == good) << "whoever reads, too; sheet " << i;
  }
}

// The bytes of a good one, spoilt.
template <class Spoil>
::testing::AssertionResult sheet_codec_refuses(Spoil spoil, const std::string& says) {
  JobSheet sheet = run_of(3);
  add_history(sheet, 2, 2, 10);
  sheet.stop = JobStop{};
  wire::JobSheet raw;
  if (!raw.ParseFromString(sheet_bytes(sheet))) return ::testing::AssertionFailure() << "it cannot be read";
  spoil(raw);
  const auto read = read_sheet(raw.SerializeAsString());
  if (read) return ::testing::AssertionFailure() << "taken: " << says;
  if (read.error().code != Errc::kInvalid || read.error().message.find(says) == std::string::npos) {
    return ::testing::AssertionFailure() << read.error().message;
  }
  return ::testing::AssertionSuccess();
}

TEST(SheetCodec, columns_that_do_not_fit_together_are_refused) {
  const std::string lengths = "columns of different lengths";
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_workflows()->add_parts(1); }, lengths));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_shares()->add_id(4); }, lengths));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_shares()->mutable_worker()->RemoveLast(); }, lengths));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_shares()->add_ran_ns(1); }, lengths));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_lives()->add_life(1); }, lengths));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_losses()->add_share(1); }, lengths));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_events()->add_kind(1); }, lengths));
}

TEST(SheetCodec, references_to_what_is_not_there_are_refused) {
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_texts()->RemoveLast(); }, "a text that is not there"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_lives()->set_worker(0, UINT32_MAX); },
                                  "a text that is not there"));
  EXPECT_TRUE(
      sheet_codec_refuses([](auto& raw) { raw.mutable_shares()->set_worker(1, 3); }, "a worker that is not there"));
  EXPECT_TRUE(sheet_codec_refuses(
      [](auto& raw) {
        raw.clear_lives();
        raw.mutable_shares()->clear_worker();
      },
      "a worker that is not there"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_shares()->set_ended(0, 0); }, "figures of an end"));
}

TEST(SheetCodec, figures_out_of_their_bounds_are_refused) {
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.set_state(kJobStates); }, "a state"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.set_submitted_ns(-1); }, "a time"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.set_elapsed_ns(-1); }, "a span"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_stop()->set_cause(kStopCauses); }, "a state"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_stop()->set_how(kStopHows); }, "a state"));
  EXPECT_TRUE(
      sheet_codec_refuses([](auto& raw) { raw.mutable_workflows()->set_state(0, kWorkflowStates); }, "a state"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_workflows()->set_begun(0, 2); }, "neither yes nor no"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_shares()->set_streams(0, 2); }, "neither yes nor no"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_shares()->set_state(0, kShareStates); }, "a state"));
  EXPECT_TRUE(
      sheet_codec_refuses([](auto& raw) { raw.mutable_shares()->set_ended(0, kShareOutcomes + 1); }, "a state"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_shares()->set_id(0, 0); }, "an id that was never given"));
  EXPECT_TRUE(
      sheet_codec_refuses([](auto& raw) { raw.mutable_shares()->mutable_of()->Clear(); }, "parts that are none"));
  EXPECT_TRUE(sheet_codec_refuses(
      [](auto& raw) {
        for (std::size_t i = 0; i < 3; ++i) raw.mutable_shares()->add_squeeze(i == 0 ? 2 : 0);
      },
      "neither yes nor no"));
  EXPECT_TRUE(sheet_codec_refuses(
      [](auto& raw) {
        for (std::size_t i = 0; i < 3; ++i) raw.mutable_shares()->add_workflow(1'000);
      },
      "a workflow that cannot be"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_losses()->set_from_ns(0, -1); }, "a span"));
  EXPECT_TRUE(sheet_codec_refuses([](auto& raw) { raw.mutable_events()->set_at_ns(0, -1); }, "a span"));
}

TEST(SheetCodec, more_than_there_may_be_is_refused) {
  const std::string more = "more of something";
  const auto refuses_many = [&](auto add, std::size_t most) {
    return sheet_codec_refuses(
        [&](auto& raw) {
          for (std::size_t i = 0; i <= most; ++i) add(raw);
        },
        more);
  };
  EXPECT_TRUE(refuses_many([](auto& raw) { raw.mutable_workflows()->add_state(0); }, kMostWorkflows));
  EXPECT_TRUE(refuses_many([](auto& raw) { raw.mutable_shares()->add_id(1); }, kMostShares));
  EXPECT_TRUE(refuses_many([](auto& raw) { raw.mutable_losses()->add_from_ns(1); }, kMostLosses));
  EXPECT_TRUE(refuses_many([](auto& raw) { raw.mutable_events()->add_at_ns(1); }, kMostJobEvents));
  EXPECT_TRUE(refuses_many([](auto& raw) { raw.add_texts("t"); }, 60'000));
}

TEST(SheetCodec, what_a_newer_version_adds_is_ignored) {
  AnySheet any(2);
  for (int i = 0; i < 100; ++i) {
    const JobSheet sheet = any.sheet();
    const auto read = read_sheet(sheet_bytes(sheet) + "\xfa\x3f\x05hello");
    ASSERT_TRUE(read && *read == sheet);
  }
  EXPECT_EQ(read_sheet("").error().code, Errc::kInvalid);
  EXPECT_EQ(read_sheet(std::string(9, '\0')).error().code, Errc::kInvalid);
  EXPECT_EQ(read_sheet("no sheet").error().code, Errc::kInvalid);
  EXPECT_EQ(read_sheet(std::string(kMostLargeSheetBytes + 1, '\0')).error().code, Errc::kInvalid);
}

TEST(SheetCodec, what_was_torn_or_changed_does_no_harm) {
  AnySheet any(3);
  for (int i = 0; i < 5'000; ++i) {
    std::string bytes = i % 2 == 0 ? sheet_bytes(any.sheet()) : encode_sheet(any.sheet())->value;
    bytes.resize(any.prng().below(bytes.size() + 1));
    if (!bytes.empty()) bytes[any.prng().below(bytes.size())] = static_cast<char>(any.prng().below(256));
    const auto read = read_sheet(bytes);
    if (!read) continue;
    const auto again = read_sheet(sheet_bytes(*read));
    ASSERT_TRUE(again && *again == *read) << "sheet " << i;
  }
}

}  // namespace
}  // namespace bellwether::dispatch
