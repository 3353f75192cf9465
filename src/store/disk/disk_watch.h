// Notices that a file was changed or put in place by another process, and that a process has ended: for those who wait
// for a key on this host. One descriptor that becomes readable; nothing is lost between two waits. Only hints: whoever
// waits looks at the key as well from time to time, since a network file system, or a machine out of watches, tells
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bellwether::store {

class DiskWatch {
 public:
  // Watches the file `name` in `folder`, which must exist. Nothing when the system cannot.
  static std::optional<DiskWatch> of(const std::string& folder, const std::string& name);
  DiskWatch(DiskWatch&& other) noexcept;
  DiskWatch& operator=(DiskWatch&&) = delete;
  ~DiskWatch();

  // Watches this process too, in place of the one before; 0: none. One that has ended already counts as ended since the
  // last call of take().
  void watch_process(int64_t pid);
  // Makes the descriptor readable once, without anything to take(): whoever waits for it looks around.
  void nudge();
  // Readable when there is something to take().
  int descriptor() const { return epoll_fd_; }
  // True when the file has changed or the process has ended since the last call. Does not wait.
  bool take();

 private:
  DiskWatch(int epoll_fd, int notify_fd, int nudge_fd, std::string name)
      : epoll_fd_(epoll_fd), notify_fd_(notify_fd), nudge_fd_(nudge_fd), name_(std::move(name)) {}
  int epoll_fd_;
  int notify_fd_;
  int nudge_fd_;
  int process_fd_ = -1;
  bool ended_already_ = false;
  int64_t process_ = 0;
  std::string name_;
};

}  // namespace bellwether::store
