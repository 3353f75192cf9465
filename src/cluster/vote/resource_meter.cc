#include "cluster/vote/resource_meter.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "cluster/net/vital_signs.h"
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

// Of the fastest device that says it; a virtual one says nothing, or what cannot be.
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
