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

// Appends the children that the kernel lists for one process, in all of its threads.
void add_children(pid_t parent, std::vector<pid_t>& found) {
  const std::string folder = "/proc/" + std::to_string(parent) + "/task";
  DIR* threads = ::opendir(folder.c_str());
  if (threads == nullptr) return;
  while (const dirent* entry = ::readdir(threads)) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    if (entry->d_name[0] == '.') continue;
    const int fd = ::open((folder + "/" + entry->d_name + "/children").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    std::string text;
    std::array<char, 4096> buffer{};
    ssize_t size = 0;
    while ((size = ::read(fd, buffer.data(), buffer.size())) > 0)
      text.append(buffer.data(), static_cast<std::size_t>(size));
    ::close(fd);
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

}  // namespace bellwether::lead
