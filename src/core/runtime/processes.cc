#include "core/runtime/processes.h"

#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <unistd.h>

#include "core/runtime/epoll/machine_texts.h"

namespace bellwether::runtime {
namespace {

constexpr int kStartTimeField = 22;  // counted from 1; the name in parentheses is the second, the state the third

std::string without_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::optional<ProcessStat> stat_of(int64_t pid) {
  return parse_process_stat(read_system_text((fmt::format("/proc/{}/stat", pid)).c_str()));
}

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 2);
  if (text.size() < 2) return std::nullopt;
  ProcessStat stat{text[0], 0};
  for (int field = 3; field < kStartTimeField; ++field) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    text.remove_prefix(space + 1);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), stat.start_time);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return stat;
}

ProcessIdentity identify_self() {
  ProcessIdentity self;
  self.pid = ::getpid();
  if (const auto stat = parse_process_stat(read_system_text("/proc/self/stat"))) self.start_time = stat->start_time;
  self.boot_id = without_newline(read_system_text("/proc/sys/kernel/random/boot_id"));
  char name[256] = {};
  const ssize_t size = ::readlink("/proc/self/ns/pid", name, sizeof name);
  if (size > 0) self.pid_namespace.assign(name, static_cast<std::size_t>(size));
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) self.host = host;
  return self;
}

ProcessSight look_at_process(int64_t pid) {
  const ProcessSight dead{ProcessSight::State::kDead, std::nullopt};
  // To kill(2), zero and negative numbers mean groups.
  if (pid <= 0 || pid > INT_MAX || is_gone(static_cast<pid_t>(pid))) return dead;
  const auto stat = stat_of(pid);
  // Hidden, or gone since.
  if (!stat) return is_gone(static_cast<pid_t>(pid)) ? dead : ProcessSight{};
  if (stat->state == 'Z' || stat->state == 'X') return dead;
  return {ProcessSight::State::kAlive, stat->start_time};
}

}  // namespace bellwether::runtime
