#include <gmock/gmock.h>
#include <limits>

#include "cluster/net/message_classes.h"
#include "cluster/net/peer_links_testing.h"

namespace bellwether::cluster {
namespace {

using testing::HasSubstr;

// Turns away so many, and says for how long.
class Turnstile {
 public:
  int left = 0;
  int turned_away = 0;
  Duration again_after = Duration::millis(1);
  std::optional<wire::Busy> turns_away(const link::Connection&, const wire::Inbound& inbound) {
    if (left == 0 || inbound.type == message_type::kAdmin) return std::nullopt;
    --left;
    ++turned_away;
    return wire::Busy{again_after, "the house is full"};
  }
};

class PeerRequestsTest : public PeerLinksTest {
 protected:
  PeerRequestsTest() {
    theirs_.guard(callback_to<&Turnstile::turns_away>(turnstile_));
    theirs_.connect(message_type::kAdmin, echo_);
  }
  ~PeerRequestsTest() override { theirs_.guard({}); }
  void leave_alone_for(Duration span) {
    machine_.run(links_->close(Duration::seconds(5)));
    links_ = std::make_unique<PeerLinks>(runtime_, dialling_, keys_, ours_, refusals_, listener(),
                                         Duration::seconds(60), resilience::BreakerSettings{.open_for = span});
  }
  Result<std::string> ask_what_must_go(std::string text) {
    return machine_.run(links_->request(m2(), message_type::kAdmin, wire::Priority::kNormal, std::move(text),
                                        Duration::seconds(20), nullptr));
  }
  Result<std::string> ask_without_waiting() {
    return machine_.run(links_->request(m2(), kQuestion, wire::Priority::kNormal, std::string("x"),
                                        Duration::seconds(20), nullptr, PeerLinks::WhenBusy::kFail));
  }
  static runtime::task<void> take(PeerLinks& links, PeerAddress peer, runtime::Cancellation* cancel,
                                  std::optional<Result<std::string>>& out) {
    auto answer = co_await links.request(std::move(peer), kQuestion, wire::Priority::kNormal, std::string("x"),
                                         Duration::seconds(50), cancel);
    out = std::move(answer);
  }
  Turnstile turnstile_;
};

TEST_F(PeerRequestsTest, a_peer_that_is_busy_is_asked_again_when_it_wants_to_be) {
  turnstile_.left = 3;
  EXPECT_EQ(ask("one"), "one");
  EXPECT_EQ(turnstile_.turned_away, 3);
}

TEST_F(PeerRequestsTest, after_three_times_more_a_question_is_given_up) {
  turnstile_.left = std::numeric_limits<int>::max();
  const auto answer = ask("x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kExhausted);
  EXPECT_EQ(answer.error().message, "'m2' is busy: the house is full; try again in 1.00ms");
  EXPECT_EQ(turnstile_.turned_away, 4);
}

TEST_F(PeerRequestsTest, who_has_no_time_to_wait_is_told_at_once_and_nobody_else_asks_in_vain) {
  turnstile_.left = std::numeric_limits<int>::max();
  turnstile_.again_after = Duration::seconds(30);
  EXPECT_THAT(ask("x").error().message, HasSubstr("try again in 30s"));
  const auto second = ask("x");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kExhausted);
  EXPECT_THAT(second.error().message, HasSubstr("try again in "));
  EXPECT_EQ(turnstile_.turned_away, 1);
  EXPECT_EQ(ask_what_must_go("copy"), "copy") << "what is critical is not held back, of the same kind though it is";
}

TEST_F(PeerRequestsTest, a_request_that_does_not_wait_fails_at_once_until_the_peer_wants_to_be_asked) {
  turnstile_.left = 1;
  turnstile_.again_after = Duration::seconds(5);
  const auto operation = theirs_.classes().class_of(kQuestion, {}, wire::Role::kManager).operation;
  EXPECT_FALSE(links_->is_busy(m2(), operation));
  for (int i = 0; i < 2; ++i) {
    const auto answer = ask_without_waiting();
    ASSERT_FALSE(answer) << "the turnstile would take it after the wait";
    EXPECT_EQ(answer.error().code, Errc::kExhausted);
    EXPECT_TRUE(links_->is_busy(m2(), operation));
  }
  EXPECT_EQ(ask("y"), "y") << "this one waits";
  EXPECT_FALSE(links_->is_busy(m2(), operation));
  EXPECT_EQ(ask_without_waiting(), "x");
}

TEST_F(PeerRequestsTest, one_that_waits_for_its_turn_can_be_taken_back_and_ends_with_the_links) {
  turnstile_.left = std::numeric_limits<int>::max();
  turnstile_.again_after = Duration::seconds(30);
  runtime::Cancellation cancel;
  std::optional<Result<std::string>> first;
  std::optional<Result<std::string>> second;
  runtime::Scope scope;
  scope.spawn(take(*links_, m2(), &cancel, first));
  until([&] { return turnstile_.turned_away == 1; });
  scope.spawn(take(*links_, m2(), nullptr, second));
  cancel.cancel();
  until([&] { return first.has_value(); });
  EXPECT_EQ(first->error().code, Errc::kCancelled);
  EXPECT_FALSE(second);
  machine_.run(links_->close(Duration::seconds(5)));
  until([&] { return second.has_value(); });
  EXPECT_EQ(second->error().code, Errc::kCancelled);
  machine_.run(joining(scope));
}

TEST_F(PeerRequestsTest, news_that_is_turned_away_is_dropped) {
  turnstile_.left = 1;
  links_->send(m2(), kNews, wire::Priority::kNormal, "a", Duration::seconds(20));
  links_->send(m2(), kNews, wire::Priority::kNormal, "b", Duration::seconds(20));
  until([&] { return !echo_.told.empty(); });
  EXPECT_THAT(echo_.told, testing::ElementsAre("b"));
}

TEST_F(PeerRequestsTest, one_that_fails_three_times_is_left_alone_and_tried_later) {
  leave_alone_for(Duration::millis(100));
  stop_m2();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("x").error().code, Errc::kRefused);
  const auto alone = ask("x");
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Errc::kUnreachable);
  EXPECT_THAT(alone.error().message,
              HasSubstr("failed 3 times within 30s, and its circuit breaker is open: the next attempt is in "));
  EXPECT_THAT(alone.error().message, HasSubstr(": refused")) << "what it was the last time";
  ASSERT_EQ(links_->breakers().size(), 1);
  EXPECT_EQ(links_->breakers().front().peer, "m2");
  EXPECT_EQ(links_->breakers().front().times_opened, 1);
  start_m2();
  until([&] { return ask("x").has_value(); });
  EXPECT_EQ(links_->breakers().front().state, resilience::BreakerState::kClosed);
}

