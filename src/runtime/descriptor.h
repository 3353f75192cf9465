// An open descriptor of the operating system that several owners share, such as a file and the operations on their way:
// closed when the last lets go, so that neither a closed file nor a destroyed coroutine pulls it from under a call.
#pragma once

#include <string>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace bellwether::runtime {

struct Descriptor {
  Descriptor(int number, std::string name) : fd(number), path(std::move(name)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  // Closing alone would leave a lock to whoever has a copy of the descriptor: a process between fork and exec.
  ~Descriptor() {
    if (locked) ::flock(fd, LOCK_UN);
    ::close(fd);
  }
  int fd;
  std::string path;
  bool locked = false;  // used by one operation after the other
};

}  // namespace bellwether::runtime
