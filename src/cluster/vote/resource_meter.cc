#include "cluster/vote/resource_meter.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/periodic.h"
#include "cluster/vital_signs.h"
#include "runtime/machine_texts.h"

namespace bellwether::cluster {
namespace {

using runtime::task;

constexpr std::string_view kGroups = "/sys/fs/cgroup";

std::optional<double> disk_used_of(const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.capacity == 0) return std::nullopt;
  return 1 - static_cast<double>(space.available) / static_cast<double>(space.capacity);
}

}  // namespace

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
  texts.disk_used = disk_used_of(folder_);
  co_return texts;
}

task<void> ResourceMeter::run(runtime::Cancellation* cancel) {
  Periodic period(Period::about(Duration::seconds(1)), runtime_.prng().fork());
  while (true) {
    const MachineTexts texts = co_await read_all();
    load_.read(runtime_.boot_now(), texts);
    const bool passed = co_await runtime_.sleep(period.next(), cancel);
    if (!passed) co_return;
  }
}

}  // namespace bellwether::cluster
