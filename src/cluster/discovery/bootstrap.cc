#include "cluster/discovery/bootstrap.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/encoding.h"
#include "core/base/enum_names.h"
#include "core/base/units.h"

namespace bellwether::discovery {
namespace {

// An address and no name: it has a colon (IPv6) or only digits and dots.
bool is_literal(std::string_view host) {
  return host.find(':') != std::string_view::npos || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

HostPort normal(HostPort place) {
  for (char& c : place.host) c = ascii_lower(c);
  return place;
}

uint64_t& of(std::array<uint64_t, 4>& counts, LookupResult result) { return counts[static_cast<std::size_t>(result)]; }

}  // namespace

const NameCache::Entry* NameCache::find(Instant now, const Question& question) const {
  const auto found = entries_.find(question);
  return found == entries_.end() || found->second.good_until <= now ? nullptr : &found->second;
}

void NameCache::answered(Instant now, const Question& question, std::vector<HostPort> places, Duration ttl) {
  if (places.empty()) return failed(now, question);
  if (places.size() > kMaxPlaces) places.resize(kMaxPlaces);
  const Duration kept =
      ttl <= Duration::zero() ? settings_.ttl_default : std::clamp(ttl, settings_.ttl_min, settings_.ttl_max);
  keep(question, {std::move(places), now + kept});
}

void NameCache::keep(const Question& question, Entry entry) {
  entries_[question] = std::move(entry);
  if (entries_.size() <= kMaxNames) return;
  auto oldest = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->first == question) continue;
    if (oldest == entries_.end() || it->second.good_until < oldest->second.good_until) oldest = it;
  }
  entries_.erase(oldest);
}

std::string_view to_string(BootstrapState state) {
  return EnumNames<BootstrapState>("initial", "resolving", "probing", "backoff", "joined", "failed")[state];
}

std::string_view to_string(Source source) { return EnumNames<Source>("cache", "seed", "dns", "long ago")[source]; }

Bootstrap::Bootstrap(BootstrapSettings settings, Prng prng, Metrics& metrics)
    : settings_(std::move(settings)), prng_(prng), metrics_(metrics), names_(settings_.dns) {
  check(settings_.probes_max > 0, "something is probed");
  for (HostPort& place : settings_.self) place = normal(place);
}

void Bootstrap::step(Instant now, const BootstrapEvent& event, Effects& effects) {
  std::visit([&](const auto& e) { on(now, e, effects); }, event);
}

Instant Bootstrap::wake() const {
  if (state_ == BootstrapState::kBackoff) return std::min(backoff_until_, give_up_at_);
  if (!trying()) return Instant::never();
  Instant next = give_up_at_;
  for (const auto& [question, until] : asked_) next = std::min(next, until);
  for (const Candidate& c : candidates_) {
    if (c.progress == Progress::kProbing || c.progress == Progress::kJoining) next = std::min(next, c.deadline);
  }
  return next;
}

std::vector<Tried> Bootstrap::tried() const {
  std::vector<Tried> all;
  for (const Candidate& c : candidates_) {
    all.push_back({c.place, c.source, c.outcome.empty() ? "not tried" : c.outcome});
  }
  for (const auto& [question, reason] : unresolved_) {
    all.push_back({{question.name, question.port}, Source::kDns, "the name is not resolved: " + reason});
  }
  return all;
}

void Bootstrap::on(Instant now, const event::Start& start, Effects& effects) {
  check(state_ == BootstrapState::kInitial, "a node starts once");
  cached_ = start.cached;
  stale_ = start.stale;
  if (settings_.give_up_after) give_up_at_ = now + *settings_.give_up_after;
  begin_round(now, effects);
}

