// The well-known ways to build an election by votes wrong, each as a switch of the simulated world: the kernel under
// test is the product's own, and what surrounds it makes the mistake, or takes away what the kernel does against it:
// that a node is quiet after its start hides several of them, and goes with them.
#pragma once

#include <cstdint>
#include <string_view>

namespace bellwether::sim {

enum class VoteMistake : uint8_t {
  kNone,
  kVoteBeforeDurable,      // a vote leaves before it is on the disk
  kDiskErrorIgnored,       // a write that failed counts as done
  kVoteForgotten,          // the record does not have the last vote
  kTermForgotten,          // a node starts anew in term 0
  kPromiseForgotten,       // after a restart votes are given at once
  kLostRecordIsNew,        // a node without a record is taken for a new one, and nobody tells it better
  kOlderDiskUnnoticed,     // a disk that went back in time, and nobody compares
  kCountsFromAnswer,       // a term counts from the answer, not from the sending of the heartbeat
  kNoMarginForDrift,       // clocks are taken to run alike
  kClockStopsInSuspend,    // a clock that stands still while the machine sleeps
  kKeepsLeadingUnrenewed,  // an admin without a quorum warns and goes on
  kPermitsWhileActing,     // the hand-over is permitted while the work still runs
  kLiveMajority,           // a majority of those that are up
  kPlurality,              // most votes are enough
  kSignatureUnchecked,     // anybody can vote as anybody else
  kMemberVotesTwice,       // a member with its key tells each candidate that it has its vote
  kWorkOutlivesTerm,       // the end of a term does not stop the work
  kResourceForgetsFence,   // the guarded resource does not compare terms
};
inline constexpr int kVoteMistakes = static_cast<int>(VoteMistake::kResourceForgetsFence) + 1;

std::string_view to_string(VoteMistake mistake);

}  // namespace bellwether::sim
