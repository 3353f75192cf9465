#include "core/runtime/scope.h"

#include <gtest/gtest.h>

#include "core/runtime/event.h"

namespace bellwether::runtime {
namespace {

void drain() { RunQueue::local().drain(1'000'000); }

task<void> wait_for(Event& event, int& ended) {
  co_await event.wait();
  ++ended;
}

task<void> wait_for_cancellation(Cancellation* cancel, int& ended) {
  Event cancelled;
  CancelCallback on_cancel(
      cancel, [](void* event) { static_cast<Event*>(event)->set(); }, &cancelled);
  co_await cancelled.wait();
  ++ended;
}

task<void> nothing() { co_return; }

task<void> join(Scope& scope, bool& joined) {
  co_await scope.join();
  joined = true;
}

struct ScopeTest : testing::Test {
  Scope scope;
  Event event;
  int ended = 0;
  bool joined = false;
};

TEST_F(ScopeTest, joining_an_empty_scope_does_not_wait) {
  const task<void> joining = join(scope, joined);
  EXPECT_TRUE(joined);
}

TEST_F(ScopeTest, a_child_that_never_waits_has_ended_when_spawn_returns) {
  scope.spawn(nothing());
  EXPECT_EQ(scope.running(), 0u);
}

struct Held {
  explicit Held(int& count) : ended(count) {}
  ~Held() { ++ended; }
  int& ended;
};

task<void> hold(std::unique_ptr<Held> /*held*/, Event* until) { co_await until->wait(); }

TEST_F(ScopeTest, what_a_child_holds_ends_with_it) {
  scope.spawn(hold(std::make_unique<Held>(ended), &event));
  event.set();
  EXPECT_EQ(ended, 0);
  drain();
  EXPECT_EQ(ended, 1);
}

TEST_F(ScopeTest, join_waits_for_the_last_child) {
  Event one;
  Event other;
  scope.spawn(wait_for(one, ended));
  scope.spawn(wait_for(other, ended));
  const task<void> joining = join(scope, joined);
  other.set();
  drain();
  EXPECT_EQ(scope.running(), 1u);
  EXPECT_FALSE(joined);
  one.set();
  drain();
  EXPECT_TRUE(joined);
  EXPECT_EQ(ended, 2);
}

TEST_F(ScopeTest, cancel_reaches_every_child_that_listens) {
  for (int i = 0; i < 3; ++i) scope.spawn(wait_for_cancellation(scope.cancellation(), ended));
  const task<void> joining = join(scope, joined);
  scope.cancel();
  drain();
  EXPECT_TRUE(joined);
  EXPECT_EQ(ended, 3);
}

TEST(Scope, is_cancelled_with_its_parent) {
  Cancellation parent;
  Scope scope(&parent);
  parent.cancel();
  EXPECT_TRUE(scope.cancellation()->cancelled());
}

task<void> spawn_more(Scope& scope, Event& event, int& ended) {
  co_await event.wait();
  scope.spawn(wait_for(event, ended));
  scope.spawn(nothing());
  ++ended;
}

TEST_F(ScopeTest, join_also_waits_for_what_children_spawn) {
  Event late;
  scope.spawn(spawn_more(scope, event, ended));
  scope.spawn(wait_for(late, ended));
  const task<void> joining = join(scope, joined);
  event.set();
  drain();
  EXPECT_EQ(ended, 2);
  EXPECT_FALSE(joined);
  late.set();
  drain();
  EXPECT_TRUE(joined);
}

TEST_F(ScopeTest, may_be_used_again_after_a_join) {
  for (int round = 0; round < 3; ++round) {
    Event event;
    scope.spawn(wait_for(event, ended));
    const task<void> joining = join(scope, joined);
    event.set();
    drain();
    EXPECT_TRUE(joined);
  }
}

TEST(Scope, its_end_destroys_children_that_still_run) {
  Event event;
  int ended = 0;
  {
    Scope scope;
    scope.spawn(wait_for(event, ended));
    scope.spawn(nothing());
    scope.spawn(wait_for_cancellation(scope.cancellation(), ended));
  }
  event.set();
  drain();
  EXPECT_EQ(ended, 0);
}

TEST_F(ScopeTest, a_joiner_that_is_destroyed_is_forgotten) {
  scope.spawn(wait_for(event, ended));
  { const task<void> joining = join(scope, joined); }
  event.set();
  drain();
  EXPECT_EQ(ended, 1);
  EXPECT_FALSE(joined);
}

}  // namespace
}  // namespace bellwether::runtime
