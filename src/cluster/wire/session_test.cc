#include "cluster/wire/session.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "cluster/wire/frame.h"
#include "cluster/wire/wire_testing.h"
#include "core/base/time_testing.h"

namespace bellwether::wire {
namespace {

using testing::ElementsAre;
using Kind = Inbound::Kind;

struct Heard {
  Kind kind;
  uint16_t type;
  RequestId id;
  std::string body;
  ReplyStatus status;
  Priority priority;
  Instant deadline;
  void* context;
};

// Two ends whose frames are carried by hand.
class SessionTest : public testing::Test {
 protected:
  static std::vector<std::byte> frame(Session& from, Instant now = at_ms(0)) {
    std::vector<std::byte> text(kMaxStreamText);
    text.resize(from.next_frame(now, text));
    return text;
  }
  // Carries everything that waits at one end to the other, and gives what it brought.
  std::vector<Heard> carry(Session& from, Session& to, Instant now = at_ms(0)) {
    std::vector<Heard> heard;
    while (true) {
      const auto text = frame(from, now);
      if (text.empty()) return heard;
      Inbound inbound;
      last_ = to.receive(now, text, inbound);
      if (last_ != Refusal::kNone) return heard;
      if (inbound.kind == Kind::kNothing) continue;
      heard.push_back({inbound.kind, inbound.type, inbound.id, std::string(as_text(inbound.body)), inbound.status,
                       inbound.priority, inbound.deadline, inbound.context});
    }
  }
  RequestId ask(Session& from, std::string_view body, Priority priority = Priority::kNormal,
                Instant deadline = at_ms(1000), void* context = nullptr) {
    auto asked = from.request(deadline, {.type = 9, .priority = priority, .body = as_bytes(body)}, context);
    EXPECT_TRUE(asked) << asked.error().message;
    return asked ? *asked : 0;
  }
  void remake(const SessionLimits& limits) {
    a_ = Session(limits, limits.serving_max, at_ms(0));
    b_ = Session(limits, limits.serving_max, at_ms(0));
  }

  Session a_{SessionLimits(), 1024, at_ms(0)};
  Session b_{SessionLimits(), 1024, at_ms(0)};
  Refusal last_ = Refusal::kNone;
};

TEST_F(SessionTest, a_request_is_answered_to_whoever_asked) {
  int context = 0;
  const RequestId id = ask(a_, "what?", Priority::kControl, at_ms(250), &context);
  const auto asked = carry(a_, b_);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].kind, Kind::kRequest);
  EXPECT_EQ(asked[0].type, 9);
  EXPECT_EQ(asked[0].body, "what?");
  EXPECT_EQ(asked[0].priority, Priority::kControl);
  EXPECT_EQ(asked[0].deadline, at_ms(250));
  EXPECT_EQ(b_.serving(), 1U);
  ASSERT_TRUE(b_.respond(id, ReplyStatus::kOk, as_bytes("that")));
  EXPECT_FALSE(b_.respond(id, ReplyStatus::kOk, as_bytes("again"))) << "once";
  const auto answered = carry(b_, a_);
  ASSERT_EQ(answered.size(), 1U);
  EXPECT_EQ(answered[0].body, "that");
  EXPECT_EQ(answered[0].context, &context);
  EXPECT_EQ(answered[0].priority, Priority::kControl) << "an answer is as urgent as its question";
  EXPECT_EQ(a_.asking() + b_.serving(), 0U);
}

TEST_F(SessionTest, answers_come_in_any_order) {
  const RequestId one = ask(a_, "one");
  const RequestId two = ask(a_, "two");
  carry(a_, b_);
  b_.respond(two, ReplyStatus::kFailed, as_bytes("second"));
  b_.respond(one, ReplyStatus::kOk, as_bytes("first"));
  const auto answers = carry(b_, a_);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].id, two);
  EXPECT_EQ(answers[0].status, ReplyStatus::kFailed);
  EXPECT_EQ(answers[1].id, one);
}

