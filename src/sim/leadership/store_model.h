// The stores of leases as models: the promises of each kind, and how it breaks them when it crashes, fails over or is
// emptied. Only one key; times are of the world.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/prng.h"
#include "core/base/time.h"
#include "election/lease_record.h"
#include "sim/harness/faulty_world.h"

namespace bellwether::sim {

// The well-known ways to build leader election over a store wrong.
inline constexpr auto kLeadershipMistakes = std::to_array<Mistake>({
    {"ignores-expected-version", "a write does not check the version that the decision was based on",
     "leadership-file"},
    {"release-deletes-unseen", "a release also deletes a successor's claim", "leadership-redis"},
    {"release-erases-epoch", "deleting the record resets the fence counter", "leadership-postgres"},
    {"epoch-in-memory", "a store that lost its data counts from 1 again, and candidates accept that",
     "leadership-redis"},
    {"trusts-wall-clock", "a candidate compares the record's time stamp with its own wall clock", "leadership-file"},
    {"counts-from-answer", "validity counts from the answer to a renewal, not from its sending", "leadership-redis"},
    {"keeps-leading-unrenewed", "a holder that cannot renew warns and continues", "leadership-file"},
    {"work-outlives-term", "the end of a term does not stop the work", "leadership-redis"},
    {"caches-leadership", "the work checks its leadership once and then acts, even after a long pause",
     "leadership-etcd"},
    {"releases-before-work-stops", "the holder releases the key while its work still runs", "leadership-k8s"},
    {"no-margin-for-drift", "clocks are assumed to run at the same rate", "leadership-k8s"},
    {"deadline-is-the-lease", "the holder stops when its lease ends, and its work stops later", "leadership-etcd"},
    {"clock-stops-in-suspend", "the clock stops while the machine sleeps", "leadership-etcd"},
    {.name = "renews-while-work-hangs",
     .what = "renewals continue although the work hangs",
     .world = "leadership-redis",
     .only_stops = true},
    {"fail-open-is-leadership", "a candidate leads after an error of the store", "leadership-flock"},
    {"resource-forgets-fence", "the guarded resource does not compare tokens", "leadership-postgres"},
    {"dead-process-taken-blindly", "two candidates see the same dead process, and both replace its claim",
     "leadership-flock"},
    {.name = "pid-alone-means-alive",
     .what = "a reused process id counts as a sign of life of the holder",
     .world = "leadership-flock",
     .only_stops = true},
    {"starts-before-stopped", "the next term begins before the work of the last one has stopped",
     "leadership-postgres"},
    {.name = "new-lease-counts-at-once",
     .what = "a longer lease gives the work more time before other candidates have seen it",
     .world = "leadership-redis",
     .seed = 3378},
});

enum class Mechanism : uint8_t { kHostLock, kLeaseFile, kRedis, kEtcd, kKubernetes, kPostgres };

class StoreModel {
 public:
  // `mistake`: a row of kLeadershipMistakes, counted from 1.
  StoreModel(Mechanism mechanism, std::size_t mistake) : mechanism_(mechanism), mistake_(mistake) {}

  election::StoreTraits traits() const;
  // `token`: of the reader's claim.
  election::Observation look(uint32_t who, const std::string& token, Instant now);
  election::WriteOutcome act(uint32_t who, const election::WriteRequest& request, Instant now);

  // A process of a holder is gone (host lock only); `pid_in_use`: its number belongs to another process now.
  void process_died(const std::string& token, bool pid_in_use);
  // It comes back with the data that it had kept, with an older state, or empty; each mechanism defines the permitted
  // ones.
  void crash(Prng& prng, Instant now);
  // An operator deletes expiring data (DEL, kubectl delete lease, rm). False: nothing to delete.
  bool record_deleted();

 private:
  bool is(MistakeIn<kLeadershipMistakes> mistake) const { return mistake_ == mistake.number; }
  struct Claim {
    uint32_t who;
    std::string token;
    std::string holder;
    uint64_t revision;
    Duration lease;
    Instant expires;
  };
  election::Observation look_queue(uint32_t who, const std::string& token, Instant now);
  election::WriteOutcome act_queue(uint32_t who, const election::WriteRequest& request, Instant now);
  void apply(const election::WriteRequest& request);
  void expire_claims(Instant now) {
    std::erase_if(queue_, [&](const Claim& claim) { return claim.expires <= now; });
  }
  uint64_t clock_epoch(Instant now) const;

  Mechanism mechanism_;
  std::size_t mistake_;

  // Register.
  bool present_ = false;
  election::LeaseRecord record_;
  election::Epoch epoch_;    // kept apart from the record
  uint64_t history_ = 1;     // grows when the store goes on from less than it had
  bool known_whole_ = true;  // the marker of the store is there
  bool holder_dead_ = false;
  struct Past {
    bool present;
    election::LeaseRecord record;
    election::Epoch epoch;
  };
  std::vector<Past> past_;  // the possible states of an older copy

  // Queue.
  std::vector<Claim> queue_;
  uint64_t revision_ = 1;
};

}  // namespace bellwether::sim
