#include "cluster/vote/machine_load.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "cluster/net/resource_monitor.h"
#include "core/base/periodic.h"
#include "core/runtime/epoll/machine_texts.h"

namespace bellwether::cluster {

namespace {

using runtime::task;

constexpr std::string_view kGroups = "/sys/fs/cgroup";

void read_disk(const std::string& folder, MachineTexts& into) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.capacity == 0) return;
  into.disk_free = space.available;
  into.disk_used = 1 - static_cast<double>(space.available) / static_cast<double>(space.capacity);
}

// Of the fastest device that states it; a virtual one states nothing, or an impossible value.
std::optional<uint64_t> device_bandwidth() {
  std::optional<uint64_t> most;
  std::error_code wrong;
  std::filesystem::directory_iterator device("/sys/class/net", wrong);
  for (; !wrong && device != std::filesystem::directory_iterator(); device.increment(wrong)) {
    std::ifstream file(device->path() / "speed");
    int64_t megabits = 0;
    if (file >> megabits && megabits > 0) {
      most = std::max(most.value_or(0), static_cast<uint64_t>(megabits) * 1'000'000);
    }
  }
  return most;
}

}  // namespace

std::optional<std::pair<uint64_t, uint64_t>> ticks_of(std::string_view stat) {
  // user nice system idle iowait irq softirq steal guest guest_nice; the last two are within the first two.
  const std::vector<uint64_t> ticks = runtime::numbers_after(stat, "cpu ");
  if (ticks.size() < 4) return std::nullopt;
  uint64_t all = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(ticks.size(), 8); ++i) all += ticks[i];
  const uint64_t idle = ticks[3] + (ticks.size() > 4 ? ticks[4] : 0);
  return std::pair(all - idle, all);
}

std::optional<double> memory_used_of(const MachineTexts& texts) {
  std::optional<double> most;
  const auto take = [&most](uint64_t used, uint64_t of) {
    if (of == 0) return;
    const double ratio = std::clamp(static_cast<double>(used) / static_cast<double>(of), 0.0, 1.0);
    most = std::max(most.value_or(0), ratio);
  };
  const auto total = runtime::number_after(texts.meminfo, "MemTotal:");
  const auto available = runtime::number_after(texts.meminfo, "MemAvailable:");
  if (total && available) take(*total - std::min(*total, *available), *total);
  for (const MachineTexts::Group& group : texts.groups) {
    const auto limit = bytes_of(group.memory_max);
    const auto used = bytes_of(group.memory_current);
    if (!limit || !used) continue;
    take(*used - std::min(*used, droppable_of(group.memory_stat).value_or(0)), *limit);
  }
  return most;
}

MachineSize size_of(const MachineTexts& texts) {
  MachineSize size{.disk_free = texts.disk_free, .network_bandwidth = texts.network_bandwidth};
  // A line for each processor, behind the one of all.
  for (auto at = texts.stat.find("\ncpu"); at != std::string::npos; at = texts.stat.find("\ncpu", at + 1)) ++size.cores;
  size.memory = runtime::number_after(texts.meminfo, "MemTotal:").value_or(0) * 1024;
  for (const MachineTexts::Group& group : texts.groups) {
    if (const auto cores = cores_of(group.cpu_max)) size.cores = std::min(size.cores, *cores);
    if (const auto limit = bytes_of(group.memory_max)) size.memory = std::min(size.memory, *limit);
  }
  return size;
}

std::optional<double> MachineLoad::cpu_used(Instant now, const MachineTexts& texts) {
  Counted counted;
  std::optional<double> most;
  const auto ticks = ticks_of(texts.stat);
  if (ticks) {
    counted.busy = ticks->first;
    counted.all = ticks->second;
    if (before_.all != 0 && counted.all > before_.all && counted.busy >= before_.busy) {
      most = static_cast<double>(counted.busy - before_.busy) / static_cast<double>(counted.all - before_.all);
    }
  }
  const double span = (now - read_at_).seconds_f();
  for (std::size_t i = 0; i < texts.groups.size(); ++i) {
    const MachineTexts::Group& group = texts.groups[i];
    counted.groups.push_back(runtime::number_after(group.cpu_stat, "usage_usec "));
    const auto cores = cores_of(group.cpu_max);
    if (!cores || *cores <= 0 || span <= 0 || i >= before_.groups.size()) continue;
    const auto& usage = counted.groups.back();
    const auto& usage_before = before_.groups[i];
    if (!usage || !usage_before || *usage < *usage_before) continue;
    most = std::max(most.value_or(0), static_cast<double>(*usage - *usage_before) * 1e-6 / (span * *cores));
  }
  before_ = std::move(counted);
  return most ? std::optional(std::clamp(*most, 0.0, 1.0)) : std::nullopt;
}

void MachineLoad::mix(double& mean, std::optional<double> value, bool first) const {
  if (!value) return;
  const double weight = first ? 1 : 1 - std::exp(-since_.seconds_f() / kLoadMean.seconds_f());
  mean += weight * (*value - mean);
}

void MachineLoad::read(Instant now, const MachineTexts& texts) {
  since_ = any_ ? now - read_at_ : Duration::zero();
  const std::optional<double> cpu = cpu_used(now, texts);
  mix(resources_.cpu_used, cpu, !any_cpu_);
  any_cpu_ |= cpu.has_value();
  mix(resources_.memory_used, memory_used_of(texts), !any_);
  mix(resources_.disk_used, texts.disk_used, !any_);
  read_at_ = now;
  any_ = true;
}

task<MachineTexts> ResourceMeter::read_all() {
  MachineTexts texts;
  texts.stat = co_await read_small(runtime_, "/proc/stat");
  texts.meminfo = co_await read_small(runtime_, "/proc/meminfo");
  const std::string cgroup = co_await read_small(runtime_, "/proc/self/cgroup");
  // Every group above ours limits us too.
  std::string group = runtime::group_of(cgroup).value_or("/");
  for (; group.size() > 1; group = group.substr(0, group.rfind('/'))) {
    const std::string folder = std::string(kGroups) + group;
    MachineTexts::Group one;
    one.cpu_max = co_await read_small(runtime_, folder + "/cpu.max");
    one.cpu_stat = co_await read_small(runtime_, folder + "/cpu.stat");
    one.memory_max = co_await read_small(runtime_, folder + "/memory.max");
    one.memory_current = co_await read_small(runtime_, folder + "/memory.current");
    one.memory_stat = co_await read_small(runtime_, folder + "/memory.stat");
    texts.groups.push_back(std::move(one));
  }
  read_disk(folder_, texts);
  texts.network_bandwidth = device_bandwidth();
  co_return texts;
}

task<void> ResourceMeter::run(runtime::Cancellation* cancel) {
  Periodic period(Period::about(Duration::seconds(1)), runtime_.prng().fork());
  while (true) {
    const MachineTexts texts = co_await read_all();
    load_.read(runtime_.boot_now(), texts);
    size_ = size_of(texts);
    const bool passed = co_await runtime_.sleep(period.next(), cancel);
    if (!passed) co_return;
  }
}

}  // namespace bellwether::cluster