TEST_F(SessionTest, a_lease_passes_a_report_that_is_half_sent) {
  const std::string report(500'000, 'r');
  ASSERT_TRUE(a_.send({.type = 1, .priority = Priority::kBulk, .body = as_bytes(report)}));
  Inbound inbound;
  ASSERT_EQ(b_.receive(at_ms(0), frame(a_), inbound), Refusal::kNone);
  EXPECT_EQ(inbound.kind, Kind::kNothing) << "one piece of many";
  ask(a_, "lease", Priority::kLeadership);
  ASSERT_EQ(b_.receive(at_ms(0), frame(a_), inbound), Refusal::kNone);
  EXPECT_EQ(inbound.kind, Kind::kRequest) << "the next frame is the lease";
  const auto rest = carry(a_, b_);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].body, report);
}

TEST_F(SessionTest, classes_go_in_their_order) {
  for (const Priority priority : {Priority::kBulk, Priority::kNormal, Priority::kControl, Priority::kLeadership}) {
    ASSERT_TRUE(a_.send({.type = static_cast<uint16_t>(priority), .priority = priority, .body = {}}));
  }
  std::vector<uint16_t> order;
  for (const Heard& one : carry(a_, b_)) order.push_back(one.type);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

TEST_F(SessionTest, an_answer_that_does_not_come_is_given_up_at_its_deadline) {
  int context = 0;
  const RequestId id = ask(a_, "what?", Priority::kNormal, at_ms(100), &context);
  carry(a_, b_);
  Session::Expired expired;
  EXPECT_EQ(a_.next_deadline(), at_ms(100));
  EXPECT_FALSE(a_.next_expired(at_ms(99), expired));
  ASSERT_TRUE(a_.next_expired(at_ms(100), expired));
  EXPECT_EQ(expired.id, id);
  EXPECT_EQ(expired.context, &context);
  EXPECT_FALSE(a_.next_expired(at_ms(100), expired));
  const auto told = carry(a_, b_);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, Kind::kCancelled);
  EXPECT_FALSE(b_.respond(id, ReplyStatus::kOk, as_bytes("late")));
}

TEST_F(SessionTest, an_answer_that_crosses_the_cancellation_is_dropped) {
  const RequestId id = ask(a_, "what?");
  carry(a_, b_);
  b_.respond(id, ReplyStatus::kOk, as_bytes("that"));
  ASSERT_TRUE(a_.cancel(id));
  EXPECT_FALSE(a_.cancel(id));
  EXPECT_TRUE(carry(b_, a_).empty());
  EXPECT_TRUE(carry(a_, b_).empty()) << "b has nothing to cancel any more";
}

TEST_F(SessionTest, a_request_that_expired_in_the_queue_is_never_sent) {
  ask(a_, "old", Priority::kNormal, at_ms(10));
  ask(a_, "new", Priority::kNormal, at_ms(1000));
  const auto heard = carry(a_, b_, at_ms(20));
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].body, "new");
  EXPECT_EQ(heard[0].deadline, at_ms(1000)) << "and tells how long it still has";
}

TEST_F(SessionTest, what_was_given_up_before_it_came_is_not_served) {
  const RequestId given_up = ask(a_, "slow", Priority::kBulk);
  a_.cancel(given_up);
  const RequestId urgent = ask(a_, "fast", Priority::kLeadership);
  EXPECT_EQ(given_up & 0xffff, urgent & 0xffff) << "they use the same slot";
  const auto heard = carry(a_, b_);
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].body, "fast");
  EXPECT_TRUE(b_.respond(urgent, ReplyStatus::kOk, {}));
  EXPECT_EQ(carry(b_, a_).size(), 1U);
}

