#include "jobs/dispatch/codec/messages_codec.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

#include "core/message/message_testing.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/parts.h"

namespace bellwether::dispatch {
namespace {

using testing::HasSubstr;

TEST(JobMessagesCodec, messages_travel_within_their_limits) { message::expect_sound<JobMessage>(3'000); }
TEST(JobMessagesCodec, answers_travel_within_their_limits) { message::expect_sound<Response>(2'000); }

// The corpus of the fuzzer comes from the code that protoc generated for the same messages.
TEST(JobMessagesCodec, the_bytes_are_those_of_older_versions) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator("tests/fuzz/corpus/messages_fuzz/messages")) {
    const std::string name = file.path().filename();
    SCOPED_TRACE(name);
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto message = decode_message(bytes);
    const auto answer = decode_response(bytes);
    const bool is_same = (message && encode(*message) == bytes) || (answer && encode(*answer) == bytes);
    const bool in_two_parts = name == "end_list" || name == "offer_list";
    EXPECT_EQ(is_same, !in_two_parts && name != "live_news_twice");
    if (name == "live_news_twice") EXPECT_THAT(answer.error().message, HasSubstr("out of order"));
    if (in_two_parts) {
      ASSERT_TRUE(message);
      EXPECT_EQ(*decode_message(encode(*message)), *message) << "as one that was written in one part";
      EXPECT_EQ(message::alternative_in(message::message_of<JobMessage>(), bytes), nullptr)
          << "and no router passes it on";
    }
    ++files;
  }
  EXPECT_EQ(files, 35);
}

std::string answered(const Response& response) {
  const auto read = decode_response(encode(response));
  return read ? std::string() : read.error().message;
}

TEST(JobMessagesCodec, what_contradicts_itself_is_refused) {
  const WorkerReport::Held held{"job", JobFence(1), AssignmentId(1), AssignmentPhase::kReady};
  WorkerReport report;
  report.life = 1;
  report.held = {held, held};
  const auto says = [](const JobMessage& message) {
    const auto read = decode_message(encode(message));
    return read ? std::string() : read.error().message;
  };
  EXPECT_THAT(says(report), HasSubstr("the same assignment twice"));
  report.held[1].job = "another";
  EXPECT_EQ(says(report), "") << "assignments of different jobs may have one number";
  report.free = 1;
  EXPECT_THAT(says(report), HasSubstr("more free cores"));
  EXPECT_THAT(says(WindowMessage{"job", AssignmentId(1), 0, 8, 7, ""}), HasSubstr("invalid numbers of a stream"));
  const LiveMessage::Assignment assignment{"job", AssignmentId(1), 1, 2, 3, 4, 5};
  EXPECT_THAT(says(LiveMessage{1, {assignment, assignment}, {}}), HasSubstr("the same assignment twice"));
  EXPECT_THAT(says(AdoptMessage{"job", JobFence(1), {{AssignmentId(1), 1}, {AssignmentId(1), 2}}}),
              HasSubstr("assignment twice"));
  Offer offer;
  offer.order.job = offer.order.bundle = "a";
  offer.order.assignment = AssignmentId(1);
  offer.order.fence = JobFence(1);
  EXPECT_EQ(says(offer), "");
  offer.order.parts = {1, 1, 1};
  EXPECT_THAT(says(offer), HasSubstr("invalid parts"));
  offer.order.parts = {0, 3, 4};
  offer.order.cores = 4;
  EXPECT_THAT(says(offer), HasSubstr("more cores than parts"));

  EXPECT_THAT(answered(Applied{1, 2, false}), HasSubstr("more durable than applied"));
  const AssignmentSight sight{
      AssignmentId(1), AssignmentPhase::kEnded, {}, 0, 4, 0, {AssignmentOutcome::kCompleted, "", 5, {}}};
  EXPECT_THAT(answered(Adopted{{sight}}), HasSubstr("after the last measured window"));
  EXPECT_THAT(answered(WorkerList{{{"w1", 1, 2, "", "", 0, ""}}}), HasSubstr("more free cores"));
  EXPECT_THAT(answered(DatacenterList{{{"dc1", 1, 1, 2, 3, "", ""}}}), HasSubstr("more free cores"));
  EXPECT_THAT(answered(LiveNews{1, 1, {{2, 0, 0, {}}, {2, 0, 0, {}}}, {}, false}), HasSubstr("out of order"));
  EXPECT_THAT(answered(Watched{}), HasSubstr("record of a job"));
}

TEST(JobMessagesCodec, an_answer_of_a_newer_version_is_obeyed_as_far_as_it_is_understood) {
  Refusal refusal;
  refusal.kind = static_cast<Refusal::Kind>(77);
  EXPECT_EQ(std::get<Refusal>(*decode_response(encode(refusal))).kind, Refusal::Kind::kUnavailable);
  const Noted noted{static_cast<resilience::Backpressure>(77)};
  EXPECT_EQ(std::get<Noted>(*decode_response(encode(noted))).pressure, resilience::Backpressure::kReject);
}

TEST(JobMessagesCodec, an_assignment_that_ended_before_its_clock_began_has_run_for_nothing) {
  const EndMessage early{"job", AssignmentId(1), {AssignmentOutcome::kStopped, "", 0, Duration::millis(-25)}};
  const auto read = decode_message(encode(early));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<EndMessage>(*read).end.ran, Duration::zero());
}

TEST(JobMessagesCodec, words_neither_steer_a_terminal_nor_go_on_for_ever) {
  const StopMessage stop{"job", JobFence(1), AssignmentId(1), StopHow::kGraceful, std::string(1'000, 'x') + "\n"};
  EXPECT_EQ(std::get<StopMessage>(*decode_message(encode(stop))).why, std::string(kMaxTextBytes, 'x'));
  std::string wild = encode(StopMessage{"job", JobFence(1), AssignmentId(1), StopHow::kGraceful, "~?~"});
  wild.replace(wild.find("~?~"), 3, "~\n~");
  EXPECT_EQ(std::get<StopMessage>(*decode_message(wild)).why, "~?~") << "who reads makes them fit, too";
}

// An empty element of a list takes two bytes, and some seventy in memory.
TEST(JobMessagesCodec, a_flood_of_nothing_is_refused_at_the_first_that_is_too_many) {
  std::string flood;
  for (std::size_t i = 0; i < std::size_t{5} << 20; ++i) flood.append("\x42\0", 2);  // one more assignment of a worker
  std::string message = "\x0a";
  for (std::size_t size = flood.size(); size > 0; size >>= 7) {
    message += static_cast<char>(size > 127 ? (size & 127) | 128 : size);
  }
  const auto read = decode_message(message + flood);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("report.held[4096] has more than 4096 entries"));
}

}  // namespace
}  // namespace bellwether::dispatch
