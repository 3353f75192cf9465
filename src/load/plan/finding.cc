#include "load/plan/finding.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/units.h"

namespace bellwether::plan {
namespace {

std::string percent(double share) { return fmt::format("{} %", std::lround(share * 100)); }

// By worker; empty where the strain has no finding.
std::map<std::string, Duration> times_of(std::span<const Finding> findings, Strain strain) {
  std::map<std::string, Duration> out;
  for (const Finding& finding : findings) {
    if (finding.strain == strain) out[finding.worker] += std::max(finding.end - finding.begin, Duration::zero());
  }
  return out;
}

bool is_shorter(const std::pair<const std::string, Duration>& a, const std::pair<const std::string, Duration>& b) {
  return a.second < b.second;
}

}  // namespace

std::string_view to_string(Strain strain) {
  static constexpr EnumNames<Strain> kNames("cpu", "loop_lag", "exhausted", "descriptors", "throttled", "stolen",
                                            "memory");
  return kNames[strain];
}

std::string_view remedy(Strain strain) {
  switch (strain) {
    case Strain::kCpu: return "give it more cores or machines, or ask for less load";
    case Strain::kLoopLag:
      return "keep other programs off its processors, give it more cores, or make what steps do with answers cheaper";
    case Strain::kExhausted:
      return "widen net.ipv4.ip_local_port_range, raise 'ulimit -n', keep connections open, or use more machines";
    case Strain::kDescriptors: return "raise 'ulimit -n', or use fewer virtual users on this machine";
    case Strain::kThrottled:
      return "raise the processor limit of its container (cpu.max), or run no more load threads than it allows "
             "(--cores)";
    case Strain::kStolen: return "use a machine whose processors are not shared with others, or one with more of them";
    case Strain::kMemory:
      return "give the machine or its container (memory.max) more memory, or use fewer virtual users on it";
  }
  return "";
}

namespace {

std::string what_of(const Finding& finding) {
  const std::string share = percent(finding.worst);
  switch (finding.strain) {
    case Strain::kCpu: return "its CPU was used to " + share;
    case Strain::kLoopLag:
      return "its event loop lagged by " + format_duration(Duration::nanos(std::llround(finding.worst * 1e9)));
    case Strain::kExhausted:
      return format_count(static_cast<uint64_t>(finding.worst), "request") +
             " in a second found no free port or descriptor";
    case Strain::kDescriptors: return share + " of the files that it may open were open";
    case Strain::kThrottled:
      return fmt::format("its control group held it up in {} of its periods, for its processor quota was used", share);
    case Strain::kStolen: return fmt::format("the hypervisor gave {} of the CPU time that was wanted to others", share);
    case Strain::kMemory: return share + " of the memory was in use";
  }
  return "";
}

}  // namespace

std::string text_of(const Finding& finding) {
  return (finding.worker.empty() ? "" : fmt::format("worker '{}': ", finding.worker)) + what_of(finding);
}

bool is_possible(const Finding& finding) {
  constexpr double kMostWorst = 1e9;
  constexpr Duration kMostTime = Duration::hours(24 * 366);
  // In this form, a worst value that is NaN is refused.
  return static_cast<std::size_t>(finding.strain) < kStrains && finding.begin >= Duration::zero() &&
         finding.begin <= finding.end && finding.end <= kMostTime && finding.worst >= 0 && finding.worst <= kMostWorst;
}

Duration lasted(std::span<const Finding> findings, Strain strain) {
  const std::map<std::string, Duration> times = times_of(findings, strain);
  return times.empty() ? Duration::zero() : std::max_element(times.begin(), times.end(), is_shorter)->second;
}

Finding sum_of(std::span<const Finding> findings, Strain strain) {
  const std::map<std::string, Duration> times = times_of(findings, strain);
  check(!times.empty(), "a sum is one of something");
  const std::string& worker = std::max_element(times.begin(), times.end(), is_shorter)->first;
  std::optional<Finding> sum;
  for (const Finding& finding : findings) {
    if (finding.strain != strain || finding.worker != worker) continue;
    if (!sum) sum = finding;
    sum->worst = std::max(sum->worst, finding.worst);
    sum->end = std::max(sum->end, finding.end);
  }
  return *sum;
}

void add(std::vector<Finding>& findings, Finding finding) {
  if (findings.size() < kMostFindings) {
    findings.push_back(std::move(finding));
    return;
  }
  const auto last = std::find_if(findings.rbegin(), findings.rend(), [&](const Finding& one) {
    return one.strain == finding.strain && one.worker == finding.worker;
  });
  if (last == findings.rend()) return;
  last->end = std::max(last->end, finding.end);
  last->worst = std::max(last->worst, finding.worst);
}

std::vector<std::string> summed_up(std::span<const Finding> findings) {
  std::vector<std::string> out;
  for (std::size_t s = 0; s < kStrains; ++s) {
    const auto strain = static_cast<Strain>(s);
    if (times_of(findings, strain).empty()) continue;
    const Finding sum = sum_of(findings, strain);
    out.push_back(fmt::format("{} (at worst; between {} and {}, {} in all)", text_of(sum), format_duration(sum.begin),
                              format_duration(sum.end), format_duration(lasted(findings, strain))));
  }
  return out;
}

}  // namespace bellwether::plan