TEST_F(SessionTest, requests_under_way_have_a_number) {
  remake({.asking_max = 3, .serving_max = 2});
  ask(a_, "1");
  ask(a_, "2");
  const auto third = a_.request(at_ms(1000), {.type = 9}, nullptr);
  ASSERT_FALSE(third) << "the other end takes two";
  EXPECT_EQ(third.error().code, Errc::kExhausted);
}

TEST_F(SessionTest, a_peer_that_asks_for_more_than_it_was_told_is_answered_busy) {
  Session greedy(SessionLimits(), 1024, at_ms(0));
  Session small({.serving_max = 2}, 1024, at_ms(0));
  for (int i = 0; i < 5; ++i) ask(greedy, "x");
  EXPECT_EQ(carry(greedy, small).size(), 2U);
  const auto answers = carry(small, greedy);
  EXPECT_EQ(answers.size(), 3U);
  for (const Heard& answer : answers) EXPECT_EQ(answer.status, ReplyStatus::kBusy);
}

TEST_F(SessionTest, a_queue_that_is_full_refuses_and_the_more_urgent_ones_still_take) {
  const std::string body(1 << 20, 'b');
  const Outgoing bulk{.type = 1, .priority = Priority::kBulk, .body = as_bytes(body)};
  int taken = 0;
  while (a_.send(bulk)) ++taken;
  EXPECT_GE(taken, 7);
  EXPECT_LE(taken, 8);
  EXPECT_EQ(a_.send(bulk).error().code, Errc::kExhausted);
  EXPECT_TRUE(a_.send({.type = 1, .priority = Priority::kLeadership, .body = as_bytes("lease")}));
  EXPECT_LE(a_.queued_bytes(), std::size_t{9} << 20);
}