void Bootstrap::begin_round(Instant now, Effects& effects) {
  ++round_;
  state_ = BootstrapState::kResolving;
  candidates_.clear();
  for (const HostPort& place : cached_) add(place, Source::kCache);
  for (const HostPort& place : settings_.seeds) {
    if (is_literal(place.host)) add(place, Source::kSeed);
  }
  ask_names(now, effects);
  for (const HostPort& place : stale_) add(place, Source::kStale);
  advance(now, effects);
}

void Bootstrap::ask_names(Instant now, Effects& effects) {
  std::vector<Question> questions;
  for (const HostPort& seed : settings_.seeds) {
    if (!is_literal(seed.host)) questions.push_back({normal(seed).host, seed.port});
  }
  questions.insert(questions.end(), settings_.names.begin(), settings_.names.end());
  for (const Question& question : questions) {
    if (const NameCache::Entry* known = names_.find(now, question)) {
      const bool negative = known->places.empty();
      ++metrics_.dns_cache_hits[negative ? 1 : 0];
      if (negative) ++of(metrics_.dns_lookups, LookupResult::kNegativeCached);
      for (const HostPort& place : known->places) add(place, Source::kDns);
    } else if (asked_.emplace(question, now + settings_.dns.timeout).second) {
      effects.push_back(effect::Resolve{question});
    }
  }
}

void Bootstrap::add(const HostPort& place, Source source) {
  const HostPort candidate = normal(place);
  const auto is = [&](const HostPort& other) { return other == candidate; };
  if (std::any_of(settings_.self.begin(), settings_.self.end(), is)) return;
  const auto known = std::find_if(candidates_.begin(), candidates_.end(), [&](const auto& c) { return is(c.place); });
  if (known != candidates_.end()) {
    known->source = std::min(known->source, source);
  } else if (candidates_.size() < kMaxCandidates) {
    candidates_.push_back({candidate, source, Progress::kWaiting, Instant(), {}});
  }
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.source < b.source; });
}

void Bootstrap::on(Instant now, const event::Resolved& answer, Effects& effects) {
  const auto asked = asked_.find(answer.question);
  names_.answered(now, answer.question, answer.places, answer.ttl);
  if (asked == asked_.end()) return;  // too late for the round that asked; the next one finds it
  ++of(metrics_.dns_lookups, answer.places.empty() ? LookupResult::kError : LookupResult::kSuccess);
  unresolved_.erase(answer.question);
  metrics_.dns_resolution.add(now - (asked->second - settings_.dns.timeout));
  asked_.erase(asked);
  if (!trying()) return;
  for (const HostPort& place : answer.places) add(place, Source::kDns);
  advance(now, effects);
}

void Bootstrap::on(Instant now, const event::NotResolved& answer, Effects& effects) {
  const auto asked = asked_.find(answer.question);
  if (asked == asked_.end()) return;
  ++of(metrics_.dns_lookups, answer.timed_out ? LookupResult::kTimeout : LookupResult::kError);
  metrics_.dns_resolution.add(now - (asked->second - settings_.dns.timeout));
  names_.failed(now, answer.question);
  unresolved_[answer.question] = answer.reason;
  asked_.erase(asked);
  advance(now, effects);
}

void Bootstrap::on(Instant now, const event::ProbeAnswered& answer, Effects& effects) {
  Candidate* winner = find(answer.place, Progress::kProbing);
  if (winner == nullptr) return;  // another one was first, or it came too late
  winner->progress = Progress::kJoining;
  winner->deadline = now + settings_.join_timeout;
  winner->outcome = "answered the probe; the join request is pending";
  for (Candidate& other : candidates_) {
    if (other.progress != Progress::kProbing) continue;
    effects.push_back(effect::CancelProbe{other.place});
    other.progress = Progress::kWaiting;
  }
  effects.push_back(effect::Join{winner->place});
}

void Bootstrap::on(Instant now, const event::ProbeFailed& answer, Effects& effects) {
  Candidate* failed = find(answer.place, Progress::kProbing);
  if (failed == nullptr) return;
  failed->progress = Progress::kDone;
  failed->outcome = answer.reason;
  advance(now, effects);
}

