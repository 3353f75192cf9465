// A folder for one test, gone with all its files when the test is.
#pragma once

#include <atomic>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/check.h"

namespace bellwether::runtime {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> made{0};
    path_ = "/tmp/bellwether-test-" + std::to_string(::getpid()) + "-" + std::to_string(made++);
    check(::mkdir(path_.c_str(), 0700) == 0, "a test may make a folder");
  }
  ~TemporaryFolder() { remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Makes a file and gives its path.
  std::string file(std::string_view name, std::string_view text) const {
    const int fd = ::open(path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    check(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "a test may write");
    ::close(fd);
    return path(name);
  }

 private:
  static void remove_all(const std::string& folder_path) {
    if (DIR* folder = ::opendir(folder_path.c_str())) {
      while (const dirent* entry = ::readdir(folder)) {
        const std::string_view name = entry->d_name;
        const std::string full = folder_path + "/" + std::string(name);
        if (name != "." && name != ".." && ::unlink(full.c_str()) != 0) remove_all(full);
      }
      ::closedir(folder);
    }
    ::rmdir(folder_path.c_str());
  }
  std::string path_;
};

}  // namespace bellwether::runtime
