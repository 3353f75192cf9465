#include "cli/run/machine_limits.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sched.h>
#include <sys/resource.h>

#include "core/base/bytes.h"

namespace bellwether::cli {
namespace {
// Event loops, files, standard streams and descriptors that libraries keep open.
constexpr uint64_t kOtherDescriptors = 128;
}  // namespace

Connections connections_of(const plan::Plan& plan, uint32_t cores) {
  Connections sum;
  for (const plan::Workflow& workflow : plan.workflows) {
    const uint64_t widest = workflow.order.width;
    const plan::ExecutorFacts facts = plan::facts_of(workflow.executor);
    // The users that an arrival rate hires are not sure; those that a course reaches are.
    sum.sure += uint64_t{facts.open_model ? facts.vus : facts.vus_most} * widest;
    sum.at_most += uint64_t{facts.vus_most} * widest;
  }
  if (plan.shared_connections.value_or(0) > 0) {
    const uint64_t most = uint64_t{*plan.shared_connections} * cores;
    sum = {std::min(sum.sure, most), std::min(sum.at_most, most)};
  }
  return sum;
}

uint64_t raise_descriptors(uint64_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return wanted;
  rlimit higher{wanted, std::max<rlim_t>(limit.rlim_max, wanted)};
  if (setrlimit(RLIMIT_NOFILE, &higher) == 0) return wanted;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_max;
}

Result<std::string> ensure_descriptors(const Connections& connections) {
  const uint64_t sure = connections.sure + kOtherDescriptors;
  const uint64_t at_most = connections.at_most + kOtherDescriptors;
  const uint64_t allowed = raise_descriptors(at_most);
  if (allowed >= at_most) return std::string();
  const auto remedy = [allowed](uint64_t needed) {
    return fmt::format("{} open files, and the limit is {}; raise it with 'ulimit -n {}' or use fewer virtual users",
                       needed, allowed, needed);
  };
  if (allowed < sure) return fail(Errc::kExhausted, "this run needs " + remedy(sure));
  return "this run may need " + remedy(at_most);
}

std::string port_warning(uint64_t connections) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/sys/net/ipv4/ip_local_port_range", "re"),
                                                   [](FILE* f) { return f == nullptr ? 0 : std::fclose(f); });
  unsigned long low = 0, high = 0;
  if (file == nullptr || std::fscanf(file.get(), "%lu %lu", &low, &high) != 2 || high < low) return {};
  const uint64_t ports = high - low + 1;
  if (connections <= ports) return {};
  return fmt::format(
      "up to {} connections, but only {} local ports for one target address (net.ipv4.ip_local_port_range {}-{}): "
      "connections beyond that will fail as 'exhausted'. Widen the range or use fewer virtual users",
      connections, ports, low, high);
}

uint32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<uint32_t>(CPU_COUNT(&set));
}

Result<std::vector<int>> parse_pin(const std::string& text) {
  std::vector<int> cpus;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view item = take_until(rest, ',');
    const std::size_t dash = item.find('-');
    const auto low = parse_u64(item.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : parse_u64(item.substr(dash + 1));
    if (!low || !high || *high < *low || *high > 4095) {
      return fail(Errc::kInvalid, "--pin '{}': write processor numbers such as 1 or 0,2 or 0-3", text);
    }
    for (uint64_t cpu = *low; cpu <= *high; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

Status check_pin(const std::vector<int>& cpus) {
  cpu_set_t before;
  CPU_ZERO(&before);
  sched_getaffinity(0, sizeof before, &before);
  for (const int cpu : cpus) {
    cpu_set_t one;
    CPU_ZERO(&one);
    if (cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &one);
    const bool works = cpu < CPU_SETSIZE && sched_setaffinity(0, sizeof one, &one) == 0;
    sched_setaffinity(0, sizeof before, &before);
    if (!works) return fail(Errc::kInvalid, "--pin: there is no processor {} for this process", cpu);
  }
  return {};
}

}  // namespace bellwether::cli
