#include "store/disk/disk_watch.h"

#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <sys/epoll.h>
#include <sys/eventfd.h>
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
  const int nudge = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  DiskWatch watch(epoll, notify, nudge, name);
  constexpr uint32_t kEvents = IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_CREATE | IN_ONLYDIR;
  if (epoll < 0 || nudge < 0 || ::inotify_add_watch(notify, folder.c_str(), kEvents) < 0 ||
      !add(epoll, notify, EPOLLIN) || !add(epoll, nudge, EPOLLIN)) {
    return std::nullopt;
  }
  return watch;
}

DiskWatch::DiskWatch(DiskWatch&& other) noexcept
    : epoll_fd_(std::exchange(other.epoll_fd_, -1)),
      notify_fd_(std::exchange(other.notify_fd_, -1)),
      nudge_fd_(std::exchange(other.nudge_fd_, -1)),
      process_fd_(std::exchange(other.process_fd_, -1)),
      ended_already_(other.ended_already_),
      process_(other.process_),
      name_(std::move(other.name_)) {}

DiskWatch::~DiskWatch() {
  for (const int fd : {process_fd_, nudge_fd_, notify_fd_, epoll_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

void DiskWatch::watch_process(int64_t pid) {
  if (pid == process_) return;
  process_ = pid;
  if (process_fd_ >= 0) ::close(std::exchange(process_fd_, -1));
  if (pid <= 0 || pid > INT_MAX) return;
  process_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (process_fd_ < 0 && errno == ESRCH) {
    ended_already_ = true;
    nudge();
  }
  if (process_fd_ >= 0 && !add(epoll_fd_, process_fd_, EPOLLIN | EPOLLONESHOT)) ::close(std::exchange(process_fd_, -1));
}

void DiskWatch::nudge() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(nudge_fd_, &one, sizeof one);
}

bool DiskWatch::take() {
  bool changed = std::exchange(ended_already_, false);
  uint64_t nudges = 0;
  [[maybe_unused]] const auto drained = ::read(nudge_fd_, &nudges, sizeof nudges);
  std::array<epoll_event, 3> ready{};
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
