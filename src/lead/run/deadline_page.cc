#include "lead/run/deadline_page.h"

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace bellwether::lead {

Result<DeadlinePage> DeadlinePage::create() {
  const int fd = ::memfd_create("bellwether-deadlines", MFD_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "memory for the guardian");
  if (::ftruncate(fd, sizeof(Deadlines)) != 0) {
    const int reason = errno;
    ::close(fd);
    return fail_errno(reason, "memory for the guardian");
  }
  return map(fd);
}

Result<DeadlinePage> DeadlinePage::map(int fd) {
  void* memory = ::mmap(nullptr, sizeof(Deadlines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) {
    const int reason = errno;
    ::close(fd);
    return fail_errno(reason, "memory shared with the guardian");
  }
  return DeadlinePage(fd, static_cast<Deadlines*>(memory));
}

DeadlinePage::DeadlinePage(DeadlinePage&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), deadlines_(std::exchange(other.deadlines_, nullptr)) {}

DeadlinePage::~DeadlinePage() {
  if (deadlines_ != nullptr) ::munmap(deadlines_, sizeof(Deadlines));
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace bellwether::lead
