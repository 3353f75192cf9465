#include "load/plan/finding.h"

#include <map>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/units.h"

namespace bellwether::plan {
namespace {

std::string percent(double ratio) { return fmt::format("{} %", std::lround(ratio * 100)); }

// By worker; empty where the saturation has no finding.
std::map<std::string, Duration> times_of(std::span<const Finding> findings, Saturation saturation) {
  std::map<std::string, Duration> out;
  for (const Finding& finding : findings) {
    if (finding.saturation == saturation)
      out[finding.worker] += std::max(finding.end - finding.begin, Duration::zero());
  }
  return out;
}

bool is_shorter(const std::pair<const std::string, Duration>& a, const std::pair<const std::string, Duration>& b) {
  return a.second < b.second;
}

}  // namespace

std::string_view to_string(Saturation saturation) {
  static constexpr EnumNames<Saturation> kNames("cpu", "loop_lag", "exhausted", "descriptors", "throttled", "stolen",
                                                "memory");
  return kNames[saturation];
}

std::string_view remedy(Saturation saturation) {
  switch (saturation) {
    case Saturation::kCpu: return "give it more cores or machines, or reduce the load";
    case Saturation::kLoopLag:
      return "keep other programs off its processors, give it more cores, or make the processing of responses cheaper";
    case Saturation::kExhausted:
      return "widen net.ipv4.ip_local_port_range, raise 'ulimit -n', keep connections open, or use more machines";
    case Saturation::kDescriptors: return "raise 'ulimit -n', or use fewer virtual users on this machine";
    case Saturation::kThrottled:
      return "raise the processor limit of its container (cpu.max), or run no more load threads than it allows "
             "(--cores)";
    case Saturation::kStolen:
      return "use a machine whose processors are not shared with others, or one with more of them";
    case Saturation::kMemory:
      return "give the machine or its container (memory.max) more memory, or use fewer virtual users on it";
  }
  return "";
}

namespace {

std::string what_of(const Finding& finding) {
  const std::string ratio = percent(finding.worst);
  switch (finding.saturation) {
    case Saturation::kCpu: return "its CPU was used to " + ratio;
    case Saturation::kLoopLag:
      return "its event loop lagged by " + format_duration(Duration::nanos(std::llround(finding.worst * 1e9)));
    case Saturation::kExhausted:
      return format_count(static_cast<uint64_t>(finding.worst), "request") +
             " in a second found no free port or descriptor";
    case Saturation::kDescriptors: return ratio + " of the files that it may open were open";
    case Saturation::kThrottled:
      return fmt::format("its control group throttled it in {} of its periods, because its CPU quota was used up",
                         ratio);
    case Saturation::kStolen:
      return fmt::format("the hypervisor gave {} of the requested CPU time to other machines", ratio);
    case Saturation::kMemory: return ratio + " of the memory was in use";
  }
  return "";
}

}  // namespace

std::string text_of(const Finding& finding) {
  return (finding.worker.empty() ? "" : fmt::format("worker '{}': ", finding.worker)) + what_of(finding);
}

bool is_possible(const Finding& finding) {
  constexpr double kMaxWorst = 1e9;
  constexpr Duration kMaxTime = Duration::hours(24 * 366);
  // In this form, a worst value that is NaN is refused.
  return static_cast<std::size_t>(finding.saturation) < kSaturations && finding.begin >= Duration::zero() &&
         finding.begin <= finding.end && finding.end <= kMaxTime && finding.worst >= 0 && finding.worst <= kMaxWorst;
}

Duration lasted(std::span<const Finding> findings, Saturation saturation) {
  const std::map<std::string, Duration> times = times_of(findings, saturation);
  return times.empty() ? Duration::zero() : std::max_element(times.begin(), times.end(), is_shorter)->second;
}

Finding sum_of(std::span<const Finding> findings, Saturation saturation) {
  const std::map<std::string, Duration> times = times_of(findings, saturation);
  check(!times.empty(), "a sum is one of something");
  const std::string& worker = std::max_element(times.begin(), times.end(), is_shorter)->first;
  std::optional<Finding> sum;
  for (const Finding& finding : findings) {
    if (finding.saturation != saturation || finding.worker != worker) continue;
    if (!sum) sum = finding;
    sum->worst = std::max(sum->worst, finding.worst);
    sum->end = std::max(sum->end, finding.end);
  }
  return *sum;
}

void add(std::vector<Finding>& findings, Finding finding) {
  if (findings.size() < kMaxFindings) {
    findings.push_back(std::move(finding));
    return;
  }
  const auto last = std::find_if(findings.rbegin(), findings.rend(), [&](const Finding& one) {
    return one.saturation == finding.saturation && one.worker == finding.worker;
  });
  if (last == findings.rend()) return;
  last->end = std::max(last->end, finding.end);
  last->worst = std::max(last->worst, finding.worst);
}

std::vector<std::string> summed_up(std::span<const Finding> findings) {
  std::vector<std::string> out;
  for (std::size_t s = 0; s < kSaturations; ++s) {
    const auto saturation = static_cast<Saturation>(s);
    if (times_of(findings, saturation).empty()) continue;
    const Finding sum = sum_of(findings, saturation);
    out.push_back(fmt::format("{} (at worst; between {} and {}, {} in all)", text_of(sum), format_duration(sum.begin),
                              format_duration(sum.end), format_duration(lasted(findings, saturation))));
  }
  return out;
}

}  // namespace bellwether::plan
