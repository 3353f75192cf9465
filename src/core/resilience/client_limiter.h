// The other half of a server's limits (request_limiter.h): a client that must ask again later does so, and not before.
// A peer's refusal of one operation holds for all calls of that operation to it, so that a client with many calls does
// not send each of them once to learn the same. Each wait is half as long again as the one before; after three waits,
// or a minute in all, the client gives a call up.
//
// A kernel: no clock, makes no call. Bounded: it remembers at most kMaxHeld refusals, and forgets first the one that
// ends first.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/base/time.h"
#include "core/resilience/request_limiter.h"

namespace bellwether::resilience {

struct CourtesySettings {
  unsigned retries_most = 3;
  Duration wait_most = Duration::seconds(60);  // of one call, in all
  double factor = 1.5;                         // of each wait to the one before
};

class ClientLimiter {
 public:
  static constexpr std::size_t kMaxHeld = 4'096;
  // The history of one call.
  struct Call {
    unsigned retries = 0;
    Duration waited;
  };

  // REQUIRES a factor of at least one.
  explicit ClientLimiter(const CourtesySettings& settings = {});

  // When this may be asked of the peer; not after `now`: at once.
  Instant ready(const std::string& peer, Operation operation) const;
  // A call was refused at `now`, with a time to wait. Returns the time of the next try; nothing: give it up.
  std::optional<Instant> refused(Call& call, Instant now, const std::string& peer, Operation operation,
                                 Duration again_after);
  // A call has waited for others that were refused before it. False: it is to be given up.
  bool waits(Call& call, Duration wait) const;

  std::size_t held() const { return held_.size(); }

 private:
  CourtesySettings settings_;
  std::map<std::pair<std::string, Operation>, Instant> held_;  // until then
};

}  // namespace bellwether::resilience
