#include "lead/run/descendants.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace bellwether::lead {
namespace {

std::string read_all(const std::string& path) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::read(fd, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(size));
  ::close(fd);
  return text;
}

// Appends the children that the kernel lists for one process, in all of its threads.
void add_children(pid_t parent, std::vector<pid_t>& found) {
  const std::string folder = "/proc/" + std::to_string(parent) + "/task";
  DIR* threads = ::opendir(folder.c_str());
  if (threads == nullptr) return;
  while (const dirent* entry = ::readdir(threads)) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    if (entry->d_name[0] == '.') continue;
    const std::string text = read_all(folder + "/" + entry->d_name + "/children");
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

std::vector<pid_t> living_of(pid_t group, std::string_view mark) {
  std::vector<pid_t> found;
  DIR* all = ::opendir("/proc");
  if (all == nullptr) return found;
  const std::string wanted = std::string(1, '\0') + std::string(mark) + std::string(1, '\0');
  while (const dirent* entry = ::readdir(all)) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    const std::string folder = "/proc/" + std::string(entry->d_name);
    // "PID (NAME) STATE PARENT GROUP ..."; a name may have brackets and spaces.
    const std::string stat = read_all(folder + "/stat");
    const auto name_ends = stat.rfind(") ");
    if (name_ends == std::string::npos) continue;
    const char state = stat[name_ends + 2];
    if (state == 'Z' || state == 'X') continue;
    char* at = nullptr;
    std::strtol(stat.c_str() + name_ends + 3, &at, 10);
    const bool member = std::strtol(at, nullptr, 10) == group;
    if (member || ('\0' + read_all(folder + "/environ")).find(wanted) != std::string::npos) found.push_back(pid);
  }
  ::closedir(all);
  return found;
}

}  // namespace bellwether::lead
