// The stock of a worker for assignments: its cores, and the bundles of scenarios. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::dispatch {

// The cores of a worker, and the parts on them. A core without a part is free. Cores have numbers from 0; the lowest
// free one goes first.
class WorkerCores {
 public:
  static constexpr uint32_t kMaxSqueezed = 4;  // parts on one core, for an assignment that is squeezed in

  explicit WorkerCores(uint32_t count) : parts_(count, 0) {}

  // Returns the core of each part: `cores` free ones, with the parts spread evenly. An assignment that is squeezed in
  // takes the cores with the fewest parts, in use or not, and all of them if it asks for more than there are. Without
  // room it takes and returns nothing. REQUIRES cores and parts above 0.
  std::optional<std::vector<uint32_t>> take(uint32_t cores, uint32_t parts, bool squeeze);
  // Each part leaves its core. REQUIRES the result of take(), once.
  void give_back(const std::vector<uint32_t>& core_of_part);

  uint32_t count() const { return static_cast<uint32_t>(parts_.size()); }
  uint32_t free() const;
  uint32_t parts_on(uint32_t core) const { return parts_.at(core); }

 private:
  std::vector<uint32_t> parts_;  // by core
};

// The bundles of a worker, by hash. The least recently used one makes room; one that is in use stays.
class BundleStore {
 public:
  using Bytes = std::shared_ptr<const std::string>;
  static constexpr std::size_t kOverhead = 1'024;  // that each bundle counts in addition to its bytes

  explicit BundleStore(std::size_t bytes_most) : bytes_most_(bytes_most) {}

  // kTooLarge: it never fits. kExhausted: bundles in use leave no room. A bundle that is here already stays.
  Status put(const std::string& hash, std::string bytes);
  // Nothing if it is not here. The bundle is in use while the caller keeps the result.
  Bytes find(const std::string& hash);

  std::size_t bytes() const { return bytes_; }

 private:
  struct Bundle {
    std::string hash;
    Bytes bytes;
  };
  std::size_t bytes_most_;
  std::size_t bytes_ = 0;
  std::list<Bundle> bundles_;  // the most recently used one first
};

// The permits to make load (docs/contributing/decisions/053-load-fence.md): those that a worker holds for its own
// assignments, and those that it gives to other workers as a witness. Times are of the steady clock. One thread.

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
