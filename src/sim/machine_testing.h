// One simulated machine whose process does the acts of a test, one after the other: the runtime of tests whose subject
// is not the real kernel. Time is virtual, so the load of the test's machine does not matter.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>

#include "core/base/check.h"
#include "core/runtime/event.h"
#include "sim/world.h"

namespace bellwether::sim {

// Outlives everything that uses its runtime.
class TestMachine {
 public:
  explicit TestMachine(uint64_t seed = 1) : world_(seed), node_(world_.add_node("machine")) {
    node_.start(&live, this);
    settle();
  }

  runtime::Runtime& runtime() { return node_.runtime(); }
  World& world() { return world_; }

  // Runs everything until `main` has finished and gives its result.
  template <class T>
  T run(runtime::task<T> main) {
    settle();
    const bool finished = world_.run_while_waiting(kPatience, [&] { return main.done(); });
    check(finished, "what a test waits for comes some time");
    return main.take();
  }
  // Runs everything until `holds()`, which may change things; false when it never does.
  template <class Holds>
  bool until(Holds holds) {
    const Instant end = world_.now() + kPatience;
    while (!holds()) {
      if (world_.now() > end) return false;
      run_for(Duration::millis(1));
    }
    return true;
  }
  void run_for(Duration span) {
    settle();
    world_.run_for(span);
  }

 private:
  static constexpr Duration kPatience = Duration::minutes(10);

  static runtime::task<void> live(runtime::Runtime&, void* self) {
    co_await static_cast<TestMachine*>(self)->end_.wait();
  }
  // What the test has made ready is for the process to go on with.
  void settle() {
    runtime::RunQueue::local().move_to(made_ready_);
    const bool posted = runtime().post(&admit, this);
    check(posted, "the mailbox of a machine in tests has room");
    world_.run_for(Duration::zero());
  }
  static void admit(void* self) { static_cast<TestMachine*>(self)->made_ready_.move_to(runtime::RunQueue::local()); }

  runtime::RunQueue made_ready_;
  runtime::Event end_;  // of the process, which never comes
  World world_;
  Node& node_;
};

class MachineTest : public testing::Test {
 protected:
  template <class Holds>
  void until(Holds holds) {
    ASSERT_TRUE(machine_.until(holds));
  }

  TestMachine machine_;
  runtime::Runtime& runtime_ = machine_.runtime();
};

}  // namespace bellwether::sim
