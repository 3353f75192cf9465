// The peers that answered recently, for the next start of this node: held in memory, written as text, read back after a
// restart. Times are of the wall clock, because they outlive the process. A time in the future (the clock was set back)
// counts as now.
//
// The text is `bellwether-peers 1`, a line `HOST:PORT LAST_SEEN_UNIX_MS SUCCESSES` for each peer, and `end COUNT`,
// which shows that the file is complete.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/host_port.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::discovery {

struct PeerCacheSettings {
  Duration ttl = Duration::seconds(60);     // how long a peer counts as healthy after it answered
  Duration keep = Duration::hours(24 * 7);  // how long it is remembered, as a last resort
  uint32_t successes_max = 100;             // what it has to lose before it is forgotten
};

class PeerCache {
 public:
  static constexpr std::size_t kMaxPeers = 256;
  static constexpr std::size_t kMaxBytes = 128 * 1024;

  explicit PeerCache(PeerCacheSettings settings = {}) : settings_(settings) {}

  void succeeded(WallTime now, const HostPort& peer);
  // One failure outweighs one success; a peer without any left is forgotten.
  void failed(const HostPort& peer);
  void evict_expired(WallTime now);

  // Those that answered within the TTL, the latest first; and the others.
  std::vector<HostPort> healthy(WallTime now) const;
  std::vector<HostPort> stale(WallTime now) const;
  std::size_t size() const { return peers_.size(); }

  std::string encode() const;
  // kProtocol: it is no such text, or an incomplete one. kUnsupported: a later version wrote it. Nothing is taken from
  // either; a node starts without a cache as well.
  static Result<PeerCache> decode(std::string_view text, PeerCacheSettings settings = {});

 private:
  struct Peer {
    WallTime last_seen;
    uint32_t successes = 0;
  };
  std::vector<HostPort> select(WallTime now, bool healthy) const;
  void forget(std::map<HostPort, Peer>::iterator peer);

  PeerCacheSettings settings_;
  std::map<HostPort, Peer> peers_;
  std::set<std::pair<WallTime, HostPort>> by_age_;  // by when they were seen last, the oldest first
};

}  // namespace bellwether::discovery
