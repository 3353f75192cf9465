#include "lead/run/descendants.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <string>
#include <unistd.h>

namespace bellwether::lead {
namespace {

std::optional<std::string> read_all(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::read(fd, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(size));
  ::close(fd);
  return text;
}

// What /proc/PID/stat says of a process that lives (proc(5) numbers the fields).
struct Stat {
  pid_t group = -1;             // 5
  bool kernel = false;          // 9: a thread of the kernel
  bool no_environment = false;  // 50 and 51: it was started with none. Both are 0 while it becomes another program

  static std::optional<Stat> read(const std::string& folder) {
    const std::string text = read_all(folder + "/stat").value_or("");
    // "PID (NAME) STATE PARENT GROUP ..."; a name may have brackets and spaces.
    const auto name_ends = text.rfind(") ");
    if (name_ends == std::string::npos) return std::nullopt;
    const char state = text[name_ends + 2];
    if (state == 'Z' || state == 'X') return std::nullopt;
    std::array<unsigned long long, 52> fields{};
    char* at = const_cast<char*>(text.c_str()) + name_ends + 3;
    for (std::size_t i = 4; i < fields.size(); ++i) fields[i] = std::strtoull(at, &at, 10);
    constexpr unsigned long long kKernelThread = 0x00200000;  // PF_KTHREAD
    return Stat{static_cast<pid_t>(fields[5]), (fields[9] & kKernelThread) != 0,
                fields[50] != 0 && fields[50] == fields[51]};
  }
};

// Appends the children that the kernel lists for one process, in all of its threads.
void add_children(pid_t parent, std::vector<pid_t>& found) {
  const std::string folder = "/proc/" + std::to_string(parent) + "/task";
  DIR* threads = ::opendir(folder.c_str());
  if (threads == nullptr) return;
  while (const dirent* entry = ::readdir(threads)) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    if (entry->d_name[0] == '.') continue;
    const std::string text = read_all(folder + "/" + entry->d_name + "/children").value_or("");
    const char* at = text.c_str();
    char* end = nullptr;
    for (long pid = std::strtol(at, &end, 10); end != at; pid = std::strtol(at, &end, 10)) {
      found.push_back(static_cast<pid_t>(pid));
      at = end;
    }
  }
  ::closedir(threads);
}

}  // namespace

std::vector<pid_t> descendants() {
  std::vector<pid_t> found;
  add_children(::getpid(), found);
  for (std::size_t i = 0; i < found.size(); ++i) add_children(found[i], found);
  return found;
}

void signal_descendants(int number) {
  for (const pid_t pid : descendants()) ::kill(pid, number);
}

Living living_of(pid_t group, std::string_view mark) {
  Living living;
  DIR* all = ::opendir("/proc");
  if (all == nullptr) return living;
  const std::string wanted = std::string(1, '\0') + std::string(mark) + std::string(1, '\0');
  while (const dirent* entry = ::readdir(all)) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    const std::string folder = "/proc/" + std::string(entry->d_name);
    const auto environment = read_all(folder + "/environ");
    const auto stat = Stat::read(folder);
    if (!stat) continue;
    if (stat->group == group || ('\0' + environment.value_or("")).find(wanted) != std::string::npos) {
      living.pids.push_back(pid);
    } else if (environment && environment->empty() && !stat->kernel && !stat->no_environment) {
      living.complete = false;
    }
  }
  ::closedir(all);
  return living;
}

}  // namespace bellwether::lead
