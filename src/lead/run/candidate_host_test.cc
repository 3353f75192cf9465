#include "lead/run/candidate_host.h"

#include <gtest/gtest.h>
#include <span>

#include "core/runtime/scope.h"
#include "sim/machine_testing.h"

namespace bellwether::lead {
namespace {

class EpochMemoryTest : public sim::MachineTest {
 protected:
  static runtime::task<void> save(EpochMemory* memory, uint64_t epoch) {
    const Status done = co_await memory->save(election::Epoch(epoch));
    EXPECT_TRUE(done) << done.error().message;
  }
  static runtime::task<void> save_at_once(std::span<EpochMemory> memories) {
    runtime::Scope scope;
    uint64_t epoch = 9;
    for (EpochMemory& one : memories) scope.spawn(save(&one, epoch--));
    co_await scope.join();
  }
  EpochMemory memory() { return {runtime_, "/state/epochs", "redis://here", "nightly"}; }
};

// They are processes of one machine that want the same key.
TEST_F(EpochMemoryTest, of_epochs_that_are_saved_at_once_the_highest_stays) {
  EpochMemory memories[] = {memory(), memory(), memory()};
  machine_.run(save_at_once(memories));
  EXPECT_EQ(machine_.run(memories[0].load()).value(), election::Epoch(9));
}

}  // namespace
}  // namespace bellwether::lead
