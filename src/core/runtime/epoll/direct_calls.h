// The system calls of every request. The C library makes them points at which a thread may be cancelled. In a process
// of several threads that costs two locked instructions around each of them. No code here cancels threads. Arguments,
// results and errno are those of the functions in the manual, sections 2.
#pragma once

#include <ctime>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace bellwether::runtime::direct {

inline ssize_t recv(int fd, void* into, std::size_t size, int flags) {
  return ::syscall(SYS_recvfrom, fd, into, size, flags, nullptr, nullptr);
}
inline ssize_t send(int fd, const void* bytes, std::size_t size, int flags) {
  return ::syscall(SYS_sendto, fd, bytes, size, flags, nullptr, 0);
}
// `timeout` of nullptr: as long as it takes.
inline int epoll_wait(int fd, epoll_event* events, int most, const timespec* timeout) {
  return static_cast<int>(::syscall(SYS_epoll_pwait2, fd, events, most, timeout, nullptr, 0));
}

}  // namespace bellwether::runtime::direct
