// EpollRuntime::wait_descriptor().

#include <cerrno>
#include <poll.h>
#include <sys/epoll.h>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/event.h"

namespace bellwether::runtime {
namespace {

// epoll and poll mean the same by the same bits, as far as they are used here.
static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP &&
              EPOLLRDHUP == POLLRDHUP);
constexpr uint32_t kReading = EPOLLIN | EPOLLRDHUP;
constexpr uint32_t kBroken = EPOLLHUP | EPOLLERR;

// A broken or ended descriptor is ready: the next operation on it reports the fault.
Readiness as_readiness(uint32_t wanted, uint32_t seen) {
  return {(wanted & EPOLLIN) != 0 && (seen & (kReading | kBroken)) != 0,
          (wanted & EPOLLOUT) != 0 && (seen & (EPOLLOUT | kBroken)) != 0};
}

class Watched final : public EventSource {
 public:
  Watched(EpollRuntime& runtime, int fd) : runtime_(runtime), fd_(fd) {}
  ~Watched() override {
    if (watched_) runtime_.unwatch(fd_);
  }
  Status begin(uint32_t wanted) {
    Status status = runtime_.watch_once(fd_, this, wanted | EPOLLONESHOT);
    watched_ = status.has_value();
    return status;
  }
  void on_events(uint32_t events) override {
    seen_ |= events;
    woken_.set();
  }
  uint32_t seen() const { return seen_; }
  Event& woken() { return woken_; }

 private:
  EpollRuntime& runtime_;
  int fd_;
  bool watched_ = false;
  uint32_t seen_ = 0;
  Event woken_;
};

}  // namespace

task<Result<Readiness>> EpollRuntime::wait_descriptor(int fd, bool read, bool write, Instant deadline,
                                                      Cancellation* cancel) {
  check(read || write, "something is waited for");
  const uint32_t wanted = (read ? kReading : 0) | (write ? static_cast<uint32_t>(EPOLLOUT) : 0);
  if (cancel != nullptr && cancel->cancelled()) {
    co_return fail(Errc::kCancelled, "waiting for a descriptor was cancelled");
  }
  Watched watched(*this, fd);
  BW_CO_RETURN_IF_ERROR(watched.begin(wanted));
  const auto wake = [](void* event) { static_cast<Event*>(event)->set(); };
  Timer timer(wake, &watched.woken());
  timers().arm(timer, deadline);
  {
    const CancelCallback on_cancel(cancel, wake, &watched.woken());
    co_await watched.woken().wait();
  }
  // A deadline in the past is an offer to look without waiting.
  pollfd now{fd, static_cast<short>(wanted), 0};
  const bool ready = watched.seen() != 0 || ::poll(&now, 1, 0) > 0;
  if (ready) co_return as_readiness(wanted, watched.seen() | static_cast<uint32_t>(now.revents));
  if (cancel != nullptr && cancel->cancelled()) {
    co_return fail(Errc::kCancelled, "waiting for a descriptor was cancelled");
  }
  co_return fail(Errc::kTimeout, "waiting for a descriptor: nothing came in time");
}

}  // namespace bellwether::runtime
