#include "lead/policy/loop_budget.h"

#include <algorithm>

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

}  // namespace

LoopBudget budget_of_loop(const LoopPolicy& loop, Duration operation, const std::string& default_store) {
  LoopBudget out;
  const bool held = loop.release_mode == ReleaseMode::kTtlHold;
  out.input = {.mechanism = election::mechanism_of(scheme_of(loop.store.empty() ? default_store : loop.store)),
               .poll = loop.poll_interval,
               .lease = loop.lock_ttl,
               .renew_every = loop.renew_every,
               .gives_back = !held,
               .operation = operation};
  // A holder that keeps its key extends it at each of its polls, whether or not it renews while a tick runs.
  if (held) {
    const bool renews = loop.renew_every > Duration::zero();
    out.input.renew_every = renews ? std::min(loop.renew_every, loop.poll_interval) : loop.poll_interval;
  }
  out.budget = election::budget_of(out.input);
  out.stale_worst = election::worst_of(out.input, true);
  const Duration takeover = out.budget.crash_worst.total;
  if (loop.takeover_slo) out.slo_holds = takeover <= *loop.takeover_slo;
  if (loop.stale_window) out.stale_holds = out.stale_worst <= *loop.stale_window;
  if (!out.holds()) out.suggestion = suggest_for(loop, out.input);
  return out;
}

}  // namespace bellwether::lead
