#include "cluster/context/context_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/context_lead.pb.h"

namespace bellwether::cluster {
namespace {

using namespace context_lead;

constexpr RequestId kId{0x0123456789abcdef, 0xfedcba9876543210};

// One of each kind, with no field at its default.
std::vector<ContextQuestion> questions() {
  return {Request{kId, 200, {1'700'000'000'000'000'001}, std::string("do\0it", 5)}, AskOutcome{kId}, AskContextStatus{},
          AskTransfer{"m2", "ann", "maintenance"}, AskGeneration{true, "ann"}};
}

ContextView view() {
  ContextView view;
  view.answered_by = "m1";
  view.leader = "m2";
  view.epoch = 7;
  view.terms = 3;
  view.duty = "paused";
  view.why = "poor health";
  view.manager = "make-context";
  view.queued = 4;
  view.active = 2;
  view.completed = 100;
  view.failed = 9;
  view.oldest_waiting = Duration::seconds(5);
  view.leads_for = Duration::minutes(7);
  view.health = 0.75;
  view.checked = true;
  view.nodes = {{"m1", 1}, {"m2", 0.5}};
  view.jobs = {{kId, 3, Duration::millis(20)}};
  view.failovers = 2;
  view.failover = {"m1", "m2", Duration::millis(1500), true, "why", {{"the state is sent", {77}}}};
  view.fitness = {0.62, {"too little memory"}, {"rag_integration"}};
  return view;
}

std::vector<ContextAnswer> answers() {
  return {ContextRefused{Errc::kExhausted, "the queue is full", "m2"}, ContextDone{"it begins"},
          OutcomeAnswer{OutcomeAnswer::Standing::kFailed, 3, 7, "exit code 3", "a result", true}, view()};
}

TEST(ContextCodec, each_question_comes_back_as_it_was) {
  for (const ContextQuestion& sent : questions()) {
    const std::string bytes = encode_context_question(sent);
    const auto read = decode_context_question(bytes);
    ASSERT_TRUE(read) << read.error().message << ", kind " << sent.index();
    EXPECT_EQ(read->index(), sent.index());
    EXPECT_EQ(encode_context_question(*read), bytes) << "kind " << sent.index();
  }
  const auto read = decode_context_question(encode_context_question(questions().front()));
  const auto& request = std::get<Request>(*read);
  EXPECT_EQ(request.id, kId);
  EXPECT_EQ(request.priority, 200);
  EXPECT_EQ(request.submitted_at.unix_ns, 1'700'000'000'000'000'001);
  EXPECT_EQ(request.payload, std::string("do\0it", 5));
}

TEST(ContextCodec, each_answer_comes_back_as_it_was) {
  for (const ContextAnswer& sent : answers()) {
    const auto read = decode_context_answer(encode_context_answer(sent));
    ASSERT_TRUE(read) << read.error().message << ", kind " << sent.index();
    EXPECT_EQ(*read, sent) << "kind " << sent.index();
  }
}

TEST(ContextCodec, each_message_comes_back_as_it_was) {
  const TransferId id{Epoch(9), 2};
  const std::vector<ContextMessage> messages{
      StateOffer{id, "the state"}, StateReceived{id},  StateVerdict{id, true, "why", {{StateField::kTerm, "it is 0"}}},
      OfferWithdrawn{id},          GenerationBegun{9}, GenerationEnded{9, "stopped"}};
  for (const ContextMessage& sent : messages) {
    const std::string bytes = encode_context_message(sent);
    const auto read = decode_context_message(bytes);
    ASSERT_TRUE(read) << read.error().message << ", kind " << sent.index();
    EXPECT_EQ(read->index(), sent.index());
    EXPECT_EQ(encode_context_message(*read), bytes) << "kind " << sent.index();
  }
}

// What is wrong with a question; empty: nothing.
template <class Change>
std::string wrong_question(Change change) {
  wire::ContextQuestion question;
  change(question);
  const auto read = decode_context_question(question.SerializeAsString());
  return read ? std::string() : read.error().message;
}

TEST(ContextCodec, a_question_out_of_its_bounds_is_refused_and_says_why) {
  using testing::HasSubstr;
  const std::string id(16, 'x');
  EXPECT_EQ(wrong_question([&](auto& one) { one.mutable_outcome()->set_id(id); }), "");
  EXPECT_THAT(wrong_question([&](auto& one) { one.mutable_outcome()->set_id("short"); }), HasSubstr("16 bytes"));
  EXPECT_THAT(wrong_question([&](auto& one) { one.mutable_outcome()->set_id(std::string(16, '\0')); }),
              HasSubstr("all zero"));
  EXPECT_THAT(wrong_question([&](auto& one) {
                one.mutable_submit()->set_id(id);
                one.mutable_submit()->set_priority(256);
              }),
              HasSubstr("priority above 255"));
  EXPECT_THAT(wrong_question([&](auto& one) { one.mutable_transfer()->set_target(std::string(65, 'm')); }),
              HasSubstr("too long"));
  EXPECT_THAT(wrong_question([](auto&) {}), HasSubstr("not known"));
  const auto large =
      decode_context_question(encode_context_question(Request{kId, 0, {}, std::string(kMostPayloadBytes + 5000, 'x')}));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Errc::kTooLarge);
  EXPECT_EQ(decode_context_question("\xff\xff").error().code, Errc::kProtocol);
}

TEST(ContextCodec, an_answer_or_a_message_out_of_its_bounds_is_refused) {
  const auto refused = [](const auto& message, auto decode) {
    const auto read = decode(message.SerializeAsString());
    return !read && read.error().code == Errc::kProtocol;
  };
  wire::ContextAnswer health;
  health.mutable_status()->set_health(1.5);
  EXPECT_TRUE(refused(health, decode_context_answer));
  wire::ContextAnswer standing;
  standing.mutable_outcome()->set_standing(5);
  EXPECT_TRUE(refused(standing, decode_context_answer));
  wire::ContextAnswer result;
  result.mutable_outcome()->set_result(std::string(kMostResultBytes + 1, 'x'));
  EXPECT_TRUE(refused(result, decode_context_answer));
  wire::ContextAnswer code;
  code.mutable_refused()->set_code(99);
  EXPECT_TRUE(refused(code, decode_context_answer));
  wire::ContextAnswer span;
  span.mutable_status()->set_leads_for_ns(-1);
  EXPECT_TRUE(refused(span, decode_context_answer));
  wire::ContextMessage issue;
  issue.mutable_verdict()->add_dropped()->set_field(200);
  EXPECT_TRUE(refused(issue, decode_context_message));
  wire::ContextMessage issues;
  for (int i = 0; i < 65; ++i) issues.mutable_verdict()->add_dropped()->set_field(1);
  EXPECT_TRUE(refused(issues, decode_context_message));
  wire::ContextMessage state;
  state.mutable_offer()->set_state(std::string(kMostStateBytes + 1, 'x'));
  EXPECT_TRUE(refused(state, decode_context_message));
}

}  // namespace
}  // namespace bellwether::cluster
