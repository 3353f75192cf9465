#include "core/runtime/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace bellwether::runtime {
namespace {

TEST(Thread, has_its_name_and_runs_where_it_is_pinned) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &allowed)) --last;
  char name[16] = "";
  cpu_set_t used;
  CPU_ZERO(&used);
  std::thread([&] {
    set_up_thread("a name of more than fifteen", last);
    pthread_getname_np(pthread_self(), name, sizeof name);
    pthread_getaffinity_np(pthread_self(), sizeof used, &used);
  }).join();
  EXPECT_STREQ(name, "a name of more ");
  EXPECT_EQ(CPU_COUNT(&used), 1);
  EXPECT_TRUE(CPU_ISSET(last, &used));
}

}  // namespace
}  // namespace bellwether::runtime
