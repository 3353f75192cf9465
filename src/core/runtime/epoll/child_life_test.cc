// What becomes of children and their descendants: groups, sessions, and the end of who started them.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/runtime/child_testing.h"

namespace bellwether::runtime {
namespace {

class ChildLifeTest : public ChildTest {
 protected:
  // A script that starts another program, and prints its process id.
  static SpawnOptions family(SpawnOptions::Group group, const std::string& then) {
    SpawnOptions options = script("sleep 1000 >&- & echo $!; " + then);
    options.group = group;
    return options;
  }
};

TEST_F(ChildLifeTest, a_group_of_its_own_is_signalled_as_a_whole) {
  const auto child = start(family(SpawnOptions::Group::kOwnGroup, "wait"));
  const int64_t grandchild = std::stoll(line_of(*child));
  EXPECT_EQ(::getpgid(static_cast<pid_t>(child->pid())), child->pid());
  EXPECT_EQ(::getpgid(static_cast<pid_t>(grandchild)), child->pid());
  ASSERT_TRUE(child->signal_group(SIGTERM));
  EXPECT_EQ(wait(*child).signal, SIGTERM);
  wait_until_dead(grandchild);
}

TEST_F(ChildLifeTest, what_a_child_left_behind_is_reached_after_its_end) {
  const auto child = start(family(SpawnOptions::Group::kOwnGroup, "exit 0"));
  EXPECT_TRUE(wait(*child).succeeded());
  const int64_t grandchild = std::stoll(line_of(*child));
  EXPECT_TRUE(is_alive(grandchild));
  ASSERT_TRUE(child->signal_group(SIGKILL));
  wait_until_dead(grandchild);
}

TEST_F(ChildLifeTest, one_in_our_group_is_signalled_alone) {
  const auto child = start(script("exec sleep 1000"));
  EXPECT_EQ(::getpgid(static_cast<pid_t>(child->pid())), ::getpgrp());
  const Status refused = child->signal_group(SIGKILL);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  ASSERT_TRUE(child->signal(SIGKILL));
  EXPECT_EQ(wait(*child).signal, SIGKILL);
}

TEST_F(ChildLifeTest, one_in_a_session_of_its_own_leads_it) {
  SpawnOptions options = script("exec sleep 1000");
  options.group = SpawnOptions::Group::kOwnSession;
  const auto child = start(options);
  EXPECT_EQ(::getsid(static_cast<pid_t>(child->pid())), child->pid());
  EXPECT_TRUE(child->signal_group(SIGINT));
  EXPECT_EQ(wait(*child).signal, SIGINT);
}

TEST_F(ChildLifeTest, one_that_nobody_holds_any_more_is_killed_with_its_group) {
  auto child = start(family(SpawnOptions::Group::kOwnGroup, "wait"));
  const int64_t pid = child->pid();
  const int64_t grandchild = std::stoll(line_of(*child));
  child.reset();
  wait_until_dead(pid);
  wait_until_dead(grandchild);
}

TEST_F(ChildLifeTest, one_whose_start_nobody_waits_for_any_more_is_killed) {
  const std::string path = folder_.path("pid");
  {
    const auto forgotten =
        runtime_->spawn(script("echo $$ > " + path + ".new; mv " + path + ".new " + path + "; exec sleep 1000"));
  }
  const auto other = start(script("while ! test -e " + path + "; do sleep 0.01; done; cat " + path));
  // The forgotten one may be killed before it writes anything.
  while (runtime_->run(other->wait(runtime_->now() + Duration::millis(50), nullptr)).has_value() == false) {
    if (::access(path.c_str(), F_OK) != 0) return;
  }
  wait_until_dead(std::stoll(other->output()));
}

TEST_F(ChildLifeTest, one_that_was_let_go_lives_on) {
  auto child = start(script("exec sleep 1000"));
  const auto pid = static_cast<pid_t>(child->pid());
  child->let_go();
  child.reset();
  EXPECT_TRUE(is_alive(pid));
  ::kill(pid, SIGKILL);
  wait_until_dead(pid);
}

TEST_F(ChildLifeTest, one_that_shall_die_with_us_does) {
  SpawnOptions options = script("exec sleep 1000");
  auto child = start(options);
  const auto survivor = static_cast<pid_t>(child->pid());
  child->let_go();
  options.die_with_us = true;
  child = start(options);
  const int64_t companion = child->pid();
  child->let_go();
  child.reset();
  runtime_.reset();
  runtime_ = test_runtime();
  wait_until_dead(companion);
  EXPECT_TRUE(is_alive(survivor));
  ::kill(survivor, SIGKILL);
}

TEST_F(ChildLifeTest, nothing_is_left_of_one_that_ended) {
  auto child = start(script("exit 0"));
  const auto pid = static_cast<pid_t>(child->pid());
  wait(*child);
  EXPECT_EQ(::kill(pid, 0), 0) << "its number is kept";
  child.reset();
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
}

TEST_F(ChildLifeTest, nothing_is_left_of_one_that_was_killed_once_another_is_started) {
  auto child = start(script("exec sleep 1000"));
  const auto pid = static_cast<pid_t>(child->pid());
  child.reset();
  wait_until_dead(pid);
  start(script("exit 0"));
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(ChildLifeTest, a_child_that_is_given_a_lock_keeps_it) {
  const OpenOptions create{.create = true, .write = true};
  auto file = *runtime_->run(runtime_->open(folder_.path("lock"), create));
  const auto other = *runtime_->run(runtime_->open(folder_.path("lock"), create));
  ASSERT_TRUE(runtime_->run(file->lock(runtime_->now(), nullptr)));
  SpawnOptions options = script("flock -n " + folder_.path("lock") + " true; echo $?");
  EXPECT_EQ(output_of(options), "1\n");
  options = script("flock -n " + std::to_string(file->descriptor()) + " && echo mine");
  options.keep_open = {file->descriptor()};
  EXPECT_EQ(output_of(options), "mine\n");
  EXPECT_FALSE(runtime_->run(other->lock(runtime_->now(), nullptr)));
}

}  // namespace
}  // namespace bellwether::runtime
