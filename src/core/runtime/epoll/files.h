// Files of the operating system, through a thread that may block. Paths in error texts are as given.
#pragma once

#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/file.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/runtime/epoll/blocking_pool.h"
#include "core/runtime/runtime.h"

namespace bellwether::runtime {

// An open descriptor of the operating system that several owners share, such as a file and its pending operations. The
// last owner closes it, so that neither a closed file nor a destroyed coroutine takes it from a call.
struct Descriptor {
  Descriptor(int number, std::string name) : fd(number), path(std::move(name)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  // Closing alone would leave a lock to another owner of a copy of the descriptor: a process between fork and exec.
  ~Descriptor() {
    if (locked) ::flock(fd, LOCK_UN);
    if (held) {
      struct flock all {};
      all.l_type = F_UNLCK;
      ::fcntl(fd, F_OFD_SETLK, &all);
    }
    ::close(fd);
  }
  int fd;
  std::string path;
  // Used by one operation after the other.
  bool locked = false;
  bool held = false;
};

// Names on the disks of the operating system, through a thread that may block: folders, renaming and removing for
// Runtime. Paths in messages are as given.
task<Status> rename_file(BlockingPool& pool, std::string from, std::string to);
task<Status> remove_file(BlockingPool& pool, std::string path);
task<Status> sync_directory(BlockingPool& pool, std::string path);
task<Status> make_directory(BlockingPool& pool, std::string path, uint32_t mode);
task<Result<std::vector<std::string>>> list_directory(BlockingPool& pool, std::string path);

// `runtime` and `pool` must outlive the file.
task<Result<std::unique_ptr<File>>> open_file(Runtime& runtime, BlockingPool& pool, std::string path,
                                              OpenOptions options);

}  // namespace bellwether::runtime
