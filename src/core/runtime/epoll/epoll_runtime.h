// The runtime of the real world: one epoll loop on the calling thread, its boot clock, and the signals of the process.
#pragma once

#include <initializer_list>
#include <memory>

#include "core/runtime/runtime.h"

struct epoll_event;

namespace bellwether::runtime {

class BlockingPool;
class Orphans;
class Resolver;

// Anything but a stream that epoll reports on.
class EventSource {
 public:
  virtual ~EventSource() = default;
  virtual void on_events(uint32_t epoll_events) = 0;
};

// The one descriptor that wakes a loop at the earliest deadline of its boot timers, even if the machine slept in
// between.
class BootClock final : public EventSource {
 public:
  // `timers` outlives it. Fails when the process is out of descriptors.
  static Result<std::unique_ptr<BootClock>> create(BootTimers& timers);
  ~BootClock() override;

  // CLOCK_BOOTTIME, read now: for code that acts without a runtime too, such as the guardian of a command.
  static Instant now();
  int descriptor() const { return fd_; }
  // Before each wait of the loop: makes sure that it ends at the next deadline. Costs nothing when that is no earlier
  // than before; the loop is then woken once for nothing.
  void prepare_wait();
  void on_events(uint32_t epoll_events) override;

 private:
  BootClock(BootTimers& timers, int fd) : timers_(timers), fd_(fd) {}
  BootTimers& timers_;
  int fd_;
  Instant set_to_ = Instant::never();
};

// A connected TCP socket.
class SocketStream final : public Stream {
 public:
  explicit SocketStream(int socket) : Stream(socket) {}
  void finish_writing() override;
  void on_events(uint32_t epoll_events);
  Endpoint peer() const override;
  int socket() const { return fd(); }
};

class EpollRuntime final : public Runtime {
 public:
  struct Options {
    uint64_t seed = 0;                   // 0: taken from the operating system
    Duration timer_slack;                // 0: the kernel's default (50 µs); smaller wakes earlier and costs CPU
    std::size_t mailbox = 1024;          // most posts waiting
    std::vector<Endpoint> name_servers;  // for names; empty: those of the system
  };
  // Fails when the process is out of descriptors.
  static Result<std::unique_ptr<EpollRuntime>> create(Options options);
  ~EpollRuntime() override;

  // Runs the loop until `main` has finished and gives its result.
  template <class T>
  T run(task<T> main) {
    while (true) {
      run_ready();
      if (main.done()) return main.take();
      wait_for_events();
    }
  }

  // Told after each turn how long the loop was busy between two waits; the time before this call belongs to no turn. To
  // a turn that begins over 500 ms late belongs its delay, because the process stood still. For the generator's
  // self-observation.
  void observe_turns(void (*observer)(void* context, Duration busy), void* context) {
    turn_observer_ = observer;
    turn_context_ = context;
    woke_ = read_clock();
  }

  Instant boot_now() override;
  WallTime wall_now() override;
  task<Result<std::unique_ptr<Stream>>> connect(Endpoint to, ConnectOptions options, Cancellation* cancel) override;
  Result<std::unique_ptr<Listener>> listen(Endpoint at, ListenOptions options) override;
  Result<std::unique_ptr<UdpSocket>> bind_udp(Endpoint at) override;
  task<Result<std::vector<IpAddress>>> resolve(std::string name, Cancellation* cancel) override;
  task<Result<std::vector<ServicePlace>>> resolve_service(std::string name, Cancellation* cancel) override;
  task<Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) override;
  task<Status> rename(std::string from, std::string to) override;
  task<Status> remove(std::string path) override;
  task<Status> sync_directory(std::string path) override;
  task<Status> make_directory(std::string path, uint32_t mode) override;
  task<Result<std::vector<std::string>>> list_directory(std::string path) override;
  task<Result<std::string>> network_file_system(std::string path) override;
  task<Result<std::unique_ptr<Child>>> spawn(SpawnOptions options) override;
  task<Result<Readiness>> wait_descriptor(int fd, bool read, bool write, Instant deadline,
                                          Cancellation* cancel) override;
  ProcessIdentity self() override;
  ProcessSight look_at_process(int64_t pid) override;
  bool post(void (*call)(void* context), void* context) override;

  // For the parts of this runtime.
  // Edge-triggered unless `epoll_events` says EPOLLONESHOT or the like; a second watch of one descriptor changes its
  // events.
  Status watch(int fd, EventSource* source, uint32_t epoll_events);
  // The same, but a second watch is an error (kExists).
  Status watch_once(int fd, EventSource* source, uint32_t epoll_events);
  Status watch_stream(SocketStream& stream);
  void unwatch(int fd);

 private:
  struct Mailbox;
  EpollRuntime(Options options, int epoll_fd, int event_fd);
  void run_ready();
  void wait_for_events();
  int wait_until(Instant next, epoll_event* events, int most);
  void run_mailbox();

  int epoll_fd_;
  Instant woke_;              // when the last wait ended
  bool coarse_wait_ = false;  // waits of nanoseconds are not there: waits end up to 1 ms late
  std::unique_ptr<Mailbox> mailbox_;
  std::unique_ptr<BootClock> boot_clock_;
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<BlockingPool> blocking_;
  std::shared_ptr<Orphans> orphans_;
  void (*turn_observer_)(void*, Duration) = nullptr;
  void* turn_context_ = nullptr;
};

// Signals of the process, for coroutines to wait for.
class Signals {
 public:
  // Blocks these signals for the calling thread and for all threads it starts from then on, and collects them here. To
  // be called before any other thread is started.
  static Result<std::unique_ptr<Signals>> collect(EpollRuntime& runtime, std::initializer_list<int> signals);
  ~Signals();

  // The number of the next signal; 0 when cancelled.
  task<int> next(Cancellation* cancel);

 private:
  class Source;
  explicit Signals(EpollRuntime& runtime, int fd);
  EpollRuntime& runtime_;
  int fd_;
  std::unique_ptr<Source> source_;
};

}  // namespace bellwether::runtime
