#include "cluster/register/codec.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

#include "cluster/register/small.h"
#include "core/message/message_testing.h"

namespace bellwether::registers {
namespace {

using testing::HasSubstr;

TEST(RegisterCodec, words_about_small_values_travel_within_their_limits) { message::expect_sound<Message>(2'000); }
TEST(RegisterCodec, requests_to_replicas_travel_within_their_limits) { message::expect_sound<Request>(); }
TEST(RegisterCodec, answers_of_replicas_travel_within_their_limits) { message::expect_sound<Response>(1'000); }
TEST(RegisterCodec, sets_of_replicas_are_kept_within_their_limits) { message::expect_sound<ReplicaSet>(); }
TEST(RegisterCodec, records_of_small_values_are_kept_within_their_limits) { message::expect_sound<RegisterRecord>(); }
TEST(RegisterCodec, questions_about_blobs_travel_within_their_limits) { message::expect_sound<blobs::Asked>(2'000); }
TEST(RegisterCodec, answers_about_blobs_travel_within_their_limits) { message::expect_sound<blobs::Answer>(1'000); }
TEST(RegisterCodec, records_of_blobs_are_kept_within_their_limits) { message::expect_sound<blobs::BlobRecord>(1'000); }

// The corpora of the fuzzers were written by the code that protoc had generated: words each with two bytes before it,
// the first of which is its length; and one record.
template <class Words>
int understood(const std::string& folder) {
  int read = 0;
  for (const auto& file : std::filesystem::directory_iterator("tests/fuzz/corpus/" + folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    std::string_view rest = bytes;
    while (rest.size() >= 2) {
      const std::size_t length = std::min<std::size_t>(static_cast<uint8_t>(rest[0]), rest.size() - 2);
      read += message::decode<Words>(rest.substr(2, length)).has_value();
      rest.remove_prefix(2 + length);
    }
  }
  return read;
}
TEST(RegisterCodec, words_of_older_versions_are_understood) {
  EXPECT_GE(understood<Message>("small_fuzz"), 20);
  EXPECT_GE(understood<blobs::Asked>("large_fuzz"), 10);
}

std::string corpus(const std::string& name) {
  std::ifstream in("tests/fuzz/corpus/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
// A node of another version reads its disk.
TEST(RegisterCodec, what_is_kept_has_the_bytes_of_older_versions) {
  const RegisterRecord record{"job", {JobFence(7), MemberId(1), 2}, {JobFence(6), 4}, "ab", Duration::seconds(30)};
  const std::string bytes(
      "\x0a\x03job"
      "\x12\x14\x08\x07\x11\x01\0\0\0\0\0\0\0\x19\x02\0\0\0\0\0\0\0"
      "\x1a\x04\x08\x06\x10\x04"
      "\x22\x02"
      "ab"
      "\x28\x80\xd8\x8e\xe1\x6f",
      43);
  EXPECT_EQ(message::encode(record), bytes);
  const auto blob = message::decode<blobs::BlobRecord>(corpus("large_fuzz/record"));
  ASSERT_TRUE(blob) << blob.error().message;
  EXPECT_EQ(message::encode(*blob), corpus("large_fuzz/record"));
}

template <class T>
std::string refusal(const T& value) {
  const auto read = message::decode<T>(message::encode(value));
  return read ? "" : read.error().message;
}

TEST(RegisterCodec, what_contradicts_itself_is_refused) {
  const Claim claim{JobFence(7), MemberId(UINT64_MAX), 99};
  const auto says = [](const Claim& whose) {
    return refusal(Message{1, 5, Ask{"job/1", 12, Duration::seconds(30), whose, Prepare{}}});
  };
  EXPECT_EQ(says(claim), "");
  EXPECT_THAT(says({JobFence(), MemberId(1), 1}), HasSubstr("a claim without an owner"));
  EXPECT_THAT(says({JobFence(1), quorum::kNobody, 1}), HasSubstr("a claim without an owner"));
  EXPECT_EQ(refusal(RegisterRecord{"job", claim, {JobFence(7), 1}, "", {}}), "");
  EXPECT_THAT(refusal(RegisterRecord{"job", claim, {JobFence(8), 1}, "", {}}), HasSubstr("newer than every promise"));
  blobs::BlobHead head{{JobFence(7), 9}, blobs::kPieceBytes, {{}}};
  EXPECT_EQ(refusal(blobs::BlobRecord{{"job", "bundle"}, head, 1}), "");
  ++head.size;
  EXPECT_THAT(refusal(blobs::BlobRecord{{"job", "bundle"}, head, 1}), HasSubstr("number of chunks"));
  EXPECT_THAT(refusal(blobs::Asked{1, 1, blobs::Look{{"job", "Bundle"}, {}}}), HasSubstr("not a valid kind of a blob"));
  EXPECT_EQ(refusal(ReplicaSet{1, {"a", "b"}, {"a", "b", "c"}}), "");
  EXPECT_THAT(refusal(ReplicaSet{1, {}, {}}), HasSubstr("no replicas"));
  EXPECT_THAT(refusal(ReplicaSet{1, {"b", "a"}, {}}), HasSubstr("not in order"));
  EXPECT_THAT(refusal(ReplicaSet{1, {"a"}, {"b", "b"}}), HasSubstr("not in order"));
  EXPECT_EQ(message::decode<Message>("").error().code, Errc::kUnsupported) << "no body";
  EXPECT_EQ(message::decode<blobs::Asked>("").error().code, Errc::kUnsupported) << "no question";
}

TEST(RegisterCodec, a_verdict_of_a_newer_version_is_a_refusal) {
  Answer answer{"job/1", 12, static_cast<Verdict>(77), {}, {}, {}, {}};
  const auto read = message::decode<Message>(message::encode(Message{1, 5, answer}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<Answer>(read->body).verdict, Verdict::kUnable);
  const auto blob = message::decode<blobs::Answer>(message::encode(blobs::answer(static_cast<blobs::Verdict>(77))));
  ASSERT_TRUE(blob) << blob.error().message;
  EXPECT_EQ(blob->verdict, blobs::Verdict::kUnable);
}

TEST(RegisterCodec, words_of_a_peer_neither_steer_a_terminal_nor_go_on_for_ever) {
  const Message message{1, 5, Unable{"job", "\x1b[2J" + std::string(1000, 'x')}};
  const auto read = message::decode<Message>(message::encode(message));
  ASSERT_TRUE(read) << read.error().message;
  const std::string& why = std::get<Unable>(read->body).why;
  EXPECT_EQ(why.size(), kMaxWhyBytes);
  EXPECT_EQ(why.front(), '?');
}

TEST(Content, nothing_a_value_and_the_end_of_a_job_are_told_apart) {
  EXPECT_EQ(parse_content(""), (Content{false, std::nullopt}));
  EXPECT_EQ(parse_content(bytes_of_value("")), (Content{false, ""}));
  EXPECT_EQ(parse_content(bytes_of_value("\2")), (Content{false, "\2"}));
  EXPECT_EQ(parse_content(bytes_of_retired()), (Content{true, std::nullopt}));
  EXPECT_EQ(parse_content("\3new").error().code, Errc::kInvalid);
  EXPECT_EQ(parse_content("\2more").error().code, Errc::kInvalid);
}

}  // namespace
}  // namespace bellwether::registers
