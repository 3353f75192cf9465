#include "sim/quorum/quorum_mistake.h"

namespace bellwether::sim {

std::string_view to_string(QuorumMistake mistake) {
  switch (mistake) {
    case QuorumMistake::kNone: return "none";
    case QuorumMistake::kVoteBeforeDurable: return "vote-before-durable";
    case QuorumMistake::kDiskErrorIgnored: return "disk-error-ignored";
    case QuorumMistake::kVoteForgotten: return "vote-forgotten";
    case QuorumMistake::kTermForgotten: return "term-forgotten";
    case QuorumMistake::kPromiseForgotten: return "promise-forgotten";
    case QuorumMistake::kLostRecordIsNew: return "lost-record-is-new";
    case QuorumMistake::kOlderDiskUnnoticed: return "older-disk-unnoticed";
    case QuorumMistake::kCountsFromAnswer: return "counts-from-answer";
    case QuorumMistake::kNoMarginForDrift: return "no-margin-for-drift";
    case QuorumMistake::kClockStopsInSuspend: return "clock-stops-in-suspend";
    case QuorumMistake::kKeepsLeadingUnrenewed: return "keeps-leading-unrenewed";
    case QuorumMistake::kSuspicionEndsPromise: return "suspicion-ends-promise";
    case QuorumMistake::kPermitsWhileActing: return "permits-while-acting";
    case QuorumMistake::kLiveMajority: return "live-majority";
    case QuorumMistake::kWorkOutlivesTerm: return "work-outlives-term";
    case QuorumMistake::kResourceForgetsFence: return "resource-forgets-fence";
  }
  return "?";
}

}  // namespace bellwether::sim
