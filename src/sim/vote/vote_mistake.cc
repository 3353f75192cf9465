#include "sim/vote/vote_mistake.h"

namespace bellwether::sim {

std::string_view to_string(VoteMistake mistake) {
  switch (mistake) {
    case VoteMistake::kNone: return "none";
    case VoteMistake::kVoteBeforeDurable: return "vote-before-durable";
    case VoteMistake::kDiskErrorIgnored: return "disk-error-ignored";
    case VoteMistake::kVoteForgotten: return "vote-forgotten";
    case VoteMistake::kTermForgotten: return "term-forgotten";
    case VoteMistake::kPromiseForgotten: return "promise-forgotten";
    case VoteMistake::kLostRecordIsNew: return "lost-record-is-new";
    case VoteMistake::kOlderDiskUnnoticed: return "older-disk-unnoticed";
    case VoteMistake::kCountsFromAnswer: return "counts-from-answer";
    case VoteMistake::kNoMarginForDrift: return "no-margin-for-drift";
    case VoteMistake::kClockStopsInSuspend: return "clock-stops-in-suspend";
    case VoteMistake::kKeepsLeadingUnrenewed: return "keeps-leading-unrenewed";
    case VoteMistake::kPermitsWhileActing: return "permits-while-acting";
    case VoteMistake::kLiveMajority: return "live-majority";
    case VoteMistake::kPlurality: return "plurality";
    case VoteMistake::kSignatureUnchecked: return "signature-unchecked";
    case VoteMistake::kMemberVotesTwice: return "member-votes-twice";
    case VoteMistake::kWorkOutlivesTerm: return "work-outlives-term";
    case VoteMistake::kResourceForgetsFence: return "resource-forgets-fence";
  }
  return "?";
}

}  // namespace bellwether::sim
