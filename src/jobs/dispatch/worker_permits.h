// The permits to make load (docs/contributing/decisions/053-load-fence.md): those that a worker holds for its own
// assignments, and those that it gives to other workers as a witness. Times are of the steady clock. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "jobs/dispatch/messages.h"

namespace bellwether::dispatch {

// A permit that lasts longer is refused.
inline constexpr Duration kLongestPermit = Duration::minutes(1);

// What the owner of one job and its witnesses have granted to this worker. Each answer counts from before its request.
class JobPermit {
 public:
  void owner_gave(Instant asked) { asked_ = std::max(asked_, asked); }
  void witness_gave(uint64_t life, Instant until);
  void asks_witnesses(Instant now) { asked_witnesses_ = now; }

  // The end of the permit of an assignment. The answer to its offer, at `ready`, is a request too, which its begin
  // grants; so it holds for no other assignment. never(): it needs no permit.
  Instant until(const AssignmentOrder& order, Instant ready) const;
  // When to ask the witnesses for it; never() when they may not give one.
  Instant ask_at(const AssignmentOrder& order, Instant ready) const;

 private:
  Instant asked_;                          // the owner, with the latest request that it granted
  std::map<uint64_t, Instant> witnesses_;  // until when each of these lives has given a permit
  Instant asked_witnesses_;
};

// What one life of a worker has promised as a witness, to the lives of other workers. It never takes that back.
class WitnessBook {
 public:
  // It refuses further lives when it knows `most` and can forget none. It can forget one without a permit, after
  // `remember` without a message about it.
  WitnessBook(uint64_t life, std::size_t most, Duration remember) : life_(life), most_(most), remember_(remember) {}

  // Noted, or a refusal.
  Response renew(Instant now, const RenewMessage& message);
  // Denied, or a refusal. The caller has checked the fence.
  Response deny(Instant now, const DenyMessage& message);

 private:
  struct Asker {
    AssignmentId denied;  // up to this one
    Instant until;        // the last permit that it may have
    Instant touched;
  };
  // nullptr: `why` is the answer.
  Asker* asker(Instant now, const std::string& job, uint64_t receiver, uint64_t asker, Response& why);

  uint64_t life_;
  std::size_t most_;
  Duration remember_;
  std::map<std::pair<std::string, uint64_t>, Asker> askers_;  // by job and life
};

}  // namespace bellwether::dispatch
