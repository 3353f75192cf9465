// The well-known ways to build leader election over a store wrong.
#pragma once

#include "sim/harness/mistakes.h"

namespace bellwether::sim {

inline constexpr auto kLeadershipMistakes = std::to_array<Mistake>({
    {"ignores-expected-version", "read, decide, write without holding anything in between", "leadership-file"},
    {"release-deletes-unseen", "release deletes whatever is there, also a successor's claim", "leadership-redis"},
    {"release-erases-epoch", "the fence counter goes with the record", "leadership-postgres"},
    {"epoch-in-memory", "a store that lost its data counts from 1 again, and everybody believes it",
     "leadership-redis"},
    {"trusts-wall-clock", "a contender compares the record's time stamp with its own wall clock", "leadership-file"},
    {"counts-from-answer", "validity counts from the answer to a renewal, not from its sending", "leadership-redis"},
    {"keeps-leading-unrenewed", "a holder that cannot renew warns and goes on", "leadership-file"},
    {"work-outlives-term", "the end of a term does not stop the work", "leadership-redis"},
    {"caches-leadership", "the work asks once and then acts, however long it was paused in between", "leadership-etcd"},
    {"releases-before-work-stops", "the key is given back while the work still runs", "leadership-k8s"},
    {"no-margin-for-drift", "clocks are taken to run alike", "leadership-k8s"},
    {"deadline-is-the-lease", "the holder stops when its lease ends, and its work after that", "leadership-etcd"},
    {"clock-stops-in-suspend", "a clock that stands still while the machine sleeps", "leadership-etcd"},
    {.name = "renews-while-work-hangs",
     .what = "the thread that renews knows nothing of the work",
     .world = "leadership-redis",
     .only_stops = true},
    {"fail-open-is-leadership", "an error of the store makes a leader", "leadership-flock"},
    {"resource-forgets-fence", "the guarded resource does not compare tokens", "leadership-postgres"},
    {"dead-process-taken-blindly", "two contenders see the same dead process, and both replace its claim",
     "leadership-flock"},
    {.name = "pid-alone-means-alive",
     .what = "a process number in use again counts as the holder's life",
     .world = "leadership-flock",
     .only_stops = true},
    {"starts-before-stopped", "the next term begins while the work of the last one still winds up",
     "leadership-postgres"},
    {"new-lease-counts-at-once", "a lease made longer gives the work more time before anybody else has seen it",
     "leadership-redis"},
});

}  // namespace bellwether::sim
