// The interface between the product and the world: clocks, timers, network, files, names, randomness. All acting code
// gets a Runtime& in its constructor and reaches the world only through it. EpollRuntime (epoll_runtime.h) is the real
// world. The simulator's runtime is a seeded one in virtual time: whole clusters run in one process, and the same seed
// gives the same run.
//
// Operations on the path of every request are not virtual, here and in Stream: the cached clock, the timers, the run
// queue, bytes in and out of a socket. Rare operations are virtual. One runtime belongs to one thread; other threads
// may call only post().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/prng.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/address.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/processes.h"
#include "core/runtime/stream.h"
#include "core/runtime/task.h"
#include "core/runtime/timers.h"

namespace bellwether::runtime {

// A file, on the real disk or on the simulated one. It belongs to one thread. Its destruction closes it and releases
// its locks.
//
// A write is safe against a crash of the machine only once sync() has succeeded. After a failed sync() the writes since
// the last one are in an unknown state, and the file must not be trusted. Operations take effect in the order of their
// calls, except lock(), which waits.
class File {
 public:
  virtual ~File() = default;
  // Reads up to into.size() bytes at `offset`; fewer only at the end of the file.
  virtual task<Result<std::size_t>> read_at(uint64_t offset, MutableBytes into) = 0;
  // Writes all bytes or fails; after a failure some of them may have been written.
  virtual task<Status> write_at(uint64_t offset, Bytes bytes) = 0;
  virtual task<Status> truncate(uint64_t size) = 0;
  virtual task<Status> sync() = 0;
  virtual Result<uint64_t> size() = 0;

  // Takes the file's one exclusive lock, which is advisory (flock(2)). It belongs to this open file: another open file
  // of the same process waits for it like any other process. Tries at least once, also after the deadline (monotonic
  // clock). Errors: kTimeout; kCancelled. When the task is destroyed before it is done, the state of the lock is
  // unknown: destroy the file too. Locking succeeds when this file has the lock already.
  virtual task<Status> lock(Instant deadline, Cancellation* cancel) = 0;
  // Gives the lock back, after earlier operations. Without a lock nothing happens.
  virtual task<Status> unlock() = 0;
  // Takes a second lock, independent of the first, without waiting; false: another open file has it. REQUIRES a file
  // opened to write. is_held() does not disturb it (an open file description lock, fcntl(2)). Released, and kept by a
  // child, like the first.
  virtual task<Result<bool>> try_hold() = 0;
  // Whether another open file has the lock of try_hold().
  virtual task<Result<bool>> is_held() = 0;
  // Whether `path` still names this very file: false once it was removed or replaced by another.
  virtual task<Result<bool>> is_at(std::string path) = 0;
  // The descriptor, for handing it to a child (SpawnOptions::keep_open); -1 if the file has none. A child that has it
  // keeps the locks until it ends too, unless this file was destroyed or unlocked before.
  virtual int descriptor() const = 0;
};

struct OpenOptions {
  bool create = false;
  bool exclusive = false;  // with create: kExists when it is there
  bool truncate = false;
  bool write = false;
  bool no_follow = false;  // only a regular file with this very name: no symbolic link in its last part, no device
  uint32_t mode = 0644;    // of a file that is created, before the umask
};

// Accepts connections. Closed when destroyed; connections waiting then are reset.
class Listener {
 public:
  virtual ~Listener() = default;
  // The next connection, or kCancelled, or kExhausted (out of descriptors; trying again later may work).
  virtual task<Result<std::unique_ptr<Stream>>> accept(Cancellation* cancel) = 0;
  // The address really bound, with the port chosen for port 0.
  virtual Endpoint local() const = 0;
};

// Datagrams. Sending never waits: a full buffer loses the datagram, as the network may.
class UdpSocket {
 public:
  virtual ~UdpSocket() = default;
  struct Datagram {
    Endpoint from;
    std::size_t size = 0;  // bytes in the caller's buffer; a longer datagram is cut
  };
  virtual Status send(Endpoint to, Bytes bytes) = 0;
  virtual task<Result<Datagram>> receive(MutableBytes into, Cancellation* cancel) = 0;
  virtual Endpoint local() const = 0;
};

// The possible operations on a descriptor without waiting; an end or an error counts as readable and writable.
struct Readiness {
  bool readable = false;
  bool writable = false;
};

struct ConnectOptions {
  Duration timeout = Duration::seconds(10);
  bool no_delay = true;  // TCP_NODELAY
  // The most written bytes that may wait in the kernel to be sent (TCP_NOTSENT_LOWAT): a writer with urgent data waits
  // behind no more than these. 0: the kernel's limit.
  uint32_t unsent = 0;
  std::optional<IpAddress> from;  // an address of this machine, of the family of the other end
};

struct ListenOptions {
  int backlog = 4096;
  bool share_port = false;  // SO_REUSEPORT: several threads listen, the kernel spreads connections
  uint32_t unsent = 0;      // of the accepted connections, see ConnectOptions
};

class Runtime {
 public:
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  virtual ~Runtime() = default;

