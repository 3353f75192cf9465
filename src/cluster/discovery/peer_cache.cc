#include "cluster/discovery/peer_cache.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"

namespace bellwether::discovery {
namespace {

constexpr std::string_view kTitle = "bellwether-peers ";
constexpr std::string_view kVersion = "1";
constexpr int64_t kMillisecond = 1'000'000;

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

// A host that is written and read back as itself.
bool is_storable(const HostPort& peer) {
  if (peer.host.size() > 255) return false;
  const auto plain = [](char c) { return c > ' ' && c < 0x7f && c != '[' && c != ']'; };
  if (!std::all_of(peer.host.begin(), peer.host.end(), plain)) return false;
  const auto again = parse_host_port(to_string(peer), 0);
  return again && *again == peer;
}

// Negative when the clock was set back since: that is young.
Duration age(WallTime now, WallTime seen) { return Duration::nanos(now.unix_ns - seen.unix_ns); }

}  // namespace

void PeerCache::succeeded(WallTime now, const HostPort& peer) {
  if (!is_storable(peer)) return;
  Peer& known = peers_[peer];
  by_age_.erase({known.last_seen, peer});
  by_age_.emplace(now, peer);
  known.last_seen = now;
  known.successes = std::min(known.successes + 1, settings_.successes_max);
  if (peers_.size() > kMaxPeers) forget(peers_.find(by_age_.begin()->second));
}

void PeerCache::failed(const HostPort& peer) {
  const auto found = peers_.find(peer);
  if (found != peers_.end() && --found->second.successes == 0) forget(found);
}

void PeerCache::evict_expired(WallTime now) {
  while (!by_age_.empty() && age(now, by_age_.begin()->first) > settings_.keep) {
    forget(peers_.find(by_age_.begin()->second));
  }
}

std::vector<HostPort> PeerCache::healthy(WallTime now) const { return select(now, true); }
std::vector<HostPort> PeerCache::stale(WallTime now) const { return select(now, false); }

std::vector<HostPort> PeerCache::select(WallTime now, bool healthy) const {
  std::vector<std::pair<WallTime, HostPort>> found;
  for (const auto& [place, peer] : peers_) {
    const Duration old = age(now, peer.last_seen);
    if (old <= settings_.keep && (old <= settings_.ttl) == healthy) found.emplace_back(peer.last_seen, place);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<HostPort> places;
  for (auto& [seen, place] : found) places.push_back(std::move(place));
  return places;
}

void PeerCache::forget(std::map<HostPort, Peer>::iterator peer) {
  by_age_.erase({peer->second.last_seen, peer->first});
  peers_.erase(peer);
}

std::string PeerCache::encode() const {
  std::string text = fmt::format("{}{}\n", kTitle, kVersion);
  for (const auto& [place, peer] : peers_) {
    text += fmt::format("{} {} {}\n", to_string(place), std::max<int64_t>(0, peer.last_seen.unix_ns / kMillisecond),
                        peer.successes);
  }
  return fmt::format("{}end {}\n", text, peers_.size());
}

Result<PeerCache> PeerCache::decode(std::string_view text, PeerCacheSettings settings) {
  const auto broken = [](std::string_view what) {
    return fail(Errc::kProtocol, "the peer file cannot be used: " + std::string(what));
  };
  if (text.size() > kMaxBytes) return broken("it is too long");
  std::string_view title = take_line(text);
  if (!title.starts_with(kTitle)) return broken("it does not begin with 'bellwether-peers'");
  if (title.substr(kTitle.size()) != kVersion) {
    return fail(Errc::kUnsupported, "the peer file was written by another version");
  }
  PeerCache cache(settings);
  while (true) {
    if (text.find('\n') == std::string_view::npos) return broken("its end is missing");
    std::string_view line = take_line(text);
    const std::string_view first = take_word(line);
    if (first == "end") {
      if (line != std::to_string(cache.peers_.size()) || !text.empty())
        return broken("its last line does not match its contents");
      return cache;
    }
    const auto place = parse_host_port(first, 0);
    const auto seen = parse_u64(take_word(line));
    const auto successes = parse_u64(take_word(line));
    if (!place || !is_storable(*place) || !seen || !successes || !line.empty()) return broken("a line is invalid");
    if (*seen > static_cast<uint64_t>(INT64_MAX / kMillisecond) || *successes == 0) return broken("a number is wrong");
    if (cache.peers_.size() == kMaxPeers) return broken("it has too many peers");
    const auto kept = static_cast<uint32_t>(std::min<uint64_t>(*successes, settings.successes_max));
    if (!cache.peers_.emplace(*place, Peer{{static_cast<int64_t>(*seen) * kMillisecond}, kept}).second) {
      return broken("it lists a peer twice");
    }
    cache.by_age_.emplace(cache.peers_.at(*place).last_seen, *place);
  }
}

}  // namespace bellwether::discovery
