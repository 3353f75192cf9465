#include "store/disk/disk_watch.h"

#include <array>
#include <climits>
#include <string_view>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace bellwether::store {
namespace {

bool add(int epoll_fd, int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

std::optional<DiskWatch> DiskWatch::of(const std::string& folder, const std::string& name) {
  const int notify = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (notify < 0) return std::nullopt;
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  DiskWatch watch(epoll, notify, name);
  constexpr uint32_t kEvents = IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_CREATE | IN_ONLYDIR;
  if (epoll < 0 || ::inotify_add_watch(notify, folder.c_str(), kEvents) < 0 || !add(epoll, notify, EPOLLIN)) {
    return std::nullopt;
  }
  return watch;
}

DiskWatch::DiskWatch(DiskWatch&& other) noexcept
    : epoll_fd_(std::exchange(other.epoll_fd_, -1)),
      notify_fd_(std::exchange(other.notify_fd_, -1)),
      process_fd_(std::exchange(other.process_fd_, -1)),
      process_(other.process_),
      name_(std::move(other.name_)) {}

DiskWatch::~DiskWatch() {
  for (const int fd : {process_fd_, notify_fd_, epoll_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

void DiskWatch::watch_process(int64_t pid) {
  if (pid == process_) return;
  process_ = pid;
  if (process_fd_ >= 0) ::close(std::exchange(process_fd_, -1));
  if (pid <= 0 || pid > INT_MAX) return;
  process_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (process_fd_ >= 0 && !add(epoll_fd_, process_fd_, EPOLLIN | EPOLLONESHOT)) ::close(std::exchange(process_fd_, -1));
}

bool DiskWatch::take() {
  bool changed = false;
  std::array<epoll_event, 2> ready{};
  const int count = ::epoll_wait(epoll_fd_, ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) changed = changed || ready[static_cast<std::size_t>(i)].data.fd == process_fd_;
  alignas(inotify_event) std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::read(notify_fd_, buffer.data(), buffer.size())) > 0) {
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      if (event->len > 0 && name_ == std::string_view(event->name)) changed = true;
      if ((event->mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0) changed = true;
      at += static_cast<ssize_t>(sizeof(inotify_event)) + event->len;
    }
  }
  return changed;
}

}  // namespace bellwether::store
