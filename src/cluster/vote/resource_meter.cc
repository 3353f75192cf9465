#include "cluster/vote/resource_meter.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/periodic.h"
#include "runtime/machine_texts.h"

namespace bellwether::cluster {
namespace {

using runtime::task;

constexpr std::size_t kTextMost = 16 * 1024;
constexpr std::string_view kGroups = "/sys/fs/cgroup";

std::optional<double> disk_used_of(const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.capacity == 0) return std::nullopt;
  return 1 - static_cast<double>(space.available) / static_cast<double>(space.capacity);
}

}  // namespace

// Empty when it cannot be read.
task<std::string> ResourceMeter::read(std::string path) {
  const auto file = co_await runtime_.open(std::move(path), {});
  if (!file) co_return std::string();
  std::string text(kTextMost, '\0');
  const MutableBytes into(reinterpret_cast<std::byte*>(text.data()), text.size());
  const auto size = co_await (*file)->read_at(0, into);
  text.resize(size.value_or(0));
  co_return text;
}

task<MachineTexts> ResourceMeter::read_all() {
  MachineTexts texts;
  texts.stat = co_await read("/proc/stat");
  texts.meminfo = co_await read("/proc/meminfo");
  const std::string cgroup = co_await read("/proc/self/cgroup");
  // Every group above ours limits us too.
  std::string group = runtime::group_of(cgroup).value_or("/");
  for (; group.size() > 1; group = group.substr(0, group.rfind('/'))) {
    const std::string folder = std::string(kGroups) + group;
    MachineTexts::Group one;
    one.cpu_max = co_await read(folder + "/cpu.max");
    one.cpu_stat = co_await read(folder + "/cpu.stat");
    one.memory_max = co_await read(folder + "/memory.max");
    one.memory_current = co_await read(folder + "/memory.current");
    one.memory_stat = co_await read(folder + "/memory.stat");
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
