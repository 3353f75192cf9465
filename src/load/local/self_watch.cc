#include "load/local/self_watch.h"

#include <algorithm>
#include <limits>
#include <sys/stat.h>
#include <utility>

#include "core/base/check.h"
#include "core/base/units.h"
#include "core/runtime/epoll/machine_texts.h"

namespace bellwether::node {
namespace {

using runtime::number_after;
using runtime::numbers_after;

constexpr std::size_t kMaxText = 16 * 1024;
// A folder may not give its size. Counting more than this takes time and happens less often.
constexpr uint64_t kManyDescriptors = 4096;
constexpr int kReadingsACount = 10;
constexpr std::size_t kMaxGroups = 32;  // one below the other

double ratio_of(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

// Of /proc/stat: user nice system idle iowait irq softirq steal. The time of guests is in user and nice.
std::optional<aggregate::MachineReading::Processors> processors_of(std::string_view stat) {
  const std::vector<uint64_t> ticks = numbers_after(stat, "cpu ");
  if (ticks.size() < 8) return std::nullopt;
  aggregate::MachineReading::Processors out;
  for (std::size_t i = 0; i < 8; ++i) out.all += ticks[i];
  out.wanted = out.all - ticks[3] - ticks[4];
  out.stolen = ticks[7];
  return out;
}

// Delayed seconds arrive together; the machine is not read for each of them. A shorter time does not give a rate.
constexpr Duration kShortest = Duration::millis(500);

SelfWatch::News news_of(const aggregate::Finding& finding) {
  const std::string text = aggregate::text_of(finding);
  if (!finding.over) {
    return {"generator_saturated",
            fmt::format("the generator is a bottleneck: {}; remedy: {}", text, remedy(finding.saturation))};
  }
  return {"generator_relieved", fmt::format("the generator is no longer a bottleneck: for {} {}, at worst",
                                            format_duration(finding.end - finding.begin), text)};
}

}  // namespace

MachineReader::MachineReader(std::string root) : root_(std::move(root)) {
  const auto own = runtime::group_of(text("/proc/self/cgroup"));
  if (!own) return;
  std::string group = *own;
  // In a container with its own root, that root may have limits too.
  while (group.size() > 1 && groups_.size() < kMaxGroups) {
    groups_.push_back("/sys/fs/cgroup" + group);
    group = group.substr(0, group.rfind('/'));
  }
  groups_.emplace_back("/sys/fs/cgroup");
}

std::string MachineReader::text(const std::string& path) const {
  return runtime::read_system_text((root_ + path).c_str(), kMaxText);
}

void MachineReader::read_groups(aggregate::MachineReading& out) const {
  double least = std::numeric_limits<double>::infinity();
  for (const std::string& folder : groups_) {
    const std::vector<uint64_t> quota = numbers_after(text(folder + "/cpu.max"), "");
    if (quota.size() == 2 && quota[1] > 0) {
      const double cores = static_cast<double>(quota[0]) / static_cast<double>(quota[1]);
      const std::string counts = text(folder + "/cpu.stat");
      const auto periods = number_after(counts, "nr_periods ");
      const auto throttled = number_after(counts, "nr_throttled ");
      if (periods && throttled && cores < least) {
        least = cores;
        out.quota = {*periods, *throttled};
      }
    }
    const auto most = number_after(text(folder + "/memory.max"), "");
    const auto used = number_after(text(folder + "/memory.current"), "");
    if (!most || !used) continue;
    // The kernel drops file caches when it needs their memory.
    const uint64_t kept = number_after(text(folder + "/memory.stat"), "inactive_file ").value_or(0);
    out.memory_ratio = std::max(out.memory_ratio.value_or(0), ratio_of(*used - std::min(*used, kept), *most));
  }
}

std::optional<double> MachineReader::descriptor_ratio() {
  const auto limit = number_after(text("/proc/self/limits"), "Max open files");
  if (!limit || *limit == 0) return std::nullopt;
  const std::string folder = root_ + "/proc/self/fd";
  struct stat about {};
  // Newer kernels give it as the size of the folder; no folder on a disk with this few entries has such a size.
  const bool says = root_.empty() && ::stat(folder.c_str(), &about) == 0 && about.st_size > 0;
  if (says) {
    descriptors_ = static_cast<uint64_t>(about.st_size);
  } else if (descriptors_ <= kManyDescriptors || ++uncounted_ >= kReadingsACount) {
    uncounted_ = 0;
    descriptors_ = runtime::entries_of(folder.c_str());
  }
  return ratio_of(descriptors_, *limit);
}

aggregate::MachineReading MachineReader::read() {
  aggregate::MachineReading out;
  out.processors = processors_of(text("/proc/stat"));
  const std::string memory = text("/proc/meminfo");
  const auto all = number_after(memory, "MemTotal:");
  const auto left = number_after(memory, "MemAvailable:");
  if (all && left && *all > 0) out.memory_ratio = ratio_of(*all - std::min(*all, *left), *all);
  out.descriptor_ratio = descriptor_ratio();
  read_groups(out);
  return out;
}

SelfWatch::SelfWatch(uint32_t threads) : threads_(threads) { check(threads > 0, "a generator has threads"); }

std::vector<SelfWatch::News> SelfWatch::second(Duration now, const metrics::Window& window, Duration covered) {
  aggregate::LoadReading load{.covered = covered};
  for (const metrics::StepWindow& step : window.steps) {
    load.exhausted += step.errors[static_cast<std::size_t>(http1::ErrorKind::kExhausted)];
  }
  if (covered < kShortest && load.exhausted == 0) return {};
  if (covered >= kShortest) {
    load.cpu_ratio = window.cpu.seconds_f() / (covered.seconds_f() * threads_);
    load.loop_lag_p99 = window.loop_lag.percentile(99);
    load.loop_lag_most = window.loop_lag.max();
  }
  std::optional<aggregate::MachineReading> machine;
  if (!read_at_ || now - *read_at_ >= kShortest) {
    machine = machine_.read();
    read_at_ = now;
  }
  std::vector<News> out;
  for (const aggregate::Finding& finding : watch_.second(now, load, machine ? &*machine : nullptr)) {
    out.push_back(news_of(finding));
  }
  return out;
}

}  // namespace bellwether::node
