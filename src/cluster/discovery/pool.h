// The few peers to which a node keeps connections, and sticks: three that its requests go to in turn, two that stand by
// connected. A kernel without input and output: peers, outcomes and the time go in, connections to make and to close
// come out, and next_deadline() says when to tick at the latest.
//
// A peer is evicted when its error rate is above 5 %, when more than three requests in a row failed, when its smoothed
// latency is above three times the 99th percentile that is usual among the others, or when its connection is older than
// an hour. A backup takes the place of a primary after 100 to 500 ms, at once when there is no primary left; then the
// gap is filled by the better of two candidates. Whoever was evicted for its failures is not chosen again for a minute,
// unless there is nobody else.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/periodic.h"
#include "base/prng.h"
#include "base/time.h"
#include "cluster/discovery/health.h"
#include "cluster/discovery/metrics.h"
#include "cluster/discovery/peer.h"
#include "cluster/discovery/selection.h"

namespace bellwether::discovery {

struct PoolSettings {
  std::string self;  // this node's id, by which peers are assigned to it
  std::string role;  // what the peers are wanted for ("manager"): another role, another assignment
  LocalitySettings locality;
  std::size_t candidates = 8;
  std::size_t primaries = 3;
  std::size_t backups = 2;
  double alpha = 0.2;
  double error_rate_max = 0.05;
  unsigned consecutive_failures_max = 3;
  int latency_multiplier = 3;
  // Below this no latency is too high: three times next to nothing is next to nothing.
  Duration latency_floor = Duration::millis(5);
  Duration age_max = Duration::hours(1);
  Duration promotion_min = Duration::millis(100);
  Duration promotion_max = Duration::millis(500);
  Period refresh{Duration::seconds(60), Duration::seconds(5)};
  Duration set_aside = Duration::seconds(60);
};

namespace effect {
struct Connect {  // answer with connected() or failed()
  Peer peer;
};
struct Disconnect {  // when what is under way on it has ended
  std::string peer;
  std::optional<Eviction> reason;  // nothing: the peer has left the cluster, or another one is better placed
};
}  // namespace effect
using PoolEffect = std::variant<effect::Connect, effect::Disconnect>;

enum class Standing : unsigned char { kKnown, kConnecting, kPrimary, kBackup };

class Pool {
 public:
  static constexpr std::size_t kPeersMax = 16'384;
  using Effects = std::vector<PoolEffect>;

  Pool(PoolSettings settings, Instant now, Prng prng, Metrics& metrics);

  // All peers that there are, from membership; those beyond kPeersMax are left out. `change` says why it is called.
  void peers_changed(Instant now, const std::vector<Peer>& peers, SetChange change, Effects& effects);
  void connected(Instant now, std::string_view peer, Effects& effects);
  // The connection, or the attempt at one, has failed.
  void disconnected(Instant now, std::string_view peer, Effects& effects);
  // Outcomes of requests. An answer that refuses is a success: the peer is there and quick.
  void succeeded(Instant now, std::string_view peer, Duration latency, Effects& effects);
  void failed(Instant now, std::string_view peer, Effects& effects);
  void tick(Instant now, Effects& effects);
  Instant next_deadline() const;

  // Whom to send the next request to: the primaries in turn, a backup when there is none; nothing without connections.
  std::optional<std::string> next();
  Standing standing(std::string_view peer) const;
  std::vector<std::string> primaries() const { return with(Standing::kPrimary); }
  std::vector<std::string> backups() const { return with(Standing::kBackup); }
  std::vector<PeerFigures> figures() const;

 private:
  struct Member {
    Peer peer;
    PeerHealth health;
    Standing standing = Standing::kKnown;  // changed by put() only
    Instant retire_at = Instant::never();  // when its connection is too old
    Instant set_aside_until{};
  };
  using Members = std::map<std::string, Member, std::less<>>;

  void put(Member& member, Standing standing);
  std::vector<std::string> with(Standing standing) const;
  std::size_t count(Standing standing) const;
  std::optional<Duration> baseline(const Member& member) const;
  double latency_factor(const Member& member) const;
  std::optional<Eviction> wrong_with(const Member& member) const;
  void judge(Instant now, Member& member, Effects& effects);
  void evict(Instant now, Member& member, std::optional<Eviction> reason, Effects& effects);
  void rank(Instant now);
  void settle(Instant now, Effects& effects);
  void promote();
  void fill(Instant now, bool due, Effects& effects);
  void count_connections();

  PoolSettings settings_;
  Prng prng_;
  Metrics& metrics_;
  Periodic refresh_;
  Members members_;
  std::vector<Member*> pool_;            // those that are connected or being connected: few, whatever there is in all
  std::vector<std::string> candidates_;  // ids, best first
  Instant refresh_at_;
  Instant promote_at_ = Instant::never();
  Instant fill_at_ = Instant::never();
  std::string last_;  // who got the last request
};

}  // namespace bellwether::discovery
