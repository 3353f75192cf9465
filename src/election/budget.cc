#include "election/budget.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace bellwether::election {
namespace {

constexpr Duration kShortestLease = Duration::millis(100);
constexpr Duration kShortestServerLease = Duration::seconds(2);
constexpr Duration kServerEndsLate = Duration::seconds(1);

Duration budget_scaled(Duration span, double factor) {
  return Duration::nanos(static_cast<int64_t>(std::llround(static_cast<double>(span.ns()) * factor)));
}

std::string times(double factor) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), factor, std::chars_format::general, 6);
  return " x " + std::string(text.data(), end.ptr);
}

// All in seconds, to the millisecond: a sum whose parts are rounded each for itself does not add up.
std::string in_seconds(Duration span) {
  std::string out = std::to_string(span.ms() / 1000);
  if (const int64_t rest = span.ms() % 1000; rest != 0) {
    std::string digits = std::to_string(1000 + rest).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    out += "." + digits;
  }
  return out + "s";
}

Duration whole_seconds(Duration span) {
  const Duration second = Duration::seconds(1);
  return std::max(kShortestServerLease, second * ((span + second - Duration::nanos(1)) / second));
}

// How long the record of a dead holder stays unchanged, by the clocks of the candidates.
void add_lease(const BudgetInput& in, Sum& sum) {
  if (in.mechanism.ends_leases) {
    sum.add("TTL in whole seconds", whole_seconds(in.lease));
    sum.add("server's delay", kServerEndsLate);
  } else {
    sum.add("TTL" + times(1 + in.drift), budget_scaled(in.lease, 1 + in.drift));
  }
}

Sum after_silence(const BudgetInput& in, bool worst) {
  Sum sum;
  if (in.mechanism.ends_leases) {
    add_lease(in, sum);
    sum.add(worst ? "poll" : "poll / 2", worst ? in.poll : in.poll / 2);
  } else {
    sum.add(worst ? "poll" : "poll / 2", worst ? in.poll : in.poll / 2);
    sum.add("store", in.operation);
    add_lease(in, sum);
    sum.add(worst ? "poll / 16" : "poll / 32", in.poll / (worst ? 16 : 32));
  }
  if (!worst && in.renew_every > Duration::zero()) sum.add("- renew / 2", -(in.renew_every / 2));
  sum.add("2 x store", in.operation * 2);
  return sum;
}

Sum at_next_look(const BudgetInput& in, bool worst) {
  Sum sum;
  sum.add(worst ? "poll" : "poll / 2", worst ? in.poll : in.poll / 2);
  sum.add("2 x store", in.operation * 2);
  return sum;
}

// Rounded down to a round value.
Duration round_down(Duration span) {
  const Duration step = span >= Duration::minutes(2)    ? Duration::seconds(10)
                        : span >= Duration::seconds(10) ? Duration::seconds(1)
                        : span >= Duration::seconds(2)  ? Duration::millis(500)
                        : span >= Duration::seconds(1)  ? Duration::millis(100)
                                                        : Duration::millis(10);
  return step * (span / step);
}

}  // namespace

Mechanism mechanism_of(std::string_view scheme) {
  if (scheme == "flock") return {.name = "host lock", .proves_death = true, .is_local = true};
  if (scheme == "file") return {.name = "lease file", .is_local = true};
  if (scheme == "memory") return {.name = "memory", .is_local = true};
  if (scheme == "etcd" || scheme == "etcds") return {.name = "etcd", .ends_leases = true};
  if (scheme == "redis" || scheme == "rediss") return {.name = "Redis"};
  if (scheme == "postgres") return {.name = "PostgreSQL"};
  if (scheme == "k8s") return {.name = "Kubernetes Lease"};
  return {.name = "lock store"};
}

void Sum::add(std::string name, Duration span) {
  parts.push_back({std::move(name), span});
  total += span;
}

std::string Sum::formula() const {
  std::string out;
  for (const Part& part : parts) {
    if (!out.empty()) out += part.name.starts_with("- ") ? " " : " + ";
    out += part.name;
  }
  return out;
}

std::string Sum::arithmetic() const {
  std::string out;
  for (const Part& part : parts) {
    const bool minus = part.span < Duration::zero();
    if (!out.empty()) out += minus ? " - " : " + ";
    out += in_seconds(minus ? -part.span : part.span);
  }
  return fmt::format("{} = {}", out, in_seconds(total));
}

FailoverBudget budget_of(const BudgetInput& input) {
  FailoverBudget budget;
  if (input.mechanism.proves_death) {
    budget.crash_worst = at_next_look(input, true);
    budget.crash_typical = at_next_look(input, false);
    budget.hang_worst = after_silence(input, true);
  } else {
    budget.crash_worst = after_silence(input, true);
    budget.crash_typical = after_silence(input, false);
  }
  const bool found_at_once = input.gives_back || input.mechanism.proves_death;
  budget.release_worst = found_at_once ? at_next_look(input, true) : budget.crash_worst;
  budget.release_typical = found_at_once ? at_next_look(input, false) : budget.crash_typical;
  return budget;
}

Duration backoff_worst(const BackoffSettings& backoff, std::size_t earlier_elections) {
  if (earlier_elections == 0) return backoff.first.high;
  return earlier_elections == 1 ? backoff.second.high : backoff.later.high;
}

Duration worst_of(const BudgetInput& input, bool from_last_tick) {
  return budget_of(input).crash_worst.total + (from_last_tick ? input.poll : Duration::zero());
}

std::optional<Suggestion> suggest(const BudgetInput& like, Promise promise, double ratio) {
  ratio = std::clamp(ratio, 2.0, 10.0);
  BudgetInput tried = like;
  // The worst case grows with the poll, so a bisection finds the longest poll that fits.
  Duration low = Duration::zero();
  Duration high = promise.longest;
  const auto fits = [&](Duration poll) {
    tried.poll = round_down(poll);
    tried.lease = round_down(budget_scaled(tried.poll, ratio));
    if (like.mechanism.ends_leases) tried.lease = whole_seconds(tried.lease);
    if (tried.poll <= Duration::zero() || tried.lease < kShortestLease) return false;
    return worst_of(tried, promise.from_last_tick) <= promise.longest;
  };
  for (int round = 0; round < 64 && high - low > Duration::micros(1); ++round) {
    const Duration middle = low + (high - low) / 2;
    // Too short a poll fails for another reason than too long a one: it has no lease that may be.
    const bool too_short =
        round_down(middle) <= Duration::zero() || round_down(budget_scaled(middle, ratio)) < kShortestLease;
    (too_short || fits(middle) ? low : high) = middle;
  }
  if (!fits(low)) return std::nullopt;
  return Suggestion{tried.poll, tried.lease, tried.lease / 3};
}

}  // namespace bellwether::election