  // The monotonic clock as of the start of this turn of the loop, or of the last read_clock(). Costs one read of
  // memory.
  Instant now() const { return now_; }
  // Reads the monotonic clock anew and moves now() to it: for times that are measured, such as that of sending.
  Instant read_clock() {
    if (real_clock_) now_ = read_monotonic();
    return now_;
  }
  // The clock that goes on while the machine sleeps: for leases and all agreements with other machines. Read anew at
  // each call.
  virtual Instant boot_now() = 0;
  // May jump: for people and records, never for deadlines.
  virtual WallTime wall_now() = 0;

  TimerWheel& timers() { return timers_; }
  Prng& prng() { return prng_; }

  virtual task<Result<std::unique_ptr<Stream>>> connect(Endpoint to, ConnectOptions options, Cancellation* cancel) = 0;
  virtual Result<std::unique_ptr<Listener>> listen(Endpoint at, ListenOptions options) = 0;
  virtual Result<std::unique_ptr<UdpSocket>> bind_udp(Endpoint at) = 0;
  // The addresses of a name, or of an address literal. Answers are cached for as long as the zone allows, within
  // limits.
  virtual task<Result<std::vector<IpAddress>>> resolve(std::string name, Cancellation* cancel) = 0;
  // The places of a service such as "_bellwether._tcp.example.com", best first, never empty. The name is used
  // unchanged, without search domains. Cached as addresses are. Errors: kDns, also when the domain does not offer it;
  // kCancelled.
  virtual task<Result<std::vector<ServicePlace>>> resolve_service(std::string name, Cancellation* cancel) = 0;

  virtual task<Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) = 0;
  // Replaces `to` by `from` in one step; durable once sync_directory() of the folder has succeeded.
  virtual task<Status> rename(std::string from, std::string to) = 0;
  virtual task<Status> remove(std::string path) = 0;
  virtual task<Status> sync_directory(std::string path) = 0;
  // Makes a folder and its missing parents; each new name is durable. An existing folder stays as it is. `mode` is
  // before the umask.
  virtual task<Status> make_directory(std::string path, uint32_t mode) = 0;
  // The names in a folder, sorted, without "." and ".."; kTooLarge when there are more than 100,000.
  virtual task<Result<std::vector<std::string>>> list_directory(std::string path) = 0;
  // The kind of network file system that the existing `path` is on ("nfs", "cifs", "fuse.sshfs"); empty for a local
  // one.
  virtual task<Result<std::string>> network_file_system(std::string path) = 0;

  // Starts a program. kNotFound when no program has that name, kRefused when it may not be executed.
  virtual task<Result<std::unique_ptr<Child>>> spawn(SpawnOptions options) = 0;

  // Waits until a descriptor of some library can be read or written: for code with a private socket (database clients).
  // kTimeout at `deadline`, after which it looks once more, so that a deadline in the past only looks; kExists when
  // another coroutine waits for this descriptor already; kUnsupported in the simulator, which has none. The
  // descriptor must stay open meanwhile.
  virtual task<Result<Readiness>> wait_descriptor(int fd, bool read, bool write, Instant deadline,
                                                  Cancellation* cancel) = 0;

  // This process, and the visible state of another one on this machine. Neither waits.
  virtual ProcessIdentity self() = 0;
  virtual ProcessSight look_at_process(int64_t pid) = 0;

  // Runs `call(context)` on this runtime's loop, in one of its next turns. Any thread may call it. False: the mailbox
  // is full, and the call will not run.
  virtual bool post(void (*call)(void* context), void* context) = 0;

