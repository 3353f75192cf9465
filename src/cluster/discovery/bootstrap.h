// How a node that has just started finds one living member to join through. A kernel without input and output: events
// and the time go in, effects come out, and wake() says when the driver must step with Tick at the latest.
//
//   INITIAL → RESOLVING → PROBING → JOINED, or BACKOFF → RESOLVING …, or FAILED when there is a limit
//
// The order of candidates: peers that were healthy recently, the static seeds, the answers of the domain name system,
// peers of long ago. Each occurs once, the node itself never. The node probes all at once (at most `probes_max`), asks
// the first that answers to let it join, and cancels the other probes. A candidate that refuses is set aside for this
// round. A slow name server delays no candidate that is known otherwise. Each lookup and each refusal is counted.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/host_port.h"
#include "core/base/prng.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::discovery {

// What discovery counts. Plain numbers of one thread; samples() gives them their names and labels, for a page in the
// text format of Prometheus.

enum class LookupResult : unsigned char { kSuccess, kTimeout, kError, kNegativeCached };

// Sum and count, from which a mean rate follows; the runtime's histograms are for the load path.
struct Timing {
  Duration sum;
  uint64_t count = 0;
  void add(Duration span) {
    sum += span;
    ++count;
  }
};

// Counts of pairs of words that come from outside: bounded; further pairs count under "other".
class PairCounts {
 public:
  static constexpr std::size_t kMaxPairs = 64;
  static constexpr std::size_t kMaxWord = 64;  // bytes of a label
  void add(std::string_view first, std::string_view second);
  const std::map<std::pair<std::string, std::string>, uint64_t>& counts() const { return counts_; }

 private:
  std::map<std::pair<std::string, std::string>, uint64_t> counts_;
};

struct Metrics {
  std::array<uint64_t, 4> dns_lookups{};     // by LookupResult
  std::array<uint64_t, 2> dns_cache_hits{};  // positive, negative
  Timing dns_resolution;
  PairCounts cluster_id_rejections;      // expected, received
  PairCounts environment_id_rejections;  // expected, received
  PairCounts role_rejections;            // initiator, target
};

// One sample. `labels` is the text between the braces, escaped where needed: `type="positive"`.
struct Sample {
  std::string_view name;
  std::string labels;
  double value = 0;
};

// All numbers. `datacenter` is that of the node that counts.
std::vector<Sample> samples(const Metrics& metrics, std::string_view datacenter);

// A pure cache of the domain name system's latest answers, good or bad, each with its expiry. Times are of one
// monotonic clock. At most kMaxNames names; the one that expires first is forgotten first.

// A query: the addresses of a name (A and AAAA), which get `port`, or its services (SRV, RFC 2782), whose hosts come
// with their own ports. A name is a service when it begins with '_': _bellwether._tcp.example.com.
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
  static constexpr std::size_t kMaxNames = 256;
  static constexpr std::size_t kMaxPlaces = 256;  // of one answer; more are cut

  explicit NameCache(NameSettings settings) : settings_(settings) {}

  struct Entry {
    std::vector<HostPort> places;  // empty: it could not be resolved
    Instant good_until;
  };
  // Nothing when a query is needed.
  const Entry* find(Instant now, const Question& question) const;
  // A TTL of zero or less means the default.
  void answered(Instant now, const Question& question, std::vector<HostPort> places, Duration ttl);
  void failed(Instant now, const Question& question) { keep(question, {{}, now + settings_.negative_ttl}); }
  std::size_t size() const { return entries_.size(); }

 private:
  void keep(const Question& question, Entry entry);
  NameSettings settings_;
  std::map<Question, Entry> entries_;
};

// When a node that finds no cluster begins one.
enum class Founding : unsigned char {
  kNever,      // it tries until its limit, if it has one
  kWhenAlone,  // when it has no candidate beside itself: all seeds and names lead to itself, or none exist
  kAtOnce,     // an operator says that this is the first node: after one round without an answer
};

struct BootstrapSettings {
  std::vector<HostPort> seeds;  // addresses, or names that are resolved
  std::vector<Question> names;  // addresses and services
  std::vector<HostPort> self;   // every address under which this node would find itself
  Duration probe_timeout = Duration::millis(500);
  std::size_t probes_max = 10;
  Duration probe_jitter = Duration::millis(100);  // before each probe, from the second round on
  Duration join_timeout = Duration::seconds(2);
  Duration backoff = Duration::millis(500);
  Duration backoff_max = Duration::seconds(15);
  double backoff_jitter = 0.25;           // added, as a fraction of the pause: uniform in [0, this]
  std::optional<unsigned> rounds_max;     // nothing: no limit
  std::optional<Duration> give_up_after;  // since the start
  Founding founding = Founding::kNever;
  NameSettings dns;
};

enum class BootstrapState : unsigned char { kInitial, kResolving, kProbing, kBackoff, kJoined, kFailed };
std::string_view to_string(BootstrapState state);

// Where a candidate comes from, in the order in which they are tried.
enum class Source : unsigned char { kCache, kSeed, kDns, kStale };
std::string_view to_string(Source source);