TEST_F(PeerRequestsTest, one_that_takes_questions_and_answers_none_is_left_alone_too) {
  const auto in_vain = [this] {
    return machine_.run(
        links_->request(m2(), kQuestion, wire::Priority::kNormal, std::string("slow"), Duration::millis(20), nullptr));
  };
  ASSERT_EQ(ask("x"), "x");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(in_vain().error().code, Errc::kTimeout);
  const std::string last = in_vain().error().message;
  EXPECT_THAT(last, testing::AllOf(HasSubstr("circuit breaker is open"), HasSubstr("in time")));
  EXPECT_EQ(links_->open_connections(), 1u);
}

TEST_F(PeerRequestsTest, what_must_go_is_tried_all_the_same_and_its_answer_ends_the_quarantine) {
  leave_alone_for(Duration::hours(1));
  stop_m2();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ask("x"));
  EXPECT_EQ(ask("x").error().code, Errc::kUnreachable);
  EXPECT_EQ(ask_what_must_go("copy").error().code, Errc::kRefused) << "it was tried";
  start_m2();
  EXPECT_EQ(ask("x").error().code, Errc::kUnreachable);
  EXPECT_EQ(ask_what_must_go("copy"), "copy");
  EXPECT_EQ(ask("x"), "x");
}

TEST_F(PeerRequestsTest, refusals_and_busy_answers_show_that_a_peer_is_well) {
  turnstile_.again_after = Duration::zero();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("wrong").error().code, Errc::kRefused);
  turnstile_.left = 5;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("x").error().code, Errc::kExhausted);
  EXPECT_EQ(ask("x"), "x");
  EXPECT_TRUE(links_->breakers().empty());
}

TEST_F(PeerRequestsTest, one_that_has_moved_or_come_back_as_another_is_not_held_to_what_was) {
  leave_alone_for(Duration::hours(1));
  const PeerAddress elsewhere{"m2", {runtime::IpAddress::loopback(), 1}};
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ask("x", elsewhere));
  EXPECT_EQ(ask("x", elsewhere).error().code, Errc::kUnreachable);
  EXPECT_EQ(ask("x"), "x");
  stop_m2();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ask("x"));
  links_->forget("m2");
  start_m2();
  EXPECT_EQ(ask("x"), "x");
}

}  // namespace
}  // namespace bellwether::cluster