  // co_await runtime.sleep_until(t, cancel): true when the monotonic clock came to `t`, false when cancelled first.
  class Sleep;
  Sleep sleep_until(Instant deadline, Cancellation* cancel = nullptr);
  Sleep sleep(Duration span, Cancellation* cancel = nullptr);
  // True when the boot clock came to `deadline`, false when cancelled first. A machine that slept past it wakes the
  // sleeper when it wakes itself, which sleep_until() does not.
  task<bool> sleep_until_boot(Instant deadline, Cancellation* cancel = nullptr);
  // co_await runtime.yield(): lets everything else run first, timers and network too.
  class Yield;
  Yield yield();

 protected:
  Runtime(uint64_t seed, Instant start, bool real_clock)
      : now_(start), timers_(start), prng_(seed), real_clock_(real_clock) {}
  static Instant read_monotonic();
  // Each runtime must call advance() on it at next_deadline().
  BootTimers& boot_timers() { return boot_timers_; }

  Instant now_;

 private:
  TimerWheel timers_;
  BootTimers boot_timers_;
  Prng prng_;
  bool real_clock_;
};

class [[nodiscard]] Runtime::Sleep {
 public:
  Sleep(Runtime& runtime, Instant deadline, Cancellation* cancel)
      : runtime_(runtime),
        deadline_(deadline),
        timer_(&Sleep::wake, this),
        on_cancel_(cancel, &Sleep::cancelled, this) {}
  Sleep(const Sleep&) = delete;
  Sleep& operator=(const Sleep&) = delete;
  bool await_ready() const { return cancelled_ || deadline_ <= runtime_.now(); }
  void await_suspend(std::coroutine_handle<> waiting) {
    entry_.handle = waiting;
    runtime_.timers().arm(timer_, deadline_);
  }
  bool await_resume() const { return !cancelled_; }

 private:
  static void wake(void* self) {
    auto& entry = static_cast<Sleep*>(self)->entry_;
    if (entry.handle && !entry.queued()) RunQueue::local().push(entry);
  }
  static void cancelled(void* self) {
    auto* sleep = static_cast<Sleep*>(self);
    sleep->cancelled_ = true;
    sleep->timer_.disarm();
    wake(self);
  }
  Runtime& runtime_;
  Instant deadline_;
  bool cancelled_ = false;
  RunQueue::Entry entry_;
  Timer timer_;
  CancelCallback on_cancel_;  // last: it may call cancelled() at once
};

inline Runtime::Sleep Runtime::sleep_until(Instant deadline, Cancellation* cancel) {
  return Sleep(*this, deadline, cancel);
}
inline Runtime::Sleep Runtime::sleep(Duration span, Cancellation* cancel) { return Sleep(*this, now_ + span, cancel); }

class [[nodiscard]] Runtime::Yield {
 public:
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    entry_.handle = waiting;
    RunQueue::local().push_later(entry_);
  }
  void await_resume() const {}

 private:
  RunQueue::Entry entry_;
};

inline Runtime::Yield Runtime::yield() { return Yield(); }

// Common operations on streams.

// Interrupts a stream at a deadline (kTimeout) or on cancellation (kCancelled), during its life; then the stream can be
// used again.
class Within {
 public:
  Within(Runtime& runtime, Stream& stream, Instant deadline, Cancellation* cancel)
      : stream_(stream),
        timer_([](void* s) { static_cast<Stream*>(s)->interrupt(Errc::kTimeout); }, &stream),
        on_cancel_(
            cancel, [](void* s) { static_cast<Stream*>(s)->interrupt(Errc::kCancelled); }, &stream) {
    runtime.timers().arm(timer_, deadline);
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within() { stream_.clear_interrupt(); }

 private:
  Stream& stream_;
  Timer timer_;
  CancelCallback on_cancel_;
};

// The next connection; nullptr when cancelled. While the process has no descriptors left, it waits in the kernel until
// other connections have ended, without any notice.
task<std::unique_ptr<Stream>> accept_next(Runtime& runtime, Listener& listener, Cancellation* cancel);

// Writes all of it; the bytes must stay valid until then. kOk, or why not.
task<Errc> write_all(Stream& stream, Bytes bytes);

}  // namespace bellwether::runtime
