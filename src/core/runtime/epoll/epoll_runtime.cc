#include "core/runtime/epoll/epoll_runtime.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <mutex>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/runtime/epoll/blocking_pool.h"
#include "core/runtime/epoll/files.h"
#include "core/runtime/epoll/machine_texts.h"
#include "core/runtime/epoll/resolver.h"
#include "core/runtime/epoll/sockets.h"
#include "core/runtime/epoll/spawn.h"
#include "core/runtime/event.h"
#include "core/runtime/processes.h"
#include "core/runtime/timers.h"

namespace bellwether::runtime {
namespace {

// The lowest bit of epoll's user data distinguishes a stream (0), which needs no virtual call, from another source (1).
constexpr uint64_t kSourceTag = 1;
constexpr int kEventsPerWait = 256;
// Bound on the coroutines resumed between two looks at the network, so that a busy group cannot starve the rest.
constexpr std::size_t kResumesPerTurn = 4096;
constexpr Duration kStandstill = Duration::millis(500);

uint64_t seed_from_system() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = static_cast<uint64_t>(::time(nullptr));
  return seed;
}

}  // namespace

Endpoint SocketStream::peer() const { return peer_endpoint(fd()); }

void SocketStream::finish_writing() { ::shutdown(fd(), SHUT_WR); }

void SocketStream::on_events(uint32_t epoll_events) {
  announce((epoll_events & EPOLLIN) != 0, (epoll_events & EPOLLOUT) != 0,
           (epoll_events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
}

// Calls from other threads: a bounded list and a descriptor that wakes the loop.
struct EpollRuntime::Mailbox final : EventSource {
  using Call = std::pair<void (*)(void*), void*>;
  // Allocates all its memory here: load threads post while they measure.
  Mailbox(int fd, std::size_t most) : event_fd(fd), capacity(most) {
    calls.reserve(most);
    running.reserve(most);
  }
  ~Mailbox() override { ::close(event_fd); }

  void on_events(uint32_t) override {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(event_fd, &count, sizeof count);
    pending = true;
  }
  bool post(Call call) {
    {
      const std::lock_guard lock(mutex);
      if (calls.size() >= capacity) return false;
      calls.push_back(call);
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(event_fd, &one, sizeof one);
    return true;
  }
  void take(std::vector<Call>& into) {
    const std::lock_guard lock(mutex);
    into.swap(calls);
  }

  int event_fd;
  std::size_t capacity;
  bool pending = false;
  std::mutex mutex;
  std::vector<Call> calls;
  std::vector<Call> running;
};

Result<std::unique_ptr<EpollRuntime>> EpollRuntime::create(Options options) {
  const int epoll_fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) return fail_errno(errno, "creating the event loop");
  const int event_fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (event_fd < 0) {
    const int error = errno;
    ::close(epoll_fd);
    return fail_errno(error, "creating the event loop's mailbox");
  }
  if (options.timer_slack > Duration::zero()) {
    ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(options.timer_slack.ns()));
  }
  if (options.seed == 0) options.seed = seed_from_system();
  std::unique_ptr<EpollRuntime> runtime(new EpollRuntime(options, epoll_fd, event_fd));
  BW_RETURN_IF_ERROR(runtime->watch(event_fd, runtime->mailbox_.get(), EPOLLIN | EPOLLET));
  BW_TRY(runtime->boot_clock_, BootClock::create(runtime->boot_timers()));
  const int timer_fd = runtime->boot_clock_->descriptor();
  BW_RETURN_IF_ERROR(runtime->watch(timer_fd, runtime->boot_clock_.get(), EPOLLIN | EPOLLET));
  return runtime;
}

EpollRuntime::EpollRuntime(Options options, int epoll_fd, int event_fd)
    : Runtime(options.seed, read_monotonic(), /*real_clock=*/true),
      epoll_fd_(epoll_fd),
      woke_(now_),
      mailbox_(std::make_unique<Mailbox>(event_fd, options.mailbox)),
      resolver_(std::make_unique<Resolver>(*this, std::move(options.name_servers))),
      blocking_(std::make_unique<BlockingPool>(*this)),
      orphans_(std::make_shared<Orphans>()) {}

EpollRuntime::~EpollRuntime() {
  blocking_.reset();
  resolver_.reset();
  ::close(epoll_fd_);
}

void EpollRuntime::run_ready() {
  if (mailbox_->pending) run_mailbox();
  timers().advance(now_);
  RunQueue::local().drain(kResumesPerTurn);
}

void EpollRuntime::run_mailbox() {
  mailbox_->pending = false;
  mailbox_->take(mailbox_->running);
  for (const auto& [call, context] : mailbox_->running) call(context);
  mailbox_->running.clear();
}

void EpollRuntime::wait_for_events() {
  now_ = read_monotonic();
  if (turn_observer_ != nullptr) turn_observer_(turn_context_, now_ - woke_);

  const Instant next = RunQueue::local().empty() ? timers().next_deadline() : now_;
  boot_clock_->prepare_wait();
  epoll_event events[kEventsPerWait];
  const int count = wait_until(next, events, kEventsPerWait);
  const Instant due = std::max(next, now_);
  now_ = read_monotonic();
  // A wait that ends so late ended because the process or the machine stood still: the turn was due before.
  woke_ = due < now_ && now_ - due > kStandstill ? due : now_;
  check(count >= 0 || errno == EINTR, "waiting for events cannot fail otherwise");
  for (int i = 0; i < count; ++i) {
    const uint64_t data = events[i].data.u64;
    if ((data & kSourceTag) == 0) [[likely]] {
      reinterpret_cast<SocketStream*>(data)->on_events(events[i].events);
    } else {
      reinterpret_cast<EventSource*>(data & ~kSourceTag)->on_events(events[i].events);
    }
  }
}

int EpollRuntime::wait_until(Instant next, epoll_event* events, int most) {
  const int64_t ns = next > now_ ? (next - now_).ns() : 0;
  if (!coarse_wait_) {
    const timespec timeout{ns / 1'000'000'000, ns % 1'000'000'000};
    // Direct, as the calls in stream.cc. nullptr: as long as it takes.
    const timespec* const limit = next == Instant::never() ? nullptr : &timeout;
    const auto count = static_cast<int>(::syscall(SYS_epoll_pwait2, epoll_fd_, events, most, limit, nullptr, 0));
    if (count >= 0 || errno != ENOSYS) return count;
    coarse_wait_ = true;  // a kernel before 5.11, or an imitation
  }
  const int64_t ms = (ns + 999'999) / 1'000'000;
  return ::epoll_wait(epoll_fd_, events, most,
                      next == Instant::never() ? -1 : static_cast<int>(std::min<int64_t>(ms, 1 << 30)));
}

Status EpollRuntime::watch_once(int fd, EventSource* source, uint32_t epoll_events) {
  epoll_event event{};
  event.events = epoll_events;
  event.data.u64 = reinterpret_cast<uint64_t>(source) | kSourceTag;
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return fail_errno(errno, "watching a descriptor");
}

Status EpollRuntime::watch(int fd, EventSource* source, uint32_t epoll_events) {
  Status watched = watch_once(fd, source, epoll_events);
  if (watched || watched.error().code != Errc::kExists) return watched;
  unwatch(fd);
  return watch_once(fd, source, epoll_events);
}

Status EpollRuntime::watch_stream(SocketStream& stream) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = reinterpret_cast<uint64_t>(&stream);
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, stream.socket(), &event) == 0) return {};
  return fail_errno(errno, "watching a connection");
}

