#include "cluster/net/resource_monitor.h"

#include <algorithm>
#include <limits>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/runtime/epoll/machine_texts.h"

namespace bellwether::cluster {
namespace {

using runtime::entries_of;
using runtime::group_of;
using runtime::task;

constexpr int kBeatsAMeasure = 10;
constexpr std::size_t kMaxText = 16 * 1024;
// To count more than this takes a while, and is done less often.
constexpr uint64_t kManyDescriptors = 4096;
constexpr int kMeasuresACount = 10;
constexpr std::string_view kGroups = "/sys/fs/cgroup";

// The word number `at`, counted from 0; empty when there are not so many.
std::string_view word(std::string_view text, std::size_t at) {
  constexpr std::string_view kBlank = " \t\n";
  while (true) {
    const auto begin = std::min(text.find_first_not_of(kBlank), text.size());
    const auto end = std::min(text.find_first_of(kBlank, begin), text.size());
    if (begin == end || at == 0) return text.substr(begin, end - begin);
    text.remove_prefix(end);
    --at;
  }
}

// Newer kernels say it as the size of the folder; in others its entries are counted, one of which is the counting.
uint64_t descriptors_in_use() {
  constexpr const char* kFolder = "/proc/self/fd";
  struct stat folder {};
  if (::stat(kFolder, &folder) == 0 && folder.st_size > 0) return static_cast<uint64_t>(folder.st_size);
  const uint64_t entries = entries_of(kFolder);
  return entries - std::min<uint64_t>(entries, 1);
}

}  // namespace

std::optional<Duration> cpu_time_of(std::string_view stat, int64_t ticks_a_second) {
  // The second field is the name of the program, in parentheses, and may hold anything.
  const auto end = stat.rfind(')');
  if (end == std::string_view::npos || ticks_a_second <= 0) return std::nullopt;
  const std::string_view rest = stat.substr(end + 1);
  const auto user = parse_u64(word(rest, 11));
  const auto system = parse_u64(word(rest, 12));
  if (!user || !system) return std::nullopt;
  return Duration::nanos(static_cast<int64_t>(*user + *system) * (1'000'000'000 / ticks_a_second));
}

std::optional<Duration> waited_of(std::string_view schedstat) {
  const auto waited = parse_u64(word(schedstat, 1));
  if (!waited || *waited > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return Duration::nanos(static_cast<int64_t>(*waited));
}

std::optional<uint64_t> resident_pages_of(std::string_view statm) { return parse_u64(word(statm, 1)); }

std::optional<double> cores_of(std::string_view cpu_max) {
  const auto quota = parse_u64(word(cpu_max, 0));
  const auto period = parse_u64(word(cpu_max, 1));
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<uint64_t> bytes_of(std::string_view memory) { return parse_u64(word(memory, 0)); }

std::optional<uint64_t> droppable_of(std::string_view memory_stat) {
  return runtime::number_after(memory_stat, "inactive_file ");
}

std::optional<uint64_t> total_memory_of(std::string_view meminfo) {
  const auto kilobytes = runtime::number_after(meminfo, "MemTotal:");
  return kilobytes ? std::optional(*kilobytes * 1024) : std::nullopt;
}

task<std::string> read_small(runtime::Runtime& runtime, std::string path) {
  const auto file = co_await runtime.open(std::move(path), {});
  if (!file) co_return std::string();
  std::string text(kMaxText, '\0');
  const MutableBytes into(reinterpret_cast<std::byte*>(text.data()), text.size());
  const auto size = co_await (*file)->read_at(0, into);
  text.resize(size.value_or(0));
  co_return text;
}

task<ResourceUsage> ProcessResources::measure() {
  const std::string stat = co_await read_small(runtime_, "/proc/self/stat");
  const Instant now = runtime_.read_clock();
  const auto cpu = cpu_time_of(stat, ::sysconf(_SC_CLK_TCK));

  // Of this thread, whichever reads the file.
  const std::string schedstat = co_await read_small(runtime_, fmt::format("/proc/self/task/{}/schedstat", ::gettid()));
  const auto waited = waited_of(schedstat);
  signs_.run_delay =
      waited && waited_before_ ? std::max(*waited - *waited_before_, Duration::zero()) : Duration::zero();
  waited_before_ = waited;
  count_descriptors();

  signs_.cores = std::max(1u, std::thread::hardware_concurrency());
  const std::string meminfo = co_await read_small(runtime_, "/proc/meminfo");
  signs_.memory_most = total_memory_of(meminfo).value_or(0);
  const std::string statm = co_await read_small(runtime_, "/proc/self/statm");
  signs_.memory = resident_pages_of(statm).value_or(0) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));

  // Every group above ours limits us too.
  const std::string cgroup = co_await read_small(runtime_, "/proc/self/cgroup");
  std::string group = group_of(cgroup).value_or("/");
  for (bool own = true; group.size() > 1; own = false) {
    const std::string folder = std::string(kGroups) + group;
    const std::string cpu_max = co_await read_small(runtime_, folder + "/cpu.max");
    if (const auto cores = cores_of(cpu_max)) signs_.cores = std::min(signs_.cores, *cores);
    const std::string memory_max = co_await read_small(runtime_, folder + "/memory.max");
    const auto most = bytes_of(memory_max);
    if (most && (signs_.memory_most == 0 || *most < signs_.memory_most)) {
      signs_.memory_most = *most;
      // All memory of the group counts against that limit, not that of this process alone.
      const std::string current = co_await read_small(runtime_, folder + "/memory.current");
      const std::string parts = co_await read_small(runtime_, folder + "/memory.stat");
      const uint64_t used = bytes_of(current).value_or(signs_.memory);
      if (own) signs_.memory = used - std::min(used, droppable_of(parts).value_or(0));
    }
    group = group.substr(0, group.rfind('/'));
  }

  if (cpu && cpu_before_ && now > measured_) {
    const double used = (*cpu - *cpu_before_).seconds_f();
    signs_.cpu_ratio = std::clamp(used / ((now - measured_).seconds_f() * signs_.cores), 0.0, 1.0);
  }
  cpu_before_ = cpu;
  measured_ = now;
  co_return signs_;
}

void ProcessResources::count_descriptors() {
  if (signs_.descriptors > kManyDescriptors && ++uncounted_ < kMeasuresACount) return;
  uncounted_ = 0;
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  signs_.descriptors_most = known ? limit.rlim_cur : 0;
  signs_.descriptors = descriptors_in_use();
}

task<void> ResourceMonitor::run(runtime::Cancellation* cancel) {
  for (int beat = 1;; ++beat) {
    const Instant due = runtime_.read_clock() + kLoopBeat;
    const bool passed = co_await runtime_.sleep_until(due, cancel);
    if (!passed) co_return;
    const double lag = (runtime_.read_clock() - due).seconds_f() / kLoopBeat.seconds_f();
    worst_lag_ = std::max(worst_lag_, lag);
    loop_lag_(lag);
    if (beat % kBeatsAMeasure != 0) continue;
    ResourceUsage signs;
    if (source_ != nullptr) signs = co_await source_->measure();
    if (cancel != nullptr && cancel->cancelled()) co_return;
    signs.loop_lag = std::exchange(worst_lag_, 0);
    measured_(signs);
  }
}

}  // namespace bellwether::cluster
