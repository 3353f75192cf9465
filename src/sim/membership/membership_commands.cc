#include "sim/membership/membership_commands.h"

#include <algorithm>
#include <cstdio>

#include "sim/membership/anomaly_grid.h"
#include "sim/membership/detection.h"
#include "sim/membership/membership_run.h"

namespace bellwether::sim {
namespace {

std::optional<MembershipMistake> mistake_named(std::string_view name) {
  for (int i = 0; i < kMembershipMistakes; ++i) {
    const auto one = static_cast<MembershipMistake>(i);
    if (to_string(one) == name) return one;
  }
  return std::nullopt;
}

MembershipReport run_one(uint64_t seed, MembershipMistake mistake) {
  MembershipRun run = live_membership(seed, mistake, true);
  MembershipReport report{.held = run.violation.empty(), .text = std::move(run.trace)};
  char line[200];
  std::snprintf(line, sizeof line,
                "seed %llu: %u names, %u faults, %llu events, views agreed after %.0f s, fingerprint %016llx\n",
                static_cast<unsigned long long>(seed), run.members, run.faults,
                static_cast<unsigned long long>(run.events), run.agreed_after_s,
                static_cast<unsigned long long>(run.fingerprint));
  report.text += line;
  report.text += (report.held ? "everything held" : "VIOLATED: " + run.violation) + "\n";
  return report;
}

MembershipReport run_many(const MembershipCommand& command, MembershipMistake mistake) {
  MembershipReport report;
  uint64_t violated = 0;
  uint64_t events = 0;
  double slowest = 0;
  for (uint64_t seed = command.from; seed < command.from + command.seeds; ++seed) {
    const MembershipRun run = live_membership(seed, mistake);
    events += run.events;
    slowest = std::max(slowest, run.agreed_after_s);
    if (run.violation.empty() || ++violated > 10) continue;
    report.text += "seed " + std::to_string(seed) + ": " + run.violation +
                   "\n  bellwether sim --world membership --seed " + std::to_string(seed) +
                   (mistake == MembershipMistake::kNone ? "" : " --mistake " + command.mistake) + "\n";
  }
  report.held = violated == 0;
  char line[200];
  std::snprintf(
      line, sizeof line, "membership: seeds %llu to %llu: %llu events, views agreed after %.0f s at most, %s\n",
      static_cast<unsigned long long>(command.from), static_cast<unsigned long long>(command.from + command.seeds - 1),
      static_cast<unsigned long long>(events), slowest,
      report.held ? "everything held" : (std::to_string(violated) + " VIOLATED").c_str());
  report.text += line;
  return report;
}

MembershipReport crash_table(uint64_t seed) {
  const membership::Figures figures = membership::lan();
  MembershipReport report{.text = "members   crashes   seen by first p50/p99   by all p50/p99   budget p99 by all\n"};
  for (const std::size_t members : {3, 10, 100, 1000, 10'000}) {
    const std::size_t crashes = members > 1000 ? 5 : 200;
    const Detection seen = measure_detection(figures, {.members = members, .crashes = crashes, .seed = seed});
    char line[200];
    std::snprintf(line, sizeof line, "%7zu %9zu %13.2f/%5.2f s %10.2f/%5.2f s %16.2f s%s\n", members, crashes,
                  seen.first_p50, seen.first_p99, seen.all_p50, seen.all_p99,
                  membership::detection_budget(figures, members).all_p99().seconds_f(),
                  seen.missed > 0 ? "  SOME MISSED" : "");
    report.text += line;
    report.held &= seen.missed == 0;
  }
  const IdleCost idle = measure_idle(figures, 1000, Duration::seconds(120), seed);
  char line[120];
  std::snprintf(line, sizeof line, "idle, 1000 members: each sends %.2f messages and %.0f bytes a second\n",
                idle.messages, idle.bytes);
  report.text += line;
  return report;
}

}  // namespace

bool is_membership_world(std::string_view world) {
  return world == "membership" || world == "membership-grid" || world == "membership-crash";
}

std::string membership_worlds() {
  std::string text =
      "  membership        a group in which everything breaks\n"
      "  membership-grid   false positives and traffic beside plain SWIM and Lifeguard\n"
      "  membership-crash  how soon a crash is seen, and what an idle group costs\n"
      "Mistakes in world membership:\n";
  for (int i = 1; i < kMembershipMistakes; ++i) {
    text += "  " + std::string(to_string(static_cast<MembershipMistake>(i))) + "\n";
  }
  return text;
}

MembershipReport run_membership(const MembershipCommand& command) {
  const auto mistake = mistake_named(command.mistake);
  if (!mistake || !is_membership_world(command.world)) return {.known = false, .held = false, .text = {}};
  if (command.world == "membership-crash") return crash_table(command.from);
  if (command.world == "membership-grid") {
    const std::size_t every = static_cast<std::size_t>(1000 / std::clamp<uint64_t>(command.seeds, 1, 1000));
    return {.text = anomaly_table(Stall::kBlocked, command.from, every) + "\n" +
                    anomaly_table(Stall::kStopped, command.from, every)};
  }
  return command.seed ? run_one(*command.seed, *mistake) : run_many(command, *mistake);
}

}  // namespace bellwether::sim
