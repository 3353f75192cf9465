#include "dispatch/codec/letters_codec.h"

#include <gtest/gtest.h>

#include "account/window_codec.h"
#include "dispatch/codec/bundle_codec.h"
#include "dispatch/codec/letters_testing.h"
#include "proto/dispatch.pb.h"

namespace bellwether::dispatch {
namespace {

TEST(LettersCodec, each_letter_comes_back_as_it_was) {
  AnyLetter any(1);
  for (std::size_t kind = 0; kind < std::variant_size_v<Letter>; ++kind) {
    for (int i = 0; i < 300; ++i) {
      const Letter letter = any.letter(kind);
      ASSERT_EQ(letter.index(), kind);
      const auto read = decode_letter(encode(letter));
      ASSERT_TRUE(read) << read.error().message << ", kind " << kind << ", letter " << i;
      ASSERT_TRUE(*read == letter) << "kind " << kind << ", letter " << i;
    }
  }
}

// `says`: a piece of why.
::testing::AssertionResult refused(const Letter& letter, const std::string& says) {
  const auto read = decode_letter(encode(letter));
  if (read) return ::testing::AssertionFailure() << "taken: " << says;
  if (read.error().code != Errc::kProtocol || read.error().message.find(says) == std::string::npos) {
    return ::testing::AssertionFailure() << read.error().message;
  }
  return ::testing::AssertionSuccess();
}

// A good one of its kind, spoilt.
template <class Kind, class Spoil>
::testing::AssertionResult refuses(Spoil spoil, const std::string& says) {
  AnyLetter any(2);
  const std::size_t kind = Letter(Kind()).index();
  for (int i = 0; i < 20; ++i) {
    Letter letter = any.letter(kind);
    spoil(std::get<Kind>(letter));
    const auto result = refused(letter, says);
    if (!result) return result;
  }
  return ::testing::AssertionSuccess();
}

TEST(LettersCodec, reports_that_no_worker_makes_are_refused) {
  using Held = WorkerReport::Held;
  const Held good{"job", JobFence(1), ShareId(1), SharePhase::kReady};
  const auto holds = [&](auto spoil, const char* says) {
    return refuses<WorkerReport>(
        [&](WorkerReport& report) {
          report.held.assign(1, good);
          spoil(report.held[0]);
        },
        says);
  };
  EXPECT_TRUE(refuses<WorkerReport>([](auto& r) { r.life = 0; }, "no life"));
  EXPECT_TRUE(refuses<WorkerReport>([](auto& r) { r.cores = kMostCores + 1; }, "more cores"));
  EXPECT_TRUE(refuses<WorkerReport>([](auto& r) { r.free = r.cores + 1; }, "more free cores"));
  EXPECT_TRUE(refuses<WorkerReport>([&](auto& r) { r.held.assign(kMostHeldShares + 1, good); }, "more of something"));
  EXPECT_TRUE(refuses<WorkerReport>([&](auto& r) { r.held.assign(2, good); }, "the same share twice"));
  EXPECT_TRUE(holds([](Held& held) { held.job = "a/b"; }, "an id of a job"));
  EXPECT_TRUE(holds([](Held& held) { held.fence = JobFence(); }, "no fence"));
  EXPECT_TRUE(holds([](Held& held) { held.fence = JobFence(UINT64_MAX); }, "a fence"));
  EXPECT_TRUE(holds([](Held& held) { held.share = ShareId(); }, "no share"));
  EXPECT_TRUE(holds([](Held& held) { held.phase = static_cast<SharePhase>(kSharePhases); }, "a state, phase"));
  WorkerReport two;
  two.life = 1;
  two.held = {good, good};
  two.held[1].job = "another";
  EXPECT_TRUE(decode_letter(encode(two))) << "shares of different jobs may have one number";
}

TEST(LettersCodec, what_no_share_could_have_told_is_refused) {
  EXPECT_TRUE(refuses<WindowLetter>([](auto& w) { w.job.clear(); }, "an id of a job"));
  EXPECT_TRUE(refuses<WindowLetter>([](auto& w) { w.share = ShareId(); }, "no share"));
  EXPECT_TRUE(refuses<WindowLetter>([](auto& w) { w.first = 0; }, "numbers of a stream"));
  EXPECT_TRUE(refused(WindowLetter{"job", ShareId(1), 0, 8, 7, ""}, "numbers of a stream"));
  EXPECT_TRUE(refuses<WindowLetter>([](auto& w) { w.last = kMostSeconds + 1; }, "a second"));
  EXPECT_TRUE(refuses<WindowLetter>([](auto& w) { w.from = kMostSeconds + 1; }, "a second"));
  EXPECT_TRUE(
      refused(WindowLetter{"job", ShareId(1), 0, 1, 1, std::string(account::kMostWindowBytes + 1, 'w')}, "more bytes"));
  EXPECT_TRUE(refuses<EndLetter>([](auto& e) { e.job = "?"; }, "an id of a job"));
  EXPECT_TRUE(refuses<EndLetter>([](auto& e) { e.share = ShareId(); }, "no share"));
  EXPECT_TRUE(refuses<EndLetter>([](auto& e) { e.until = kMostSeconds + 1; }, "a second"));
  EXPECT_TRUE(
      refuses<EndLetter>([](auto& e) { e.end.outcome = static_cast<ShareOutcome>(kShareOutcomes); }, "a state, phase"));
  EXPECT_TRUE(refuses<EndLetter>([](auto& e) { e.end.last_number = kMostSeconds + 1; }, "a second"));
  EXPECT_TRUE(refuses<EndLetter>([](auto& e) { e.end.ran = Duration::max(); }, "a span"));
  EXPECT_TRUE(refuses<EndLetter>([](auto& e) { e.end.notes.resize(kMostNotes + 1, "x"); }, "more of something"));
}

TEST(LettersCodec, live_figures_that_cannot_be_are_refused) {
  const LiveLetter::Share good{"job", ShareId(1), 1, 2, 3, 4, 5};
  const auto shows = [&](auto spoil, const char* says) {
    LiveLetter live{1, {good}, {}};
    spoil(live.shares[0]);
    return refused(live, says);
  };
  EXPECT_TRUE(shows([](auto& s) { s.job = ""; }, "an id of a job"));
  EXPECT_TRUE(shows([](auto& s) { s.share = ShareId(); }, "no share"));
  EXPECT_TRUE(shows([](auto& s) { s.requests = UINT64_MAX; }, "a count"));
  EXPECT_TRUE(shows([](auto& s) { s.failed = UINT64_MAX; }, "a count"));
  EXPECT_TRUE(shows([](auto& s) { s.iterations = UINT64_MAX; }, "a count"));
  EXPECT_TRUE(shows([](auto& s) { s.dropped = UINT64_MAX; }, "a count"));
  EXPECT_TRUE(shows([](auto& s) { s.vus = -1; }, "a count"));
  EXPECT_TRUE(refused(LiveLetter{1, {good, good}, {}}, "the same share twice"));
  EXPECT_TRUE(refused(LiveLetter{1, std::vector(kMostHeldShares + 1, good), {}}, "more of something"));
  EXPECT_TRUE(refused(LiveLetter{1, {good}, Instant::from_ns(-1)}, "a span"));
  EXPECT_TRUE(refuses<WatchLive>([](auto& w) { w.job = "?"; }, "an id of a job"));
  EXPECT_TRUE(refuses<WatchLive>([](auto& w) { w.wait = Duration::nanos(-1); }, "a span"));
}

TEST(LettersCodec, orders_that_no_owner_gives_are_refused) {
  const auto order = [](auto spoil, const char* says) {
    return refuses<Offer>([&](Offer& offer) { spoil(offer.order); }, says);
  };
  EXPECT_TRUE(order([](auto& o) { o.job = ".."; }, "an id of a job"));
  EXPECT_TRUE(order([](auto& o) { o.share = ShareId(); }, "no share"));
  EXPECT_TRUE(order([](auto& o) { o.fence = JobFence(); }, "no fence"));
  EXPECT_TRUE(order([](auto& o) { o.workflow = kMostWorkflows; }, "a workflow"));
  EXPECT_TRUE(order([](auto& o) { o.parts.of = o.parts.first; }, "parts that are none"));
  EXPECT_TRUE(order([](auto& o) { o.parts.count = 0; }, "parts that are none"));
  EXPECT_TRUE(order([](auto& o) { o.cores = 0; }, "no cores"));
  EXPECT_TRUE(order([](auto& o) { o.parts = {0, 3, 4}, o.cores = 4; }, "more than parts"));
  EXPECT_TRUE(order([](auto& o) { o.base_second = kMostSeconds + 1; }, "a second"));
  EXPECT_TRUE(order([](auto& o) { o.bundle = ""; }, "a hash"));
  EXPECT_TRUE(order([](auto& o) { o.kill_grace = Duration::nanos(-1); }, "a span"));
  EXPECT_TRUE(order([](auto& o) { o.isolation_limit = Duration::nanos(-1); }, "a span"));
  EXPECT_TRUE(order([](auto& o) { o.isolation_limit = Duration::zero(); }, "a limit"));
  EXPECT_TRUE(order([](auto& o) { o.execution_limit = Duration::max(); }, "a span"));
  EXPECT_TRUE(order([](auto& o) { o.execution_limit = Duration::zero(); }, "a limit"));
}

TEST(LettersCodec, what_no_owner_could_want_is_refused) {
  EXPECT_TRUE(refuses<BundleLetter>([](auto& b) { b.job = ""; }, "an id of a job"));
  EXPECT_TRUE(refuses<BundleLetter>([](auto& b) { b.hash = "a hash"; }, "a hash"));
  EXPECT_TRUE(refused(BundleLetter{"job", "c0ffee", std::string(kMostBundleBytes + 1, 'b')}, "more bytes"));
  EXPECT_TRUE(refuses<BeginLetter>([](auto& b) { b.job = ""; }, "an id of a job"));
  EXPECT_TRUE(refuses<BeginLetter>([](auto& b) { b.fence = JobFence(); }, "no fence"));
  EXPECT_TRUE(refuses<BeginLetter>([](auto& b) { b.share = ShareId(); }, "no share"));
  EXPECT_TRUE(refuses<BeginLetter>([](auto& b) { b.clock = -Duration::max(); }, "a clock"));
  EXPECT_TRUE(refuses<BeginLetter>([](auto& b) { b.from = UINT64_MAX; }, "a second"));
  EXPECT_TRUE(refuses<TakeOverLetter>([](auto& t) { t.job = ""; }, "an id of a job"));
  EXPECT_TRUE(refuses<TakeOverLetter>([](auto& t) { t.fence = JobFence(); }, "no fence"));
  EXPECT_TRUE(refuses<TakeOverLetter>([](auto& t) { t.share = ShareId(); }, "no share"));
  EXPECT_TRUE(refuses<TakeOverLetter>([](auto& t) { t.clock = -Duration::max(); }, "a clock"));
  EXPECT_TRUE(refuses<TakeOverLetter>([](auto& t) { t.from = UINT64_MAX; }, "a second"));
  EXPECT_TRUE(refuses<HandOverLetter>([](auto& h) { h.job = ""; }, "an id of a job"));
  EXPECT_TRUE(refuses<HandOverLetter>([](auto& h) { h.fence = JobFence(); }, "no fence"));
  EXPECT_TRUE(refuses<HandOverLetter>([](auto& h) { h.share = ShareId(); }, "no share"));
  EXPECT_TRUE(refuses<HandOverLetter>([](auto& h) { h.until = 0; }, "a second"));
  EXPECT_TRUE(refuses<HandOverLetter>([](auto& h) { h.until = UINT64_MAX; }, "a second"));
  EXPECT_TRUE(refuses<StopLetter>([](auto& s) { s.job = ""; }, "an id of a job"));
  EXPECT_TRUE(refuses<StopLetter>([](auto& s) { s.fence = JobFence(); }, "no fence"));
  EXPECT_TRUE(refuses<StopLetter>([](auto& s) { s.share = ShareId(); }, "no share"));
  EXPECT_TRUE(refuses<StopLetter>([](auto& s) { s.how = static_cast<StopHow>(kStopHows); }, "a state, phase"));
  EXPECT_TRUE(refuses<AdoptLetter>([](auto& a) { a.job = ""; }, "an id of a job"));
  EXPECT_TRUE(refuses<AdoptLetter>([](auto& a) { a.fence = JobFence(); }, "no fence"));
  EXPECT_TRUE(refuses<AdoptLetter>([](auto& a) { a.streams.assign(1, {ShareId(), 1}); }, "no share"));
  EXPECT_TRUE(refuses<AdoptLetter>([](auto& a) { a.streams.assign(1, {ShareId(1), UINT64_MAX}); }, "a second"));
  EXPECT_TRUE(refuses<AdoptLetter>([](auto& a) { a.streams.assign(2, {ShareId(1), 1}); }, "the same share twice"));
  EXPECT_TRUE(refuses<AdoptLetter>([](auto& a) { a.streams.resize(kMostShares + 1); }, "more of something"));
  EXPECT_TRUE(refuses<RetireLetter>([](auto& r) { r.job = ""; }, "an id of a job"));
  EXPECT_TRUE(refuses<RetireLetter>([](auto& r) { r.fence = JobFence(); }, "no fence"));
}

TEST(LettersCodec, what_no_client_could_want_is_refused) {
  EXPECT_TRUE(refuses<Submit>([](auto& s) { s.job = "job 1"; }, "an id of a job"));
  EXPECT_TRUE(refuses<Submit>([](auto& s) { s.bundle.clear(); }, "no bundle"));
  EXPECT_TRUE(refused(Submit{"job", "", std::string(kMostBundleBytes + 1, 'b'), 1}, "more bytes"));
  EXPECT_TRUE(refuses<Watch>([](auto& w) { w.job = ""; }, "an id of a job"));
  EXPECT_TRUE(refuses<Watch>([](auto& w) { w.seconds = UINT64_MAX; }, "a second"));
  EXPECT_TRUE(refuses<Watch>([](auto& w) { w.wait = Duration::nanos(-1); }, "a span"));
  EXPECT_TRUE(refuses<Watch>([](auto& w) { w.live_every = Duration::nanos(-1); }, "a span"));
  EXPECT_TRUE(refuses<Cancel>([](auto& c) { c.job = ""; }, "an id of a job"));
  EXPECT_TRUE(refuses<Cancel>([](auto& c) { c.how = static_cast<StopHow>(kStopHows); }, "a state, phase"));
  EXPECT_TRUE(refuses<Cancel>([](auto& c) { c.workflows.assign(1, ""); }, "a workflow without a name"));
  EXPECT_TRUE(refuses<Cancel>([](auto& c) { c.workflows.assign(kMostWorkflows + 1, "w"); }, "more of something"));
  EXPECT_TRUE(refuses<FetchBundle>([](auto& f) { f.job = ""; }, "an id of a job"));
}

TEST(LettersCodec, a_share_that_ended_before_its_clock_began_has_run_for_nothing) {
  const EndLetter early{"job", ShareId(1), {ShareOutcome::kStopped, "", 0, Duration::millis(-25)}};
  const auto read = decode_letter(encode(early));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<EndLetter>(*read).end.ran, Duration::zero());
}

TEST(LettersCodec, words_neither_steer_a_terminal_nor_tear_a_line) {
  constexpr std::string_view kFit = "~?~";
  constexpr std::string_view kWild = "~\n~";
  AnyLetter fit(7, kFit);
  AnyLetter wild(7, kWild);
  for (int i = 0; i < 2'000; ++i) {
    const Letter good = fit.letter();
    const std::string bytes = encode(good);
    ASSERT_TRUE(encode(wild.letter()) == bytes) << "whoever writes makes them fit; kind " << good.index();
    const auto read = decode_letter(with_wild_texts(bytes, kFit, kWild));
    ASSERT_TRUE(read && *read == good) << "whoever reads, too; kind " << good.index();
  }
}

TEST(LettersCodec, words_do_not_go_on_for_ever) {
  const std::string words(1'000, 'x');
  wire::DispatchLetter raw;
  raw.mutable_stop()->set_job("job");
  raw.mutable_stop()->set_fence(1);
  raw.mutable_stop()->set_share(1);
  raw.mutable_stop()->set_why(words);
  const auto read = decode_letter(raw.SerializeAsString());
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<StopLetter>(*read).why, std::string(kMostTextBytes, 'x'));
  EXPECT_EQ(encode(*read), encode(StopLetter{"job", JobFence(1), ShareId(1), StopHow::kGraceful, words}));
}

TEST(LettersCodec, what_a_newer_version_adds_is_ignored) {
  constexpr std::string_view kField = "\xfa\x3f\x05hello";  // number 1,023
  AnyLetter any(3);
  for (int i = 0; i < 100; ++i) {
    const Letter letter = any.letter();
    const auto read = decode_letter(encode(letter).append(kField));
    ASSERT_TRUE(read && *read == letter);
  }
  EXPECT_EQ(decode_letter(kField).error().code, Errc::kUnsupported) << "a letter that is nothing else";
  EXPECT_EQ(decode_letter("").error().code, Errc::kUnsupported);
  EXPECT_EQ(decode_letter("no letter").error().code, Errc::kProtocol);
  EXPECT_EQ(decode_letter(std::string(kMostLetterBytes + 1, '\0')).error().code, Errc::kProtocol);
}

// Each empty thing in a list takes two bytes, and some seventy in memory.
TEST(LettersCodec, a_flood_of_nothing_is_not_even_parsed) {
  const std::size_t pairs = std::size_t{5} << 20;
  std::string flood;
  for (std::size_t i = 0; i < pairs; ++i) flood.append("\x42\0", 2);  // one more share that is held
  std::string letter = "\x0a";
  for (std::size_t size = flood.size(); size > 0; size >>= 7) {
    letter += static_cast<char>(size > 127 ? (size & 127) | 128 : size);
  }
  const auto read = decode_letter(letter + flood);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("too large"), std::string::npos) << read.error().message;
  const std::string window(std::size_t{10} << 20, 'w');
  const Letter large = WindowLetter{"job", ShareId(1), 0, 1, 1, window};
  EXPECT_TRUE(decode_letter(encode(large)));
  EXPECT_FALSE(decode_letter(encode(large) + letter + flood)) << "behind something that may be large";
}

TEST(LettersCodec, what_was_torn_or_changed_on_the_way_does_no_harm) {
  AnyLetter any(4);
  for (int i = 0; i < 5'000; ++i) {
    std::string bytes = encode(any.letter());
    bytes.resize(any.prng().below(bytes.size() + 1));
    if (!bytes.empty()) bytes[any.prng().below(bytes.size())] = static_cast<char>(any.prng().below(256));
    const auto read = decode_letter(bytes);
    if (!read) continue;
    const auto again = decode_letter(encode(*read));
    ASSERT_TRUE(again && *again == *read) << "letter " << i;
  }
}

}  // namespace
}  // namespace bellwether::dispatch
