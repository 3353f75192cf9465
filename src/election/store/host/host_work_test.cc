// Work that outlives its leader's process: which candidates see it, and which of them wait for it.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "election/store/disk/store_testing.h"

namespace bellwether::store {
namespace {

using election::HolderSight;
using testing::HasSubstr;

class HostWorkTest : public testing::Test {
 protected:
  std::string url() const { return "flock:" + folder_.path("locks"); }
  std::string hold() const { return folder_.path("locks/default.held"); }
  runtime::TemporaryFolder folder_;
};

// A process that takes the key, starts work if `with_work`, and dies at once. The work runs until the returned
// descriptor is closed.
int take_and_die(const std::string& url, bool with_work = true) {
  int go_on[2];
  check(::pipe2(go_on, O_CLOEXEC) == 0, "a test has descriptors");
  const pid_t holder = ::fork();
  if (holder == 0) {
    StoreUser user(url);
    const auto taken = user.take("alice");
    const bool good = taken && taken->applied;
    if (with_work && ::fork() == 0) {
      ::close(go_on[1]);
      char byte;
      ::_exit(::read(go_on[0], &byte, 1) == 0 ? 0 : 1);
    }
    ::_exit(good ? 0 : 1);
  }
  ::close(go_on[0]);
  int status = 1;
  ::waitpid(holder, &status, 0);
  EXPECT_EQ(status, 0);
  return go_on[1];
}

TEST_F(HostWorkTest, a_dead_holder_is_dead_once_the_work_that_it_started_is_gone_too) {
  for (const std::string& one : {url(), "file:" + folder_.path("state.json")}) {
    const int work = take_and_die(one);
    StoreUser user(one);
    auto seen = user.look();
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(seen->record.holder, "alice");
    EXPECT_EQ(seen->sight, HolderSight::kUnknown);
    EXPECT_THAT(seen->evidence, HasSubstr("still running"));
    ::close(work);
    const Instant limit = user.within(Duration::minutes(1));
    while (seen->sight != HolderSight::kDead && user.runtime().read_clock() < limit) seen = user.look();
    EXPECT_EQ(seen->sight, HolderSight::kDead);
  }
}

TEST_F(HostWorkTest, work_that_outlives_its_lease_holds_up_nobody) {
  const int work = take_and_die(url());
  StoreUser user(url());
  const auto taken = user.take("bob");
  EXPECT_TRUE(taken && taken->applied);
  ::close(work);
}

TEST_F(HostWorkTest, who_looks_whether_work_still_runs_never_takes_its_place) {
  ::close(take_and_die(url(), false));
  struct stat before {};
  ASSERT_EQ(::stat(hold().c_str(), &before), 0);
  // A process, for this one forks: a child of one with threads may find a lock taken for ever.
  int over[2];
  ASSERT_EQ(::pipe2(over, O_CLOEXEC), 0);
  const pid_t looker = ::fork();
  if (looker == 0) {
    ::close(over[1]);
    StoreUser user(url());
    pollfd end{over[0], POLLIN, 0};
    while (::poll(&end, 1, 0) == 0) (void)user.look();
    ::_exit(0);
  }
  for (int i = 0; i < 40; ++i) {
    const auto taken = StoreUser(url()).take("bob");
    ASSERT_TRUE(taken) << taken.error().message;
    ASSERT_TRUE(taken->applied);
    ::close(take_and_die(url(), false));
  }
  ::close(over[1]);
  ::waitpid(looker, nullptr, 0);
  ::close(over[0]);
  struct stat after {};
  ASSERT_EQ(::stat(hold().c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino) << "somebody took a look for work of an earlier holder";
}

TEST_F(HostWorkTest, a_key_whose_work_nobody_could_see_is_not_taken) {
  ASSERT_EQ(::mkdir(folder_.path("locks").c_str(), 0700), 0);
  ASSERT_EQ(::mkdir(hold().c_str(), 0700), 0);
  StoreUser user(url());
  const auto taken = user.take("alice");
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("default.held': it is a folder"));
  EXPECT_FALSE(user.look()->record.held());
}

TEST_F(HostWorkTest, the_descriptor_for_the_work_is_there_while_the_key_is_held) {
  StoreUser user(url());
  EXPECT_EQ(user.key().claim_descriptor(), -1);
  const auto taken = user.take("alice");
  EXPECT_GE(user.key().claim_descriptor(), 0);
  ASSERT_TRUE(user.release(taken->after)->applied);
  EXPECT_EQ(user.key().claim_descriptor(), -1);

  const auto again = user.take("alice");
  ASSERT_TRUE(again->applied);
  ASSERT_TRUE(StoreUser(url()).take("bob")->applied);
  EXPECT_FALSE(user.renew(again->after)->applied);
  EXPECT_EQ(user.key().claim_descriptor(), -1) << "the key was lost";
}

}  // namespace
}  // namespace bellwether::store