TEST_F(SessionTest, a_slow_reader_gets_answers_without_bodies_and_is_broken_off_in_the_end) {
  const std::string body(1 << 20, 'b');
  Session reader({.asking_max = 65'536, .serving_max = 8}, 65'536, at_ms(0));
  Session server({.serving_max = 65'536}, 8, at_ms(0));
  std::vector<RequestId> ids;
  for (int i = 0; i < 60'000; ++i) ids.push_back(ask(reader, "x", Priority::kNormal, Instant::never()));
  carry(reader, server);
  std::size_t most = 0;
  std::size_t answered = 0;
  while (!server.overrun() && answered < ids.size()) {
    server.respond(ids[answered++], ReplyStatus::kOk, as_bytes(body));
    most = std::max(most, server.queued_bytes());
  }
  EXPECT_TRUE(server.overrun());
  EXPECT_LE(most, std::size_t{6} << 20);
  std::size_t whole = 0;
  for (const Heard& answer : carry(server, reader)) whole += answer.status == ReplyStatus::kOk ? 1 : 0;
  EXPECT_LE(whole, 4U);
}

TEST_F(SessionTest, too_large_a_message_is_refused_by_its_sender) {
  const std::string body((1 << 20) + 1, 'b');
  EXPECT_EQ(a_.send({.type = 1, .body = as_bytes(body)}).error().code, Errc::kTooLarge);
  EXPECT_TRUE(a_.send({.type = 1, .body = as_bytes(body).first(1 << 20)}));
}

TEST_F(SessionTest, a_compressed_body_arrives_as_it_was) {
  std::string body;
  for (int i = 0; body.size() < 3'000'000; ++i) body += "sample " + std::to_string(i * 7919 % 100'003) + "\n";
  ASSERT_TRUE(a_.send({.type = 4, .priority = Priority::kBulk, .compress = true, .body = as_bytes(body)}));
  EXPECT_LT(a_.queued_bytes(), body.size() / 2);
  const auto heard = carry(a_, b_);
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_TRUE(heard[0].body == body);
}

TEST_F(SessionTest, a_goodbye_lets_everything_under_way_finish) {
  const RequestId id = ask(a_, "last");
  a_.say_goodbye();
  EXPECT_EQ(a_.request(at_ms(1000), {.type = 9}, nullptr).error().code, Errc::kClosed);
  const auto heard = carry(a_, b_);
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(heard[0].body, "last");
  EXPECT_EQ(heard[1].kind, Kind::kGoodbye);
  EXPECT_EQ(b_.request(at_ms(1000), {.type = 9}, nullptr).error().code, Errc::kClosed);
  EXPECT_FALSE(a_.finished() || b_.finished());
  b_.respond(id, ReplyStatus::kOk, as_bytes("bye"));
  const auto answered = carry(b_, a_);
  ASSERT_EQ(answered.size(), 2U) << "the answer, and the other goodbye";
  EXPECT_TRUE(a_.finished());
  EXPECT_TRUE(b_.finished());
}

TEST_F(SessionTest, silence_is_asked_about_and_then_given_up) {
  EXPECT_EQ(a_.next_deadline(), at_ms(5000));
  EXPECT_TRUE(a_.keep_alive(at_ms(4999)));
  EXPECT_FALSE(a_.wants_to_send());
  EXPECT_TRUE(a_.keep_alive(at_ms(5000)));
  EXPECT_TRUE(a_.wants_to_send());
  EXPECT_EQ(a_.next_deadline(), at_ms(15'000));
  carry(a_, b_, at_ms(5000));
  EXPECT_FALSE(a_.keep_alive(at_ms(15'000))) << "nothing came back";
  carry(b_, a_, at_ms(14'000));
  EXPECT_TRUE(a_.keep_alive(at_ms(15'000))) << "a pong did";
}

TEST_F(SessionTest, when_the_connection_ends_every_request_is_given_back_once) {
  int first = 0;
  int second = 0;
  ask(a_, "1", Priority::kNormal, at_ms(100), &first);
  ask(a_, "2", Priority::kNormal, at_ms(100), &second);
  std::vector<void*> contexts;
  Session::Expired taken;
  while (a_.take_any(taken)) contexts.push_back(taken.context);
  EXPECT_THAT(contexts, ElementsAre(&first, &second));
  EXPECT_EQ(a_.asking(), 0U);
}

// --- a peer that breaks the protocol ---

Refusal told(Session& session, const MessageHeader& header, std::string_view body = "") {
  std::vector<std::byte> text(kMessageHeaderBytes + body.size());
  encode_message_header(header, text.data());
  std::memcpy(text.data() + kMessageHeaderBytes, body.data(), body.size());
  Inbound inbound;
  return session.receive(at_ms(0), text, inbound);
}

TEST_F(SessionTest, texts_that_are_no_messages_are_refused) {
  Inbound inbound;
  EXPECT_EQ(a_.receive(at_ms(0), from_hex("010203"), inbound), Refusal::kTruncated);
  EXPECT_EQ(a_.receive(at_ms(0), from_hex("00000000000000000000000000000000"), inbound), Refusal::kGarbage);
  EXPECT_EQ(a_.receive(at_ms(0), from_hex("09000000000000000000000000000000"), inbound), Refusal::kGarbage);
  EXPECT_EQ(a_.receive(at_ms(0), from_hex("01f00000000000000000000000000000"), inbound), Refusal::kGarbage);
}

TEST_F(SessionTest, pieces_that_do_not_belong_together_are_refused) {
  EXPECT_EQ(told(a_, {.kind = MessageHeader::Kind::kPiece}, "x"), Refusal::kUnexpected) << "goes on with nothing";
  EXPECT_EQ(told(b_, {.kind = MessageHeader::Kind::kOneWay, .more = true}, "x"), Refusal::kNone);
  EXPECT_EQ(told(b_, {.kind = MessageHeader::Kind::kOneWay}, "y"), Refusal::kUnexpected) << "another one between";
}

TEST_F(SessionTest, pieces_do_not_grow_without_end) {
  EXPECT_EQ(told(a_, {.kind = MessageHeader::Kind::kOneWay, .more = true}, std::string(1 << 20, 'x')), Refusal::kNone);
  EXPECT_EQ(told(a_, {.kind = MessageHeader::Kind::kPiece, .more = true}, "x"), Refusal::kOversized);
  EXPECT_EQ(told(b_, {.kind = MessageHeader::Kind::kOneWay, .more = true}, ""), Refusal::kGarbage);
}

TEST_F(SessionTest, a_bomb_is_refused) {
  const std::string bomb("\x7f\xff\xff\xff and nothing much", 20);
  EXPECT_EQ(told(a_, {.kind = MessageHeader::Kind::kOneWay, .compressed = true}, bomb), Refusal::kBomb);
}

TEST_F(SessionTest, ids_that_nobody_gave_change_nothing) {
  EXPECT_EQ(told(a_, {.kind = MessageHeader::Kind::kResponse, .id = 77}), Refusal::kNone);
  EXPECT_EQ(told(a_, {.kind = MessageHeader::Kind::kResponse, .id = 0}), Refusal::kNone);
  EXPECT_EQ(told(a_, {.kind = MessageHeader::Kind::kCancel, .id = UINT64_MAX}), Refusal::kNone);
  EXPECT_EQ(told(a_, {.kind = MessageHeader::Kind::kCancel, .id = 0}), Refusal::kNone);
  EXPECT_EQ(told(a_, {.kind = MessageHeader::Kind::kRequest, .id = 5}), Refusal::kGarbage) << "it has no sequence";
  EXPECT_EQ(a_.asking(), 0U);
  EXPECT_EQ(a_.serving(), 0U);
}

RC_GTEST_PROP(Session, every_request_ends_exactly_once_whatever_happens, ()) {
  Session a({.asking_max = 8, .serving_max = 8}, 8, at_ms(0));
  Session b({.asking_max = 8, .serving_max = 8}, 8, at_ms(0));
  std::vector<RequestId> open;
  std::vector<RequestId> serving;
  std::size_t asked = 0;
  std::size_t ended = 0;
  Instant now = at_ms(0);
  std::vector<std::byte> text(kMaxStreamText);
  const auto carry_one = [&](Session& from, Session& to) {
    const std::size_t size = from.next_frame(now, text);
    Inbound inbound;
    if (size == 0) return;
    RC_ASSERT(to.receive(now, Bytes(text).first(size), inbound) == Refusal::kNone);
    if (inbound.kind == Kind::kRequest) serving.push_back(inbound.id);
    if (inbound.kind == Kind::kResponse) ++ended;
  };
  for (const int step : *rc::gen::container<std::vector<int>>(200, rc::gen::inRange(0, 7))) {
    const auto priority = static_cast<Priority>(*rc::gen::inRange(0, 4));
    Session::Expired expired;
    if (step == 0) {
      const std::string body(static_cast<std::size_t>(*rc::gen::inRange(0, 40'000)), 'x');
      auto made =
          a.request(now + Duration::millis(50), {.type = 1, .priority = priority, .body = as_bytes(body)}, nullptr);
      if (made) open.push_back(*made);
      asked += made ? 1 : 0;
    } else if (step == 1 && !open.empty()) {
      ended += a.cancel(open[static_cast<std::size_t>(*rc::gen::inRange<std::size_t>(0, open.size()))]) ? 1 : 0;
    } else if (step == 2 && !serving.empty()) {
      b.respond(serving.back(), ReplyStatus::kOk, as_bytes("done"));
      serving.pop_back();
    } else if (step == 3) {
      now += Duration::millis(10);
      while (a.next_expired(now, expired)) ++ended;
    } else if (step == 4) {
      carry_one(b, a);
    } else {
      carry_one(a, b);
    }
    RC_ASSERT(asked == ended + a.asking());
  }
}

}  // namespace
}  // namespace bellwether::wire
