#include "lead/policy/policy.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/units.h"
#include "core/yaml/section.h"
#include "election/lease_timing.h"
#include "election/store/store_url.h"

namespace bellwether::lead {
namespace {

// Warnings about a correct policy sheet.

using election::LeaseTiming;

// A tick must fit into the lease together with the delay of the network and one retry of the store.
void warn_of_long_ticks(const LoopPolicy& loop, yaml::Diagnostics& out) {
  if (loop.longest_tick == Duration::zero()) return;
  const LeaseTiming timing = LeaseTiming::of(loop.lock_ttl);
  const Duration jitter = Duration::from_seconds_f(loop.poll_interval.seconds_f() * timing.jitter);
  const Duration retry = timing.retry + timing.store_timeout;
  const Duration needed = loop.longest_tick + jitter + retry;
  if (loop.lock_ttl >= needed) return;
  out.add(
      loop.place,
      {.message =
           fmt::format("loop {}: 'lock_ttl' {} is shorter than the longest tick {} + jitter {} + one retry {} = {}",
                       yaml::in_quotes(loop.name), format_duration(loop.lock_ttl), format_duration(loop.longest_tick),
                       format_duration(jitter), format_duration(retry), format_duration(needed)),
       .hint =
           loop.renew_every > Duration::zero()
               ? "only renewals keep the key over a long tick; a short outage of the store ends it"
               : "the lock expires during the tick, which is then stopped: lengthen 'lock_ttl' or set 'renew_every'"});
}

void warn_of_times(const LoopPolicy& loop, yaml::Diagnostics& out) {
  const std::string name = fmt::format("loop {}: ", yaml::in_quotes(loop.name));
  if (loop.renew_every > Duration::zero() && loop.lock_ttl < loop.renew_every * 3) {
    out.add(loop.place, {.message = fmt::format(
                             "{}safety margin (lock_ttl / renew_every) is {} / {} < 3: two lost renewals end the term",
                             name, format_duration(loop.lock_ttl), format_duration(loop.renew_every)),
                         .hint = "renew_every: " + format_duration(loop.lock_ttl / 3)});
  }
  if (loop.release_mode == ReleaseMode::kTtlHold && loop.lock_ttl == loop.poll_interval) {
    out.add(loop.place, {.message = fmt::format(
                             "{}'lock_ttl' and 'poll_interval' are both {}: any delay of a poll changes the holder",
                             name, format_duration(loop.lock_ttl)),
                         .hint = "lock_ttl: " + format_duration(loop.poll_interval * 2)});
  }
  const auto url = store::parse_store_url(loop.store);
  if (url && url->scheme.starts_with("etcd") && loop.lock_ttl.ns() % 1'000'000'000 != 0) {
    out.add(loop.place, {.message = fmt::format("{}etcd counts leases in whole seconds: 'lock_ttl' {} becomes longer",
                                                name, format_duration(loop.lock_ttl)),
                         .hint = "use whole seconds in the policy"});
  }
}

void warn_of_one_failure_domain(const Policy& policy, yaml::Diagnostics& out) {
  const std::vector<LoopPolicy>& loops = policy.loops;
  if (loops.size() < 2) return;
  const bool one = std::all_of(loops.begin(), loops.end(),
                               [&](const LoopPolicy& loop) { return loop.store == loops.front().store; });
  if (!one) return;
  out.add({}, {.message = fmt::format(
                   "all {} use one store: when it is unreachable, none of them has a holder (one failure domain)",
                   format_count(loops.size(), "loop")),
               .hint = "give loops that must not stop together different stores ('store:' in the loop)"});
}

std::vector<yaml::Diagnostic> warn_about(const Policy& policy) {
  yaml::Diagnostics out(policy.file);
  warn_of_one_failure_domain(policy, out);
  for (const LoopPolicy& loop : policy.loops) {
    warn_of_long_ticks(loop, out);
    warn_of_times(loop, out);
  }
  return out.take();
}

using yaml::Diagnostics;
using yaml::in_quotes;
using yaml::Node;
using yaml::Section;

constexpr std::array<std::string_view, 2> kTopKeys{"leader_election", "store"};
constexpr std::array<std::string_view, 11> kLoopKeys{"poll_interval", "lock_key",     "lock_ttl",     "renew_every",
                                                     "release_mode",  "longest_tick", "takeover_slo", "stale_window",
                                                     "guards",        "store",        "command"};
constexpr std::array<std::string_view, 2> kReleaseModes{"ttl_hold", "explicit"};
constexpr Duration kShortestTtl = Duration::millis(100);

std::string read_store(const Section& section) {
  const Node* node = section.find("store");
  const auto url = section.text("store");
  if (!url) return {};
  if (const auto parsed = store::parse_store_url(*url); !parsed) {
    section.diagnostics().add(node->mark, {.message = "wrong value of " + section.what(*node),
                                           .found = in_quotes(*url),
                                           .expected = "the URL of a store, such as redis://127.0.0.1:6379",
                                           .hint = parsed.error().message});
  }
  return *url;
}

// Checks pairs of values that are right on their own.
void check_times(const Section& section, const LoopPolicy& loop) {
  const Node& ttl = *section.find("lock_ttl");
  const Node* renew = section.find("renew_every");
  if (loop.renew_every >= loop.lock_ttl) {
    section.diagnostics().add(
        (renew == nullptr ? ttl : *renew).place(),
        {.message = fmt::format(
             "'renew_every' {} is not shorter than 'lock_ttl' {} in {}: the lock would expire before its first renewal",
             format_duration(loop.renew_every), format_duration(loop.lock_ttl), section.where()),
         .expected = fmt::format("less than {}; 0s to never renew", format_duration(loop.lock_ttl)),
         .hint = "a good value is a third of the TTL: renew_every: " + format_duration(loop.lock_ttl / 3)});
  }
  if (loop.release_mode == ReleaseMode::kTtlHold && loop.lock_ttl < loop.poll_interval) {
    section.diagnostics().add(
        ttl.place(),
        {.message = fmt::format("'lock_ttl' {} is shorter than 'poll_interval' {} in {}, whose 'release_mode' is "
                                "ttl_hold: the lock would expire between two ticks of its holder",
                                format_duration(loop.lock_ttl), format_duration(loop.poll_interval), section.where()),
         .expected = "at least " + format_duration(loop.poll_interval),
         .hint = "a good value is two poll intervals: lock_ttl: " + format_duration(loop.poll_interval * 2)});
  }
}

std::optional<LoopPolicy> read_loop(const Node& node, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.reported();
  LoopPolicy loop;
  loop.name = node.key;
  loop.place = node.place();
  if (!is_word_of(loop.name, "_-.:/", 100)) {
    diagnostics.add(node.place(), {.message = "a loop cannot have this name",
                                   .found = in_quotes(loop.name),
                                   .expected = "letters, digits and any of _ - . : /, at most 100"});
  }
  const Section section(node, "loop " + in_quotes(node.key), diagnostics, kLoopKeys);
  if (!node.is_map()) return std::nullopt;
  const Duration shortest = Duration::nanos(1);
  const auto poll = section.required_duration("poll_interval", shortest, "30s");
  const auto ttl = section.required_duration("lock_ttl", kShortestTtl, "60s");
  if (const auto key = section.required_text("lock_key", kMaxLockKeyBytes)) loop.lock_key = *key;
  if (const auto mode = section.choice("release_mode", kReleaseModes)) {
    loop.release_mode = *mode == 0 ? ReleaseMode::kTtlHold : ReleaseMode::kExplicit;
  }
  const auto renew = section.duration("renew_every", Duration::zero());
  loop.longest_tick = section.duration("longest_tick", shortest).value_or(Duration::zero());
  loop.takeover_slo = section.duration("takeover_slo", shortest);
  loop.stale_window = section.duration("stale_window", shortest);
  loop.guards = section.texts("guards");
  loop.command = section.text("command").value_or("");
  loop.store = read_store(section);
  if (!poll || !ttl || diagnostics.reported() != before) return std::nullopt;
  loop.poll_interval = *poll;
  loop.lock_ttl = *ttl;
  loop.renew_every = renew.value_or(*ttl / 3);
  check_times(section, loop);
  return loop;
}

// Two loops under one key of one store would take turns instead of both running.
void check_keys(const std::vector<LoopPolicy>& loops, const Node& election, Diagnostics& diagnostics) {
  std::map<std::pair<std::string, std::string>, const LoopPolicy*> owners;
  for (const LoopPolicy& loop : loops) {
    const auto [first, is_new] = owners.emplace(std::pair(loop.store, loop.lock_key), &loop);
    if (is_new) continue;
    if (diagnostics.full()) return;
    const auto node = std::find_if(election.items.begin(), election.items.end(),
                                   [&](const Node& item) { return item.key == loop.name; });
    yaml::Mark place = loop.place;
    if (node != election.items.end()) {
      for (const Node& item : node->items) {
        if (item.key == "lock_key") place = item.place();
      }
    }
    const LoopPolicy& other = *first->second;
    diagnostics.add(place,
                    {.message = fmt::format(
                         "loop {} has the same 'lock_key' as loop {} (line {}): only one of them could run at a time",
                         in_quotes(loop.name), in_quotes(other.name), other.place.line),
                     .found = in_quotes(loop.lock_key),
                     .expected = "a key of its own, or another 'store'"});
  }
}

std::string_view scheme_of(std::string_view url) { return url.substr(0, std::min(url.find(':'), url.size())); }

std::optional<election::Suggestion> suggest_for(const LoopPolicy& loop, const election::BudgetInput& input) {
  const double ratio = loop.lock_ttl.seconds_f() / loop.poll_interval.seconds_f();
  std::optional<election::Suggestion> best;
  for (const auto& [promised, from_last_tick] :
       {std::pair{loop.takeover_slo, false}, std::pair{loop.stale_window, true}}) {
    if (!promised) continue;
    const auto found = election::suggest(input, {*promised, from_last_tick}, ratio);
    if (!found) return std::nullopt;
    if (!best || found->poll < best->poll) best = found;
  }
  return best;
}

// How old the record of a living holder may become. A lock that is kept between ticks is extended there, by the same
// rule as the loop has it (timing_of), whether or not it is renewed while a tick runs.
Duration extended_every(const LoopPolicy& loop) {
  const bool renews = loop.renew_every > Duration::zero();
  if (loop.release_mode == ReleaseMode::kExplicit) return loop.renew_every;
  const auto timing = timing_of(loop, Duration::zero());
  const Duration between_ticks = timing ? timing->extend_within : loop.poll_interval;
  return renews ? std::min(loop.renew_every, between_ticks) : between_ticks;
}

}  // namespace

std::string_view to_string(ReleaseMode mode) { return kReleaseModes[mode == ReleaseMode::kTtlHold ? 0 : 1]; }

PolicyReading parse_policy(std::string_view text, const std::string& file) {
  PolicyReading reading;
  Diagnostics diagnostics(file);
  Policy policy;
  policy.file = file;
  const auto root = yaml::parse_yaml(text, diagnostics, "split the policy by store or by service");
  if (root) {
    const Section top(*root, "the policy", diagnostics, kTopKeys);
    const std::string store = root->is_map() ? read_store(top) : std::string();
    const Node* election = top.find("leader_election");
    if (root->is_map() && (election == nullptr || !election->is_map() || election->items.empty())) {
      diagnostics.add(
          election == nullptr ? root->mark : election->place(),
          {.message = "the policy has no loops", .expected = "'leader_election:' with at least one loop below it"});
    } else if (election != nullptr && election->items.size() > kMaxLoops) {
      diagnostics.add(election->items[kMaxLoops].place(),
                      {.message = fmt::format("the policy has more than {} loops", format_count(kMaxLoops)),
                       .expected = "at most " + format_count(kMaxLoops),
                       .hint = "split the policy by store or by service"});
    } else if (election != nullptr) {
      for (const Node& item : election->items) {
        if (diagnostics.full()) break;
        auto loop = read_loop(item, diagnostics);
        if (!loop) continue;
        if (loop->store.empty()) loop->store = store;
        policy.loops.push_back(std::move(*loop));
      }
      check_keys(policy.loops, *election, diagnostics);
    }
  }
  reading.errors = diagnostics.take();
  if (!reading.errors.empty()) return reading;
  reading.warnings = warn_about(policy);
  reading.policy = std::move(policy);
  return reading;
}

void use_store(const std::string& url, std::vector<LoopPolicy>& loops) {
  if (url.empty()) return;
  for (LoopPolicy& loop : loops) loop.store = url;
}

LoopBudget budget_of_loop(const LoopPolicy& loop, Duration operation) {
  LoopBudget out;
  out.input = {.mechanism = election::mechanism_of(scheme_of(loop.store)),
               .poll = loop.poll_interval,
               .lease = loop.lock_ttl,
               .renew_every = extended_every(loop),
               .operation = operation};
  out.budget = election::budget_of(out.input);
  out.stale_worst = election::worst_of(out.input, true);
  const Duration takeover = out.budget.crash_worst.total;
  if (loop.takeover_slo) out.slo_holds = takeover <= *loop.takeover_slo;
  if (loop.stale_window) out.stale_holds = out.stale_worst <= *loop.stale_window;
  if (!out.holds()) out.suggestion = suggest_for(loop, out.input);
  return out;
}

namespace {

// A lock that is never renewed during a tick gives the tick as much of its time as is safe.
void never_renew(LeaseTiming& timing) {
  const Duration usable = timing.renew_deadline + timing.stop_grace;
  timing.stop_grace = std::min(timing.stop_grace, timing.lease / 10);
  timing.renew_deadline = usable - timing.stop_grace;
}

void renew(LeaseTiming& timing, const LoopPolicy& loop, std::vector<std::string>& warnings) {
  const Duration usable = timing.renew_deadline + timing.stop_grace;
  timing.renew_every = loop.renew_every;
  // The term leaves time for one repeated renewal, where the lease has room for that.
  const Duration wanted = timing.renew_every + timing.store_timeout * 2 + timing.retry;
  timing.renew_deadline = std::clamp(wanted, timing.renew_deadline, usable - timing.lease / 20);
  timing.stop_grace = usable - timing.renew_deadline;
  const Duration longest = timing.renew_deadline - timing.store_timeout;
  if (timing.renew_every <= longest) return;
  warnings.push_back(fmt::format("loop {} renews every {}, not every {}: a lease of {} leaves no time for the answer",
                                 loop.name, format_duration(longest), format_duration(loop.renew_every),
                                 format_duration(loop.lock_ttl)));
  timing.renew_every = longest;
}

}  // namespace

Result<LoopTiming> timing_of(const LoopPolicy& loop, Duration lease_min) {
  if (loop.lock_ttl < lease_min) {
    return fail(Errc::kInvalid, "loop {}: 'lock_ttl' {} is too short for its store, which needs at least {}", loop.name,
                format_duration(loop.lock_ttl), format_duration(lease_min));
  }
  LoopTiming out;
  LeaseTiming timing = LeaseTiming::of(loop.lock_ttl);
  out.renews_in_ticks = loop.renew_every > Duration::zero();
  if (out.renews_in_ticks) {
    renew(timing, loop, out.warnings);
  } else {
    never_renew(timing);
    timing.renew_every = timing.renew_deadline / 2;
  }
  if (const auto safe = timing.validate(); !safe) {
    return fail(Errc::kInvalid, "loop {}: {}", loop.name, safe.error().message);
  }
  // A renewal that fails between two ticks can still be repeated.
  out.extend_within = std::min(loop.poll_interval, timing.renew_deadline / 2);
  if (!out.renews_in_ticks) timing.renew_every = loop.lock_ttl * 2;  // beyond every term: never
  out.leading = timing;
  out.waiting = timing;
  out.waiting.retry = loop.poll_interval;
  return out;
}

}  // namespace bellwether::lead
