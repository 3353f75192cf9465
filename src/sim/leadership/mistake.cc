#include "sim/leadership/mistake.h"

namespace bellwether::sim {

std::string_view to_string(LeadershipMistake mistake) {
  switch (mistake) {
    case LeadershipMistake::kNone: return "none";
    case LeadershipMistake::kIgnoresExpectedVersion: return "ignores-expected-version";
    case LeadershipMistake::kReleaseDeletesUnseen: return "release-deletes-unseen";
    case LeadershipMistake::kReleaseErasesEpoch: return "release-erases-epoch";
    case LeadershipMistake::kEpochInMemory: return "epoch-in-memory";
    case LeadershipMistake::kTrustsWallClock: return "trusts-wall-clock";
    case LeadershipMistake::kCountsFromAnswer: return "counts-from-answer";
    case LeadershipMistake::kKeepsLeadingUnrenewed: return "keeps-leading-unrenewed";
    case LeadershipMistake::kWorkOutlivesTerm: return "work-outlives-term";
    case LeadershipMistake::kCachesLeadership: return "caches-leadership";
    case LeadershipMistake::kReleasesBeforeWorkStops: return "releases-before-work-stops";
    case LeadershipMistake::kNoMarginForDrift: return "no-margin-for-drift";
    case LeadershipMistake::kDeadlineIsTheLease: return "deadline-is-the-lease";
    case LeadershipMistake::kClockStopsInSuspend: return "clock-stops-in-suspend";
    case LeadershipMistake::kRenewsWhileWorkHangs: return "renews-while-work-hangs";
    case LeadershipMistake::kFailOpenIsLeadership: return "fail-open-is-leadership";
    case LeadershipMistake::kResourceForgetsFence: return "resource-forgets-fence";
    case LeadershipMistake::kDeadProcessTakenBlindly: return "dead-process-taken-blindly";
    case LeadershipMistake::kPidAloneMeansAlive: return "pid-alone-means-alive";
    case LeadershipMistake::kStartsBeforeStopped: return "starts-before-stopped";
    case LeadershipMistake::kNewLeaseCountsAtOnce: return "new-lease-counts-at-once";
  }
  return "?";
}

}  // namespace bellwether::sim
