#include <gtest/gtest.h>

#include "lead/drill/candidates.h"

namespace bellwether::lead {
namespace {

TEST(PidInName, is_that_of_a_holder_on_this_machine_only) {
  EXPECT_EQ(pid_in_name("node-1:4711", "node-1"), 4711);
  EXPECT_EQ(pid_in_name("a:b:4711", "a:b"), 4711);
  for (const char* name : {"node-2:4711", "node-1", "node-1:", "node-1:-1", "node-1:47x", "node-1:99999999999", ":4711",
                           "node-1:4711:1", ""}) {
    EXPECT_EQ(pid_in_name(name, "node-1"), 0) << name;
  }
  EXPECT_EQ(pid_in_name(":4711", ""), 0) << "nobody knows the name of this machine";
}

using Sight = runtime::ProcessSight;
constexpr auto kAlive = Sight::State::kAlive;

TEST(KnownProcesses, one_that_began_at_another_time_is_another_one) {
  KnownProcesses known;
  EXPECT_TRUE(known.same(77, {kAlive, 100}).has_value());
  EXPECT_TRUE(known.same(77, {kAlive, 100}).has_value()) << "it may be broken again, as by a pause";
  EXPECT_EQ(known.same(77, {kAlive, 101}).error().code, Errc::kNotFound);
  EXPECT_EQ(known.same(77, {kAlive, {}}).error().code, Errc::kNotFound) << "that is another user's";
  EXPECT_EQ(known.same(77, {Sight::State::kDead, {}}).error().code, Errc::kNotFound);
  EXPECT_TRUE(known.same(78, {kAlive, 101}).has_value());
}

TEST(KnownProcesses, one_that_was_killed_comes_back_only_as_another_one) {
  KnownProcesses known;
  EXPECT_TRUE(known.same(77, {kAlive, {}}).has_value());
  EXPECT_TRUE(known.same(77, {kAlive, {}}).has_value());
  known.killed(77);
  EXPECT_FALSE(known.same(77, {kAlive, {}}).has_value());
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(known.same(77, {kAlive, 100}).has_value());
}

TEST(LastWords, are_the_last_line_that_says_something) {
  EXPECT_EQ(last_lines("a\nno such file\n\n"), ": no such file");
  EXPECT_EQ(last_lines("no\tsuch"), ": no?such");
  EXPECT_EQ(last_lines(" \n"), "");
}

}  // namespace
}  // namespace bellwether::lead
