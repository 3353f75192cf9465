// The well-known ways to build leader election wrong, each as a switch of the simulated world: the kernel under test is
// the product's own, and what surrounds it (store, driver, clock, resource) makes the mistake. A suite that does not
// find every one of them out would not find it in the product either.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bellwether::sim {

enum class LeadershipMistake : uint8_t {
  kNone,
  kIgnoresExpectedVersion,   // read, decide, write without holding anything in between
  kReleaseDeletesUnseen,     // release deletes whatever is there, also a successor's claim
  kReleaseErasesEpoch,       // the fence counter goes with the record
  kEpochInMemory,            // a store that lost its data starts counting from 1 again, and everybody believes it
  kTrustsWallClock,          // a contender compares the record's time stamp with its own wall clock
  kCountsFromAnswer,         // validity counts from the answer to a renewal, not from its sending
  kKeepsLeadingUnrenewed,    // a holder that cannot renew warns and goes on
  kWorkOutlivesTerm,         // the end of a term does not stop the work
  kCachesLeadership,         // the work asks once and then acts, however long it was paused in between
  kReleasesBeforeWorkStops,  // the key is given back while the work still runs
  kNoMarginForDrift,         // clocks are taken to run alike
  kDeadlineIsTheLease,       // the holder stops when its lease ends, and its work after that
  kClockStopsInSuspend,      // a clock that stands still while the machine sleeps
  kRenewsWhileWorkHangs,     // the thread that renews knows nothing of the work
  kFailOpenIsLeadership,     // an error of the store makes a leader
  kResourceForgetsFence,     // the guarded resource keeps the highest token in memory only
  kDeadProcessTakenBlindly,  // two contenders see the same dead process, and both replace its claim
  kPidAloneMeansAlive,       // a process number in use again counts as the holder's life
  kStartsBeforeStopped,      // the next term begins while the work of the last one still winds up
  kNewLeaseCountsAtOnce,     // a lease made longer gives the work more time before anybody else has seen it
};
inline constexpr int kLeadershipMistakes = static_cast<int>(LeadershipMistake::kNewLeaseCountsAtOnce) + 1;

std::string_view to_string(LeadershipMistake mistake);

}  // namespace bellwether::sim