// For the administrator of a node that never joined.
struct Tried {
  HostPort place;
  Source source = Source::kSeed;
  std::string outcome;
};

namespace event {
struct Start {
  std::vector<HostPort> cached;  // healthy a moment ago
  std::vector<HostPort> stale;   // known from long ago
};
struct Resolved {
  Question question;
  std::vector<HostPort> places;  // address literals
  Duration ttl;                  // zero: unknown
};
struct NotResolved {
  Question question;
  std::string reason;
  bool timed_out = false;
};
struct ProbeAnswered {
  HostPort place;
};
struct ProbeFailed {
  HostPort place;
  std::string reason;
};
struct JoinAccepted {
  HostPort place;
};
struct JoinRefused {  // or failed in any other way
  HostPort place;
  std::string reason;
};
struct Tick {};
}  // namespace event
using BootstrapEvent = std::variant<event::Start, event::Resolved, event::NotResolved, event::ProbeAnswered,
                                    event::ProbeFailed, event::JoinAccepted, event::JoinRefused, event::Tick>;

namespace effect {
struct Resolve {  // answer with Resolved or NotResolved; after its timeout the kernel waits no more
  Question question;
};
struct Probe {  // send PING at `at`, answer with ProbeAnswered or ProbeFailed
  HostPort place;
  Instant at;
};
struct CancelProbe {
  HostPort place;
};
struct Join {  // ask to be let in, answer with JoinAccepted or JoinRefused
  HostPort place;
};
struct CancelJoin {
  HostPort place;
};
struct Joined {
  std::optional<HostPort> through;  // nothing: the node is the first one
};
struct Failed {
  std::vector<Tried> tried;
};
}  // namespace effect
using BootstrapEffect = std::variant<effect::Resolve, effect::Probe, effect::CancelProbe, effect::Join,
                                     effect::CancelJoin, effect::Joined, effect::Failed>;

class Bootstrap {
 public:
  static constexpr std::size_t kMaxCandidates = 1024;

  Bootstrap(BootstrapSettings settings, Prng prng, Metrics& metrics);

  void step(Instant now, const BootstrapEvent& event, std::vector<BootstrapEffect>& effects);
  Instant wake() const;

  BootstrapState state() const { return state_; }
  unsigned round() const { return round_; }  // from 1
  // The candidates of this round and what came of them, in their order.
  std::vector<Tried> tried() const;

 private:
  using Effects = std::vector<BootstrapEffect>;
  enum class Progress : unsigned char { kWaiting, kProbing, kJoining, kDone };
  struct Candidate {
    HostPort place;
    Source source;
    Progress progress = Progress::kWaiting;
    Instant deadline;
    std::string outcome;
  };

  void on(Instant now, const event::Start& start, Effects& effects);
  void on(Instant now, const event::Resolved& answer, Effects& effects);
  void on(Instant now, const event::NotResolved& answer, Effects& effects);
  void on(Instant now, const event::ProbeAnswered& answer, Effects& effects);
  void on(Instant now, const event::ProbeFailed& answer, Effects& effects);
  void on(Instant now, const event::JoinAccepted& answer, Effects& effects);
  void on(Instant now, const event::JoinRefused& answer, Effects& effects);
  void on(Instant now, const event::Tick& tick, Effects& effects);

  void begin_round(Instant now, Effects& effects);
  void ask_names(Instant now, Effects& effects);
  void settle_names(Instant now);
  void add(const HostPort& place, Source source);
  void advance(Instant now, Effects& effects);
  void end_round(Instant now, Effects& effects);
  void give_up(Effects& effects);
  void cancel_all(Effects& effects);
  bool trying() const { return state_ == BootstrapState::kResolving || state_ == BootstrapState::kProbing; }
  Candidate* find(const HostPort& place, Progress progress);
  std::size_t count(Progress progress) const;

  BootstrapSettings settings_;
  Prng prng_;
  Metrics& metrics_;
  NameCache names_;
  std::vector<HostPort> cached_;
  std::vector<HostPort> stale_;
  BootstrapState state_ = BootstrapState::kInitial;
  unsigned round_ = 0;
  std::vector<Candidate> candidates_;
  std::map<Question, std::string> unresolved_;  // and why; as many as there are questions
  std::map<Question, Instant> asked_;           // unanswered questions, and until when it waits for each
  Instant backoff_until_;
  Instant give_up_at_ = Instant::never();
};

// The peers that answered recently, for the next start of this node: held in memory, written as text, read back after a
// restart. Times are of the wall clock, because they outlive the process. A time in the future (the clock was set back)
// counts as now.
//
// The text is `bellwether-peers 1`, a line `HOST:PORT LAST_SEEN_UNIX_MS SUCCESSES` for each peer, and `end COUNT`,
// which shows that the file is complete.
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
  std::vector<HostPort> healthy(WallTime now) const { return select(now, true); }
  std::vector<HostPort> stale(WallTime now) const { return select(now, false); }
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
