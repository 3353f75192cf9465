#include "cluster/jobs/job_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "cluster/jobs/job_content.h"

namespace bellwether::jobs {
namespace {

using namespace dispatch;

constexpr Claim kClaim{JobFence(7), MemberId(UINT64_MAX), 99};

Ask ask(decltype(Ask::body) body) { return {"job/1", 12, Duration::seconds(30), std::move(body)}; }

Answer answer() {
  return {"job/1", 12, Verdict::kLeased, kClaim, Duration::seconds(3), {JobFence(6), 4}, std::string("a\0b", 3)};
}

// One of each kind, with no field at its default.
std::vector<decltype(Message::body)> bodies() {
  return {ask(Prepare{kClaim}),
          ask(Accept{kClaim, {JobFence(7), 3}, std::string("a\0b", 3)}),
          ask(Confirm{kClaim}),
          ask(Release{kClaim}),
          answer(),
          Freed{"job/1"},
          Unable{"job/1", "its disk is full"},
          Gone{"job/1", JobFence(8)}};
}

TEST(JobCodec, each_message_comes_back_as_it_was) {
  for (const auto& body : bodies()) {
    const std::string bytes = encode_message({5, body});
    const auto read = decode_message(bytes);
    ASSERT_TRUE(read) << read.error().message << ", kind " << body.index();
    EXPECT_EQ(read->peers, 5u);
    EXPECT_EQ(read->body.index(), body.index());
    EXPECT_EQ(encode_message(*read), bytes) << "kind " << body.index();
  }
  const auto read = decode_message(encode_message({5, ask(Accept{kClaim, {JobFence(7), 3}, "value"})}));
  const auto& accept = std::get<Accept>(std::get<Ask>(read->body).body);
  EXPECT_EQ(accept.claim, kClaim);
  EXPECT_EQ(accept.place, (Place{JobFence(7), 3}));
  EXPECT_EQ(accept.value, "value");
}

TEST(JobCodec, a_record_comes_back_as_it_was) {
  const JobRecord record{"job/1", kClaim, {JobFence(6), 4}, std::string("a\0b", 3), Duration::seconds(30)};
  const auto read = decode_record(encode_record(record));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, record);
  EXPECT_EQ(decode_record("").error().code, Errc::kInvalid);
  EXPECT_EQ(decode_record("no record").error().code, Errc::kInvalid);
  EXPECT_FALSE(decode_record(encode_record({"job", kClaim, {JobFence(8), 1}, "", Duration::seconds(1)})))
      << "accepted what was never promised";
}

TEST(JobCodec, what_nobody_could_have_said_is_refused) {
  const auto refuses = [](const decltype(Message::body)& body) {
    const auto read = decode_message(encode_message({5, body}));
    return !read && read.error().code == Errc::kProtocol;
  };
  Ask wrong = ask(Prepare{kClaim});
  wrong.key.clear();
  EXPECT_TRUE(refuses(wrong));
  wrong.key.assign(kMostKeyBytes + 1, 'k');
  EXPECT_TRUE(refuses(wrong));
  wrong = ask(Prepare{kClaim});
  wrong.lease = kLongestJobLease + Duration::nanos(1);
  EXPECT_TRUE(refuses(wrong));
  wrong.lease = Duration::zero();
  EXPECT_TRUE(refuses(wrong));
  EXPECT_TRUE(refuses(ask(Prepare{{JobFence(), MemberId(1), 1}})));
  EXPECT_TRUE(refuses(ask(Prepare{{JobFence(UINT64_MAX), MemberId(1), 1}}))) << "there must be a next fence";
  EXPECT_TRUE(refuses(ask(Prepare{{JobFence(1), quorum::kNobody, 1}})));
  EXPECT_TRUE(refuses(ask(Accept{kClaim, {JobFence(7), 1}, std::string(dispatch::kMostValueBytes + 1, 'v')})));
  Answer late = answer();
  late.again_after = Duration::seconds(-1);
  EXPECT_TRUE(refuses(late));
  EXPECT_EQ(decode_message("").error().code, Errc::kUnsupported) << "no body";
  EXPECT_EQ(decode_message("\xff").error().code, Errc::kProtocol);
}

TEST(JobCodec, a_verdict_of_a_newer_version_is_a_refusal) {
  Answer from_the_future = answer();
  from_the_future.verdict = static_cast<Verdict>(77);
  const auto read = decode_message(encode_message({5, from_the_future}));
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<Answer>(read->body).verdict, Verdict::kUnable);
}

TEST(JobCodec, words_of_a_peer_neither_steer_a_terminal_nor_go_on_for_ever) {
  const auto read = decode_message(encode_message({5, Unable{"job", "\x1b[2J" + std::string(1000, 'x')}}));
  ASSERT_TRUE(read);
  const std::string& why = std::get<Unable>(read->body).why;
  EXPECT_EQ(why.size(), kMostWhyBytes);
  EXPECT_EQ(why.front(), '?');
}

TEST(JobCodec, what_was_torn_or_changed_on_the_way_does_no_harm) {
  Prng prng(7);
  for (const auto& body : bodies()) {
    const std::string good = encode_message({5, body});
    for (int i = 0; i < 500; ++i) {
      std::string bad = good.substr(0, prng.below(good.size() + 1));
      if (!bad.empty()) bad[prng.below(bad.size())] = static_cast<char>(prng.below(256));
      if (const auto read = decode_message(bad)) static_cast<void>(encode_message(*read));
    }
  }
}

TEST(JobContent, nothing_a_value_and_the_end_of_a_job_are_told_apart) {
  EXPECT_EQ(parse_content(""), (Content{false, std::nullopt}));
  EXPECT_EQ(parse_content(bytes_of_value("")), (Content{false, ""}));
  EXPECT_EQ(parse_content(bytes_of_value("\2")), (Content{false, "\2"}));
  EXPECT_EQ(parse_content(bytes_of_retired()), (Content{true, std::nullopt}));
  EXPECT_EQ(parse_content("\3new").error().code, Errc::kInvalid);
  EXPECT_EQ(parse_content("\2more").error().code, Errc::kInvalid);
}

}  // namespace
}  // namespace bellwether::jobs
