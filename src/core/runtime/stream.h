// A connection that carries bytes in order: TCP, TLS over another stream, or a simulated one.
//
// Reading and writing never block: try first, and wait for readiness only after kWouldBlock (edge-triggered readiness,
// so a read that filled less than its buffer needs no second one). For a plain socket neither call is virtual. One
// thread; at most one coroutine waits for reading and one for writing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/runtime/address.h"
#include "core/runtime/run_queue.h"

namespace bellwether::runtime {

struct Io {
  enum class Kind : uint8_t { kDone, kWouldBlock, kEnd, kError };
  Kind kind = Kind::kDone;
  Errc error = Errc::kOk;  // kError only
  std::size_t count = 0;   // kDone only; at least 1 unless the buffer was empty
  static Io done(std::size_t n) { return {Kind::kDone, Errc::kOk, n}; }
  static Io would_block() { return {Kind::kWouldBlock, Errc::kOk, 0}; }
  static Io end() { return {Kind::kEnd, Errc::kOk, 0}; }
  static Io failed(Errc error) { return {Kind::kError, error, 0}; }
};

class Stream {
 public:
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream();

  // Reads at least one byte, or says why not. kEnd: the peer finished in an orderly way.
  Io try_read(MutableBytes into) { return fd_ >= 0 ? socket_read(into) : do_read(into); }
  // Writes some of the bytes, at least one, or says why not.
  Io try_write(Bytes bytes) { return fd_ >= 0 ? socket_write(bytes) : do_write(bytes); }

  // co_await stream.readable(): kOk when a read may make progress, or the code given to interrupt(). Goes on at once
  // when that is known already, but after several times in a row the rest of the loop has its turn first.
  class Ready;
  Ready readable();
  Ready writable();

  // Ends all present and future waits with `why`, until clear_interrupt(). Timeouts and cancellation use it.
  void interrupt(Errc why);
  void clear_interrupt() { readiness_->interrupt_ = Errc::kOk; }
  Errc interrupted() const { return readiness_->interrupt_; }

  // True while the other side has neither closed nor reset the connection as far as is known, and no bytes wait
  // unread: only then may a kept connection be used for another request. Costs no system call as long as nothing was
  // announced.
  bool idle_and_open() { return !readiness_->hangup_ && (!readiness_->readable_ || nothing_to_read()); }
  // False: a read would find nothing, and an announcement will come when that changes.
  bool maybe_readable() const { return readiness_->readable_ || readiness_->hangup_; }

  // Ends the sending direction in an orderly way where the transport has one (TCP FIN, TLS close_notify).
  virtual void finish_writing() = 0;
  // Makes the end of this object a break of the connection (TCP RST) instead of an orderly end.
  void reset_when_closed();

  // The address of the other end; all zero when the transport does not know it.
  virtual Endpoint peer() const { return {}; }

 protected:
  // `socket`: a connected, non-blocking socket that this object owns and closes, or -1.
  explicit Stream(int socket = -1) : fd_(socket), readiness_(this) {}
  // A layer over another stream: readiness is that of the stream below.
  explicit Stream(Stream* below) : fd_(-1), readiness_(below->readiness_) {}

  virtual Io do_read(MutableBytes into);
  virtual Io do_write(Bytes bytes);
  // For a layer with additional messages: called when the stream below is readable; takes messages that are no data.
  // True when that was all.
  virtual bool nothing_to_read() { return false; }
  // For a stream without a socket: its part of reset_when_closed().
  virtual void do_reset_when_closed() {}

  int fd() const { return fd_; }
  // For the owner of the event source: reports the new readiness. hangup: no further readiness will be announced.
  void announce(bool readable, bool writable, bool hangup);
  void forget_readable() { readable_ = hangup_; }
  // For a layer that holds bytes it has already taken from the stream below: reading may go on at once.
  void keep_readable() { readiness_->readable_ = true; }
  void forget_writable() { writable_ = hangup_; }

 private:
  Io socket_read(MutableBytes into);
  Io socket_write(Bytes bytes);

  int fd_;
  bool readable_ = false;
  bool writable_ = false;
  bool hangup_ = false;
  uint8_t at_once_ = 0;  // waits in a row that were over before they began
  Errc interrupt_ = Errc::kOk;
  Stream* readiness_;  // the stream of the flags and waiters: this, or the stream below
  RunQueue::Entry* reader_ = nullptr;
  RunQueue::Entry* writer_ = nullptr;
  friend class Ready;
};

class [[nodiscard]] Stream::Ready {
 public:
  Ready(Stream& stream, bool reading) : stream_(*stream.readiness_), reading_(reading) {}
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;
  ~Ready() {
    if (slot() == &entry_) slot() = nullptr;
  }
  bool await_ready() const { return stream_.interrupt_ != Errc::kOk || (ready() && ++stream_.at_once_ < kMaxAtOnce); }
  void await_suspend(std::coroutine_handle<> waiting) {
    check(slot() == nullptr, "one waiter for each direction of a stream");
    stream_.at_once_ = 0;
    entry_.handle = waiting;
    if (ready()) {
      RunQueue::local().push_later(entry_);
    } else {
      slot() = &entry_;
    }
  }
  Errc await_resume() const { return stream_.interrupt_; }

 private:
  // A peer that sends faster than we read must not keep the loop from its timers and its other connections.
  static constexpr uint8_t kMaxAtOnce = 16;
  bool ready() const { return reading_ ? stream_.readable_ : stream_.writable_; }
  RunQueue::Entry*& slot() { return reading_ ? stream_.reader_ : stream_.writer_; }
  Stream& stream_;
  bool reading_;
  RunQueue::Entry entry_;
};

inline Stream::Ready Stream::readable() { return Ready(*this, true); }
inline Stream::Ready Stream::writable() { return Ready(*this, false); }

}  // namespace bellwether::runtime
