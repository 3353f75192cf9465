// An open descriptor of the operating system that several owners share, such as a file and its pending operations. The
// last owner closes it, so that neither a closed file nor a destroyed coroutine takes it from a call.
#pragma once

#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace bellwether::runtime {

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

}  // namespace bellwether::runtime
