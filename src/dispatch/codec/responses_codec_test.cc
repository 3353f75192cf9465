#include <gtest/gtest.h>

#include "account/window_codec.h"
#include "dispatch/codec/bundle_codec.h"
#include "dispatch/codec/letters_codec.h"
#include "dispatch/codec/letters_testing.h"
#include "proto/dispatch.pb.h"

namespace bellwether::dispatch {
namespace {

TEST(ResponsesCodec, each_answer_comes_back_as_it_was) {
  AnyLetter any(1);
  for (std::size_t kind = 0; kind < std::variant_size_v<Response>; ++kind) {
    for (int i = 0; i < 300; ++i) {
      const Response response = any.response(kind);
      ASSERT_EQ(response.index(), kind);
      const auto read = decode_response(encode(response));
      ASSERT_TRUE(read) << read.error().message << ", kind " << kind << ", answer " << i;
      ASSERT_TRUE(*read == response) << "kind " << kind << ", answer " << i;
    }
  }
}

::testing::AssertionResult refused(const Response& response, const std::string& says) {
  const auto read = decode_response(encode(response));
  if (read) return ::testing::AssertionFailure() << "taken: " << says;
  if (read.error().code != Errc::kProtocol || read.error().message.find(says) == std::string::npos) {
    return ::testing::AssertionFailure() << read.error().message;
  }
  return ::testing::AssertionSuccess();
}

template <class Kind, class Spoil>
::testing::AssertionResult refuses(Spoil spoil, const std::string& says) {
  AnyLetter any(2);
  const std::size_t kind = Response(Kind()).index();
  for (int i = 0; i < 20; ++i) {
    Response response = any.response(kind);
    spoil(std::get<Kind>(response));
    const auto result = refused(response, says);
    if (!result) return result;
  }
  return ::testing::AssertionSuccess();
}

TEST(ResponsesCodec, refusals_that_cannot_be_are_refused) {
  EXPECT_TRUE(refuses<Refusal>([](auto& r) { r.owner = std::string(65, 'm'); }, "a name"));
  EXPECT_TRUE(refuses<Refusal>([](auto& r) { r.fence = JobFence(UINT64_MAX); }, "a fence"));
  EXPECT_TRUE(refuses<Refusal>([](auto& r) { r.again_after = Duration::nanos(-1); }, "a span"));
}

TEST(ResponsesCodec, a_refusal_of_a_newer_version_is_one_all_the_same) {
  Refusal from_the_future;
  from_the_future.kind = static_cast<Refusal::Kind>(77);
  from_the_future.why = "for a reason that is yet to come";
  const auto read = decode_response(encode(from_the_future));
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<Refusal>(*read).kind, Refusal::Kind::kUnavailable);
  EXPECT_EQ(std::get<Refusal>(*read).why, from_the_future.why);
}

TEST(ResponsesCodec, a_pressure_of_a_newer_version_is_the_highest_that_is_known) {
  const auto unheard_of = static_cast<resilience::Backpressure>(77);
  const auto applied = decode_response(encode(Applied{2, 1, false, unheard_of}));
  const auto noted = decode_response(encode(Noted{unheard_of}));
  ASSERT_TRUE(applied && noted);
  EXPECT_EQ(std::get<Applied>(*applied).pressure, resilience::Backpressure::kReject);
  EXPECT_EQ(std::get<Noted>(*noted).pressure, resilience::Backpressure::kReject);
}

TEST(ResponsesCodec, answers_that_no_owner_gives_are_refused) {
  EXPECT_TRUE(refuses<Applied>([](auto& a) { a.durable = a.applied + 1; }, "more that is durable"));
  EXPECT_TRUE(refuses<Applied>([](auto& a) { a.applied = UINT64_MAX; }, "a second"));
  EXPECT_TRUE(refuses<Submitted>([](auto& s) { s.job = ""; }, "an id of a job"));
  EXPECT_TRUE(refuses<Submitted>([](auto& s) { s.state = static_cast<JobState>(kJobStates); }, "a state, phase"));
  EXPECT_TRUE(refuses<BundleLetter>([](auto& b) { b.hash = ""; }, "a hash"));
  EXPECT_TRUE(refused(BundleLetter{"job", "c0ffee", std::string(kMostBundleBytes + 1, 'b')}, "more bytes"));
}

TEST(ResponsesCodec, sights_that_no_worker_has_are_refused) {
  const auto sees = [](auto spoil, const char* says) {
    ShareSight sight;
    sight.share = ShareId(1);
    sight.phase = SharePhase::kEnded;
    sight.measured = 5;
    sight.end.last_number = 5;
    spoil(sight);
    return refused(Adopted{{sight}}, says);
  };
  EXPECT_TRUE(sees([](auto& s) { s.share = ShareId(); }, "no share"));
  EXPECT_TRUE(sees([](auto& s) { s.phase = static_cast<SharePhase>(kSharePhases); }, "a state, phase"));
  EXPECT_TRUE(sees([](auto& s) { s.clock = Duration::max(); }, "a clock"));
  EXPECT_TRUE(sees([](auto& s) { s.from = UINT64_MAX; }, "a second"));
  EXPECT_TRUE(sees([](auto& s) { s.measured = UINT64_MAX; }, "a second"));
  EXPECT_TRUE(sees([](auto& s) { s.end.outcome = static_cast<ShareOutcome>(kShareOutcomes); }, "a state, phase"));
  EXPECT_TRUE(sees([](auto& s) { s.end.last_number = 6; }, "an end beyond"));
  ShareSight same;
  same.share = ShareId(1);
  EXPECT_TRUE(refused(Adopted{{same, same}}, "the same share twice"));
  EXPECT_TRUE(refused(Adopted{std::vector(kMostShares + 1, same)}, "more of something"));
}

TEST(ResponsesCodec, what_nobody_could_have_watched_is_refused) {
  EXPECT_TRUE(refuses<Watched>([](auto& w) { w.sheet.id = ""; }, "a sheet"));
  EXPECT_TRUE(refuses<Watched>([](auto& w) { w.owner = "\n"; }, "a name"));
  EXPECT_TRUE(refuses<Watched>([](auto& w) { w.seconds = UINT64_MAX; }, "a second"));
  EXPECT_TRUE(refuses<Watched>([](auto& w) { w.news.resize(kMostNews + 1); }, "more of something"));
  EXPECT_TRUE(refuses<Watched>([](auto& w) { w.live.requests = UINT64_MAX; }, "a sum"));
  EXPECT_TRUE(refuses<Watched>([](auto& w) { w.live.vus = -1; }, "a sum"));
  EXPECT_TRUE(refuses<Watched>([](auto& w) { w.live.age = Duration::nanos(-1); }, "a span"));
  EXPECT_TRUE(refuses<LiveNews>([](auto& n) { n.total.requests = UINT64_MAX; }, "a sum"));
  const auto windows = [](std::size_t number) {
    std::vector<LiveWindow> out(number);
    for (std::size_t i = 0; i < number; ++i) out[i].number = i;
    return out;
  };
  EXPECT_TRUE(refuses<LiveNews>([&](auto& n) { n.windows = windows(kMostLiveWindows + 1); }, "more of something"));
  EXPECT_TRUE(refuses<LiveNews>([&](auto& n) { n.windows.assign(2, windows(1)[0]); }, "not in order"));
  EXPECT_TRUE(refuses<LiveNews>([&](auto& n) { (n.windows = windows(1))[0].number = UINT64_MAX; }, "a window"));
  EXPECT_TRUE(refuses<LiveNews>([&](auto& n) { (n.windows = windows(1))[0].done.vus = -1; }, "a sum"));
  EXPECT_TRUE(refuses<Watched>([](auto& w) { w.news.assign(1, {-Duration::seconds(1), false, ""}); }, "a span"));
  AnyLetter any(3);
  Watched large = std::get<Watched>(any.response(Response(Watched()).index()));
  large.news.assign(1, {Duration::seconds(1), false, std::string(account::kMostWindowBytes + 1, 'w')});
  EXPECT_TRUE(refused(large, "more bytes"));
  large.news.clear();
  large.totals.assign(kMostTotalsBytes + 1, 't');
  EXPECT_TRUE(refused(large, "more bytes"));
}

TEST(ResponsesCodec, lists_that_cannot_be_are_refused) {
  const auto job = [](auto spoil, const char* says) {
    JobLine line;
    line.id = "job";
    spoil(line);
    return refused(JobList{{line}, false}, says);
  };
  EXPECT_TRUE(job([](auto& l) { l.id = ""; }, "an id of a job"));
  EXPECT_TRUE(job([](auto& l) { l.state = static_cast<JobState>(kJobStates); }, "a state, phase"));
  EXPECT_TRUE(job([](auto& l) { l.submitted.unix_ns = -1; }, "a time"));
  EXPECT_TRUE(job([](auto& l) { l.started.unix_ns = INT64_MAX; }, "a time"));
  EXPECT_TRUE(job([](auto& l) { l.ended.unix_ns = INT64_MIN; }, "a time"));
  EXPECT_TRUE(job([](auto& l) { l.owner = std::string(65, 'm'); }, "a name"));
  EXPECT_TRUE(refused(JobList{std::vector<JobLine>(kMostJobLines + 1), false}, "more of something"));
  EXPECT_TRUE(refused(WorkerList{{{"", 1, 1, "", "", 0, ""}}}, "a name"));
  EXPECT_TRUE(refused(WorkerList{{{"w1", kMostCores + 1, 1, "", "", 0, ""}}}, "more cores"));
  EXPECT_TRUE(refused(WorkerList{{{"w1", 1, 2, "", "", 0, ""}}}, "more free cores"));
  EXPECT_TRUE(refused(WorkerList{std::vector<WorkerLine>(kMostWorkerLines + 1)}, "more of something"));
  EXPECT_TRUE(refused(DatacenterList{{{"dc1", 1, 1, 2, 3, "", ""}}}, "more free cores"));
  EXPECT_TRUE(refused(DatacenterList{std::vector<DatacenterLine>(kMostDatacenterLines + 1)}, "more of something"));
}

TEST(ResponsesCodec, words_neither_steer_a_terminal_nor_tear_a_line) {
  constexpr std::string_view kFit = "~?~";
  constexpr std::string_view kWild = "~\n~";
  AnyLetter fit(7, kFit);
  AnyLetter wild(7, kWild);
  for (int i = 0; i < 2'000; ++i) {
    const Response good = fit.response();
    const std::string bytes = encode(good);
    ASSERT_TRUE(encode(wild.response()) == bytes) << "whoever writes makes them fit; kind " << good.index();
    const auto read = decode_response(with_wild_texts(bytes, kFit, kWild));
    ASSERT_TRUE(read && *read == good) << "whoever reads, too; kind " << good.index();
  }
}

TEST(ResponsesCodec, what_a_newer_version_adds_is_ignored) {
  constexpr std::string_view kField = "\xfa\x3f\x05hello";  // number 1,023
  AnyLetter any(4);
  for (int i = 0; i < 100; ++i) {
    const Response response = any.response();
    const auto read = decode_response(encode(response).append(kField));
    ASSERT_TRUE(read && *read == response);
  }
  EXPECT_EQ(decode_response(kField).error().code, Errc::kUnsupported);
  EXPECT_EQ(decode_response("").error().code, Errc::kUnsupported);
  EXPECT_EQ(decode_response("no answer").error().code, Errc::kProtocol);
  EXPECT_EQ(decode_response(std::string(kMostResponseBytes + 1, '\0')).error().code, Errc::kProtocol);
}

TEST(ResponsesCodec, a_large_account_comes_back_as_it_was) {
  AnyLetter any(6);
  Watched large = std::get<Watched>(any.response(Response(Watched()).index()));
  large.totals.assign(std::size_t{10} << 20, 't');
  EXPECT_TRUE(*decode_response(encode(large)) == Response(large));
}

TEST(ResponsesCodec, what_was_torn_or_changed_on_the_way_does_no_harm) {
  AnyLetter any(5);
  for (int i = 0; i < 5'000; ++i) {
    std::string bytes = encode(any.response());
    bytes.resize(any.prng().below(bytes.size() + 1));
    if (!bytes.empty()) bytes[any.prng().below(bytes.size())] = static_cast<char>(any.prng().below(256));
    const auto read = decode_response(bytes);
    if (!read) continue;
    const auto again = decode_response(encode(*read));
    ASSERT_TRUE(again && *again == *read) << "answer " << i;
  }
}

}  // namespace
}  // namespace bellwether::dispatch
