#include "core/runtime/stream.h"

#include <cerrno>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bellwether::runtime {

Stream::~Stream() {
  check(reader_ == nullptr && writer_ == nullptr, "a stream outlives those who wait for it");
  if (fd_ >= 0) ::close(fd_);
}

Io Stream::do_read(MutableBytes) { return Io::failed(Errc::kUnsupported); }
Io Stream::do_write(Bytes) { return Io::failed(Errc::kUnsupported); }

// The system calls of every request are direct: the C library makes them points at which a thread may be cancelled,
// which costs two locked instructions around each of them in a process of several threads. No code here cancels
// threads.

// A short read means that the socket is empty, and new bytes will be announced; only a hang-up seen before it will not
// be announced again, and forget_readable() remembers that.
Io Stream::socket_read(MutableBytes into) {
  while (true) {
    const ssize_t n = ::syscall(SYS_recvfrom, fd_, into.data(), into.size(), 0, nullptr, nullptr);
    if (n > 0) [[likely]] {
      if (static_cast<std::size_t>(n) < into.size()) forget_readable();
      return Io::done(static_cast<std::size_t>(n));
    }
    if (n == 0) {
      if (into.empty()) return Io::done(0);
      hangup_ = true;
      return Io::end();
    }
    if (errno == EAGAIN) {
      readable_ = false;
      return Io::would_block();
    }
    if (errno == EINTR) continue;
    hangup_ = true;
    return Io::failed(errc_from_errno(errno));
  }
}

Io Stream::socket_write(Bytes bytes) {
  while (true) {
    const ssize_t n = ::syscall(SYS_sendto, fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL, nullptr, 0);
    if (n >= 0) [[likely]] {
      if (static_cast<std::size_t>(n) < bytes.size()) writable_ = false;
      return Io::done(static_cast<std::size_t>(n));
    }
    if (errno == EAGAIN) {
      writable_ = false;
      return Io::would_block();
    }
    if (errno == EINTR) continue;
    hangup_ = true;
    return Io::failed(errc_from_errno(errno));
  }
}

void Stream::reset_when_closed() {
  const linger abort{1, 0};
  if (readiness_->fd_ >= 0) {
    ::setsockopt(readiness_->fd_, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
  } else {
    readiness_->do_reset_when_closed();
  }
}

void Stream::announce(bool readable, bool writable, bool hangup) {
  if (hangup) hangup_ = readable = writable = true;
  if (readable) readable_ = true;
  if (writable) writable_ = true;
  if (readable && reader_ != nullptr) RunQueue::local().push(*std::exchange(reader_, nullptr));
  if (writable && writer_ != nullptr) RunQueue::local().push(*std::exchange(writer_, nullptr));
}

void Stream::interrupt(Errc why) {
  Stream& owner = *readiness_;
  owner.interrupt_ = why;
  if (owner.reader_ != nullptr) RunQueue::local().push(*std::exchange(owner.reader_, nullptr));
  if (owner.writer_ != nullptr) RunQueue::local().push(*std::exchange(owner.writer_, nullptr));
}

}  // namespace bellwether::runtime
