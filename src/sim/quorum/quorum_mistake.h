// The well-known ways to build an elected group wrong, each as a switch of the simulated world: the kernel under test
// is the product's own, and what surrounds it (driver, disk, clock, wire) makes the mistake or takes away what the
// kernel does against it: that a member is quiet after its start hides several of them, and goes with them. A suite
// that does not find every one of them out would not find it in the product either.
#pragma once

#include <cstdint>
#include <string_view>

namespace bellwether::sim {

enum class QuorumMistake : uint8_t {
  kNone,
  kVoteBeforeDurable,      // a vote leaves before it is on the disk
  kDiskErrorIgnored,       // a write that failed counts as done
  kVoteForgotten,          // the record has the term, and not whom the vote went to
  kTermForgotten,          // a member starts anew in term 0
  kPromiseForgotten,       // after a restart votes are given at once
  kLostRecordIsNew,        // a member without a record is taken for a new one, and nobody tells it better
  kOlderDiskUnnoticed,     // a disk that went back in time, and nobody compares
  kCountsFromAnswer,       // validity counts from the answer, not from the sending of the heartbeat
  kNoMarginForDrift,       // clocks are taken to run alike
  kClockStopsInSuspend,    // a clock that stands still while the machine sleeps
  kKeepsLeadingUnrenewed,  // a leader without a quorum warns and goes on
  kSuspicionEndsPromise,   // silence is taken for a proof of death
  kPermitsWhileActing,     // the hand-over is permitted while the work still runs
  kLiveMajority,           // a majority of those that are up
  kWorkOutlivesTerm,       // the end of a term does not stop the work
  kResourceForgetsFence,   // the guarded resource does not compare terms
};
inline constexpr int kQuorumMistakes = static_cast<int>(QuorumMistake::kResourceForgetsFence) + 1;

std::string_view to_string(QuorumMistake mistake);

}  // namespace bellwether::sim