void Bootstrap::on(Instant, const event::JoinAccepted& answer, Effects& effects) {
  Candidate* winner = find(answer.place, Progress::kJoining);
  if (winner == nullptr) return;
  winner->progress = Progress::kDone;
  winner->outcome = "joined";
  cancel_all(effects);
  state_ = BootstrapState::kJoined;
  effects.push_back(effect::Joined{winner->place});
}

void Bootstrap::on(Instant now, const event::JoinRefused& answer, Effects& effects) {
  Candidate* winner = find(answer.place, Progress::kJoining);
  if (winner == nullptr) return;
  winner->progress = Progress::kDone;
  winner->outcome = "refused: " + answer.reason;
  advance(now, effects);
}

void Bootstrap::on(Instant now, const event::Tick&, Effects& effects) {
  if (state_ == BootstrapState::kBackoff || trying()) {
    if (give_up_at_ <= now) return give_up(effects);
  }
  if (state_ == BootstrapState::kBackoff && backoff_until_ <= now) return begin_round(now, effects);
  if (!trying()) return;
  settle_names(now);
  for (Candidate& c : candidates_) {
    if (c.deadline > now) continue;
    if (c.progress == Progress::kProbing) {
      effects.push_back(effect::CancelProbe{c.place});
      c.outcome = fmt::format("no answer in {}", format_duration(settings_.probe_timeout));
    } else if (c.progress == Progress::kJoining) {
      effects.push_back(effect::CancelJoin{c.place});
      c.outcome = "answered the probe, but not the join request";
    } else {
      continue;
    }
    c.progress = Progress::kDone;
  }
  advance(now, effects);
}

void Bootstrap::settle_names(Instant now) {
  for (auto it = asked_.begin(); it != asked_.end();) {
    if (it->second > now) {
      ++it;
      continue;
    }
    ++of(metrics_.dns_lookups, LookupResult::kTimeout);
    metrics_.dns_resolution.add(settings_.dns.timeout);
    names_.failed(now, it->first);
    unresolved_[it->first] = fmt::format("no answer in {}", format_duration(settings_.dns.timeout));
    it = asked_.erase(it);
  }
}

// Probes the candidates whose turn it is. Ends the round when no candidate and no pending name is left.
void Bootstrap::advance(Instant now, Effects& effects) {
  if (!trying() || count(Progress::kJoining) > 0) return;
  std::size_t probing = count(Progress::kProbing);
  for (Candidate& c : candidates_) {
    if (probing == settings_.probes_max) break;
    if (c.progress != Progress::kWaiting) continue;
    const Duration wait = round_ == 1 ? Duration::zero() : prng_.between(Duration::zero(), settings_.probe_jitter);
    c.progress = Progress::kProbing;
    c.deadline = now + wait + settings_.probe_timeout;
    effects.push_back(effect::Probe{c.place, now + wait});
    ++probing;
  }
  if (probing > 0) {
    state_ = BootstrapState::kProbing;
  } else if (asked_.empty()) {
    end_round(now, effects);
  }
}

void Bootstrap::end_round(Instant now, Effects& effects) {
  const bool refused = std::any_of(candidates_.begin(), candidates_.end(),
                                   [](const Candidate& c) { return c.outcome.starts_with("refused"); });
  // A node that was refused knows of a cluster, and must not begin a second one.
  const bool founds = settings_.founding == Founding::kAtOnce
                          ? !refused
                          : settings_.founding == Founding::kWhenAlone && candidates_.empty();
  if (founds) {
    state_ = BootstrapState::kJoined;
    effects.push_back(effect::Joined{std::nullopt});
    return;
  }
  if (settings_.rounds_max && round_ >= *settings_.rounds_max) return give_up(effects);
  Duration wait = settings_.backoff;
  for (unsigned i = 1; i < round_ && wait < settings_.backoff_max; ++i) wait = wait * 2;
  wait = std::min(wait, settings_.backoff_max);
  wait += Duration::from_seconds_f(wait.seconds_f() * settings_.backoff_jitter * prng_.unit());
  backoff_until_ = now + wait;
  state_ = BootstrapState::kBackoff;
}

