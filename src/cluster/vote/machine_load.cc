#include "cluster/vote/machine_load.h"

#include <algorithm>
#include <cmath>

#include "cluster/net/vital_signs.h"
#include "core/runtime/epoll/machine_texts.h"

namespace bellwether::cluster {

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
    const double share = std::clamp(static_cast<double>(used) / static_cast<double>(of), 0.0, 1.0);
    most = std::max(most.value_or(0), share);
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

}  // namespace bellwether::cluster