void EpollRuntime::unwatch(int fd) { ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr); }

Instant EpollRuntime::boot_now() { return BootClock::now(); }

WallTime EpollRuntime::wall_now() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return {t.tv_sec * 1'000'000'000 + t.tv_nsec};
}

task<Result<std::unique_ptr<Stream>>> EpollRuntime::connect(Endpoint to, ConnectOptions options, Cancellation* cancel) {
  return connect_tcp(*this, to, options, cancel);
}

Result<std::unique_ptr<Listener>> EpollRuntime::listen(Endpoint at, ListenOptions options) {
  return listen_tcp(*this, at, options);
}

Result<std::unique_ptr<UdpSocket>> EpollRuntime::bind_udp(Endpoint at) { return runtime::bind_udp(*this, at); }

task<Result<std::vector<IpAddress>>> EpollRuntime::resolve(std::string name, Cancellation* cancel) {
  return resolver_->resolve(std::move(name), cancel);
}

task<Result<std::vector<ServicePlace>>> EpollRuntime::resolve_service(std::string name, Cancellation* cancel) {
  return resolver_->resolve_service(std::move(name), cancel);
}

task<Result<std::unique_ptr<File>>> EpollRuntime::open(std::string path, OpenOptions options) {
  return open_file(*this, *blocking_, std::move(path), options);
}
task<Status> EpollRuntime::rename(std::string from, std::string to) {
  return rename_file(*blocking_, std::move(from), std::move(to));
}
task<Status> EpollRuntime::remove(std::string path) { return remove_file(*blocking_, std::move(path)); }
task<Status> EpollRuntime::sync_directory(std::string path) {
  return runtime::sync_directory(*blocking_, std::move(path));
}
task<Status> EpollRuntime::make_directory(std::string path, uint32_t mode) {
  return runtime::make_directory(*blocking_, std::move(path), mode);
}
task<Result<std::vector<std::string>>> EpollRuntime::list_directory(std::string path) {
  return runtime::list_directory(*blocking_, std::move(path));
}
task<Result<std::string>> EpollRuntime::network_file_system(std::string path) {
  return runtime::network_file_system(*blocking_, std::move(path));
}

task<Result<std::unique_ptr<Child>>> EpollRuntime::spawn(SpawnOptions options) {
  return spawn_child(*this, *blocking_, orphans_, std::move(options));
}

ProcessIdentity EpollRuntime::self() { return identify_self(); }

ProcessSight EpollRuntime::look_at_process(int64_t pid) { return runtime::look_at_process(pid); }

bool EpollRuntime::post(void (*call)(void* context), void* context) { return mailbox_->post({call, context}); }

// EpollRuntime::wait_descriptor().

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

// --- signals ---------------------------------------------------------------------------------------------------------

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

Result<std::unique_ptr<BootClock>> BootClock::create(BootTimers& timers) {
  const int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "creating the event loop's timer");
  return std::unique_ptr<BootClock>(new BootClock(timers, fd));
}

BootClock::~BootClock() { ::close(fd_); }

Instant BootClock::now() {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return Instant::from_ns(t.tv_sec * 1'000'000'000 + t.tv_nsec);
}

void BootClock::prepare_wait() {
  const Instant next = timers_.next_deadline();
  if (next >= set_to_) return;
  // A time of zero would switch the timer off, and the clock began at zero.
  const int64_t ns = next.ns() > 0 ? next.ns() : 1;
  itimerspec when{};
  when.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
  check(::timerfd_settime(fd_, TFD_TIMER_ABSTIME, &when, nullptr) == 0, "a timer can be set to any time");
  set_to_ = next;
}

void BootClock::on_events(uint32_t) {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(fd_, &count, sizeof count);
  set_to_ = Instant::never();
  timers_.advance(now());
}

}  // namespace bellwether::runtime
