// What the domain name system has said of late, good or bad, and for how long it may be believed: a pure cache of
// answers, filled by whoever asks. Times are of one monotonic clock; at most kNamesMax names, the one that ends first
// is forgotten first.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/host_port.h"
#include "base/time.h"

namespace bellwether::discovery {

// What is asked for: the addresses of a name (A and AAAA), which come with `port`, or its services (SRV, RFC 2782),
// whose hosts come with ports of their own. A name is a service when it begins with '_': _bellwether._tcp.example.com.
struct Question {
  std::string name;
  uint16_t port = 0;
  bool is_service() const { return name.starts_with('_'); }
  auto operator<=>(const Question&) const = default;
};

struct NameSettings {
  Duration timeout = Duration::seconds(2);
  Duration ttl_default = Duration::seconds(30);  // for answers that say nothing of it
  Duration ttl_min = Duration::seconds(1);
  Duration ttl_max = Duration::minutes(5);
  Duration negative_ttl = Duration::seconds(30);
};

class NameCache {
 public:
  static constexpr std::size_t kNamesMax = 256;
  static constexpr std::size_t kPlacesMax = 256;  // of one answer; more are cut

  explicit NameCache(NameSettings settings) : settings_(settings) {}

  struct Entry {
    std::vector<HostPort> places;  // empty: it could not be resolved
    Instant good_until;
  };
  // Nothing when it must be asked for.
  const Entry* find(Instant now, const Question& question) const;
  // A TTL of zero or less is none: the default holds.
  void answered(Instant now, const Question& question, std::vector<HostPort> places, Duration ttl);
  void failed(Instant now, const Question& question);
  std::size_t size() const { return entries_.size(); }

 private:
  void keep(const Question& question, Entry entry);
  NameSettings settings_;
  std::map<Question, Entry> entries_;
};

}  // namespace bellwether::discovery
