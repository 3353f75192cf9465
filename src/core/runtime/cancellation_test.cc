#include "core/runtime/cancellation.h"

#include <gtest/gtest.h>

namespace bellwether::runtime {
namespace {

void count(void* counter) { ++*static_cast<int*>(counter); }

TEST(Cancellation, calls_every_callback_once) {
  Cancellation cancellation;
  int calls = 0;
  CancelCallback one(&cancellation, &count, &calls);
  CancelCallback other(&cancellation, &count, &calls);
  EXPECT_FALSE(cancellation.cancelled());
  cancellation.cancel();
  cancellation.cancel();
  EXPECT_TRUE(cancellation.cancelled());
  EXPECT_EQ(calls, 2);
}

TEST(Cancellation, a_callback_that_comes_late_is_called_at_once) {
  Cancellation cancellation;
  cancellation.cancel();
  int calls = 0;
  CancelCallback late(&cancellation, &count, &calls);
  EXPECT_EQ(calls, 1);
}

TEST(Cancellation, a_callback_without_a_cancellation_is_never_called) {
  int calls = 0;
  { CancelCallback none(nullptr, &count, &calls); }
  EXPECT_EQ(calls, 0);
}

TEST(Cancellation, a_callback_that_has_ended_is_not_called) {
  Cancellation cancellation;
  int calls = 0;
  { CancelCallback gone(&cancellation, &count, &calls); }
  cancellation.cancel();
  EXPECT_EQ(calls, 0);
}

TEST(Cancellation, a_callback_may_end_others_that_have_not_been_called) {
  Cancellation cancellation;
  int calls = 0;
  std::optional<CancelCallback> second;
  CancelCallback first(
      &cancellation, [](void* other) { static_cast<std::optional<CancelCallback>*>(other)->reset(); }, &second);
  second.emplace(&cancellation, &count, &calls);
  CancelCallback third(&cancellation, &count, &calls);
  cancellation.cancel();
  EXPECT_EQ(calls, 1);
}

TEST(Cancellation, goes_down_to_children_and_not_up) {
  Cancellation parent;
  Cancellation child(&parent);
  Cancellation grandchild(&child);
  Cancellation sibling(&parent);
  child.cancel();
  EXPECT_TRUE(grandchild.cancelled());
  EXPECT_FALSE(parent.cancelled());
  EXPECT_FALSE(sibling.cancelled());
  parent.cancel();
  EXPECT_TRUE(sibling.cancelled());
}

TEST(Cancellation, a_child_of_a_cancelled_parent_starts_cancelled) {
  Cancellation parent;
  parent.cancel();
  const Cancellation child(&parent);
  EXPECT_TRUE(child.cancelled());
}

}  // namespace
}  // namespace bellwether::runtime
