// How often each client may call each operation, so that none of them takes the place of all others. Each operation of
// each client has a counter with a sliding window: the calls of this window, and of the window before the portion that
// still reaches into the last ten seconds. Beyond the limit the client gets the time of its next try.
//
// The limits are for clients. Nodes of the cluster have separate budgets, ten times as large, because a worker reports
// everything that it runs: these only stop a node that has gone wrong. While the node is stressed, clients share evenly
// what it can still bear, for all operations together. Critical messages do not come here: they are never refused.
//
// Nothing grows without limit: at most kMaxClients clients are known. The client that was quiet the longest is
// forgotten first, and each after five quiet minutes. A kernel: no clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/time.h"
#include "core/resilience/overload.h"

namespace bellwether::resilience {

enum class Operation : unsigned char {
  kStatistics,  // figures for screens
  kHeartbeat,   // signs of life
  kProgress,    // finished work
  kSubmit,      // new work
  kStatus,      // questions about work
  kDispatch,    // work for a worker
  kCancel,
  kFetch,  // a whole data set at once, for a caller that comes (back) late
  kPiece,  // of a large value
  kOther,
};
inline constexpr std::size_t kOperations = 10;
std::string_view to_string(Operation operation);  // "statistics", "heartbeat", …

// A counter of the calls in the last window, exact at its ends and by proportion between them. REQUIRES in all calls
// the same window, above zero, and times that do not run backwards.
class SlidingCounter {
 public:
  void count(Instant now, Duration window);
  double counted(Instant now, Duration window) const;
  // How long until one more would be at most `most`, if no other comes; zero: it is now. REQUIRES `most` of at least 1.
  Duration wait(Instant now, Duration window, double most) const;

 private:
  void move_to(Instant now, Duration window);
  int64_t number_ = 0;  // of the window that `current_` is of
  double current_ = 0;
  double before_ = 0;
};

struct LimiterSettings {
  Duration window = Duration::seconds(10);
  // Of one client in a window, in the order of Operation.
  std::array<uint32_t, kOperations> limits{500, 200, 300, 50, 100, 100, 20, 10, 200, 100};
  uint32_t node_factor = 10;
  uint32_t stressed = 500;  // of all clients together in a window, while the node is stressed
  Duration forget_after = Duration::minutes(5);
  std::size_t clients_most = 4'096;
};

class RequestLimiter {
 public:
  enum class Party : unsigned char { kClient, kNode };

  // REQUIRES a window above zero, limits and a factor of at least one, and room for a client.
  explicit RequestLimiter(const LimiterSettings& settings = {});

  // Whether `who` may do this now; if not, the time to wait. Only permitted calls count. `state`: of this node.
  std::optional<Duration> refuses(Instant now, Party party, std::string_view who, Operation operation, LoadState state);

  // In a window, of one client or node, at the moment.
  double limit(Party party, Operation operation) const;
  double fair_share() const;  // of each client, while the node is stressed
  Duration window() const { return settings_.window; }

 private:
  struct Client {
    std::string key;
    Party party = Party::kClient;
    Instant seen;
    std::array<SlidingCounter, kOperations> operations;
    SlidingCounter all;
  };
  Client& client(Instant now, Party party, std::string_view who);
  void forget(std::list<Client>::iterator which);

  LimiterSettings settings_;
  std::list<Client> recent_;  // the latest caller is first
  std::map<std::string, std::list<Client>::iterator, std::less<>> by_key_;
  std::size_t clients_ = 0;  // the known ones, without the nodes
  SlidingCounter all_;       // of clients, while stressed
};

// The other half of a server's limits (RequestLimiter): a client that must ask again later does so, and not before.
// A peer's refusal of one operation holds for all calls of that operation to it, so that a client with many calls does
// not send each of them once to learn the same. Each wait is half as long again as the one before; after three waits,
// or a minute in all, the client gives a call up.
//
// A kernel: no clock, makes no call. Bounded: it remembers at most kMaxHeld refusals, and forgets first the one that
// ends first.
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

// A rate limit: a number of operations a second, and a few more at once after a pause. A kernel: no clock.
class TokenBucket {
 public:
  // Full at its begin. REQUIRES a rate above zero, and a burst of at least one.
  TokenBucket(double per_second, double burst);

  // Takes a token. False: the bucket is empty, and stays as it was. Times do not run backwards.
  bool take(Instant now);
  // When the next token is ready; not after `now`: at once.
  Instant ready(Instant now);

 private:
  void fill(Instant now);

  double per_second_;
  double burst_;
  double tokens_;
  Instant filled_;
};

}  // namespace bellwether::resilience
