#include "core/runtime/epoll/signals.h"

#include <cerrno>
#include <csignal>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/runtime/event.h"

namespace bellwether::runtime {

class Signals::Source final : public EventSource {
 public:
  void on_events(uint32_t) override { arrived.set(); }
  Event arrived;
};

Signals::Signals(EpollRuntime& runtime, int fd) : runtime_(runtime), fd_(fd), source_(std::make_unique<Source>()) {}

Signals::~Signals() {
  runtime_.unwatch(fd_);
  ::close(fd_);
}

Result<std::unique_ptr<Signals>> Signals::collect(EpollRuntime& runtime, std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return fail(Errc::kInvalid, "blocking signals failed");
  const int fd = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "collecting signals");
  std::unique_ptr<Signals> collected(new Signals(runtime, fd));
  BW_RETURN_IF_ERROR(runtime.watch(fd, collected->source_.get(), EPOLLIN | EPOLLET));
  return collected;
}

task<int> Signals::next(Cancellation* cancel) {
  CancelCallback on_cancel(
      cancel, [](void* source) { static_cast<Source*>(source)->arrived.set(); }, source_.get());
  while (true) {
    signalfd_siginfo info{};
    if (::read(fd_, &info, sizeof info) == sizeof info) co_return static_cast<int>(info.ssi_signo);
    if (cancel != nullptr && cancel->cancelled()) co_return 0;
    source_->arrived.reset();
    co_await source_->arrived.wait();
  }
}

}  // namespace bellwether::runtime