void Bootstrap::give_up(Effects& effects) {
  cancel_all(effects);
  state_ = BootstrapState::kFailed;
  effects.push_back(effect::Failed{tried()});
}

void Bootstrap::cancel_all(Effects& effects) {
  for (Candidate& c : candidates_) {
    if (c.progress == Progress::kProbing) effects.push_back(effect::CancelProbe{c.place});
    if (c.progress == Progress::kJoining) effects.push_back(effect::CancelJoin{c.place});
    c.progress = Progress::kDone;
  }
  asked_.clear();
}

Bootstrap::Candidate* Bootstrap::find(const HostPort& place, Progress progress) {
  const HostPort wanted = normal(place);
  for (Candidate& c : candidates_) {
    if (c.place == wanted && c.progress == progress) return &c;
  }
  return nullptr;
}

std::size_t Bootstrap::count(Progress progress) const {
  return static_cast<std::size_t>(std::count_if(candidates_.begin(), candidates_.end(),
                                                [&](const Candidate& c) { return c.progress == progress; }));
}

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

namespace {

constexpr std::string_view kLookupResults[] = {"success", "timeout", "error", "negative_cached"};
constexpr std::string_view kHits[] = {"positive", "negative"};

class Writer {
 public:
  void add(std::string_view name, std::string labels, double value) { all.push_back({name, std::move(labels), value}); }
  void add(std::string_view name, std::string labels, uint64_t value) {
    add(name, std::move(labels), static_cast<double>(value));
  }
  template <std::size_t N>
  void add(std::string_view name, std::string_view by, const std::string_view (&words)[N],
           const std::array<uint64_t, N>& values, const std::string& more = {}) {
    for (std::size_t i = 0; i < N; ++i) {
      add(name, more.empty() ? metric_label(by, words[i]) : fmt::format("{},{}", more, metric_label(by, words[i])),
          values[i]);
    }
  }
  void add(std::string_view name, std::string_view first, std::string_view second, const PairCounts& pairs) {
    for (const auto& [words, count] : pairs.counts()) {
      add(name, fmt::format("{},{}", metric_label(first, words.first), metric_label(second, words.second)), count);
    }
  }
  std::vector<Sample> all;
};

}  // namespace

void PairCounts::add(std::string_view first, std::string_view second) {
  const std::pair key{std::string(first.substr(0, kMaxWord)), std::string(second.substr(0, kMaxWord))};
  const bool full = counts_.size() >= kMaxPairs && counts_.find(key) == counts_.end();
  ++counts_[full ? std::pair{std::string("other"), std::string("other")} : key];
}

std::vector<Sample> samples(const Metrics& m, std::string_view datacenter) {
  Writer w;
  const std::string where = metric_label("datacenter", datacenter);
  w.add("bellwether_discovery_dns_lookups_total", "result", kLookupResults, m.dns_lookups, where);
  w.add("bellwether_discovery_dns_cache_hits_total", "type", kHits, m.dns_cache_hits);
  w.add("bellwether_discovery_dns_resolution_duration_ms_sum", where, m.dns_resolution.sum.millis_f());
  w.add("bellwether_discovery_dns_resolution_duration_ms_count", where, m.dns_resolution.count);
  w.add("bellwether_discovery_cluster_id_rejections_total", "expected", "received", m.cluster_id_rejections);
  w.add("bellwether_discovery_environment_id_rejections_total", "expected", "received", m.environment_id_rejections);
  w.add("bellwether_discovery_role_rejections_total", "initiator_role", "target_role", m.role_rejections);
  return w.all;
}

}  // namespace bellwether::discovery
