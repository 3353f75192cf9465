#include "lead/policy/loop_budget.h"

#include <algorithm>

#include "lead/loops/loop_timing.h"

namespace bellwether::lead {
namespace {

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
// rule as the loop has it (loop_timing.h), whether or not it is renewed while a tick runs.
Duration extended_every(const LoopPolicy& loop) {
  const bool renews = loop.renew_every > Duration::zero();
  if (loop.release_mode == ReleaseMode::kExplicit) return loop.renew_every;
  const auto timing = timing_of(loop, Duration::zero());
  const Duration between_ticks = timing ? timing->extend_within : loop.poll_interval;
  return renews ? std::min(loop.renew_every, between_ticks) : between_ticks;
}

}  // namespace

LoopBudget budget_of_loop(const LoopPolicy& loop, Duration operation, const std::string& default_store) {
  LoopBudget out;
  out.input = {.mechanism = election::mechanism_of(scheme_of(loop.store.empty() ? default_store : loop.store)),
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

}  // namespace bellwether::lead
