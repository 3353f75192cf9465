// The two times by which guarded work must end, in memory that the leader's process writes and its guardian reads: so
// the guardian knows them although the leader is stopped, hangs on a disk, or is gone. Times are of the boot clock.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::lead {

struct Deadlines {
  std::atomic<int64_t> term_ends_ns;  // from then on the work is asked to stop
  std::atomic<int64_t> kill_at_ns;    // from then on it is killed, whatever it says
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

class DeadlinePage {
 public:
  static Result<DeadlinePage> create();
  // The page behind a descriptor that another process has handed on.
  static Result<DeadlinePage> map(int fd);
  DeadlinePage(DeadlinePage&& other) noexcept;
  DeadlinePage& operator=(DeadlinePage&&) = delete;
  ~DeadlinePage();

  int descriptor() const { return fd_; }
  void set(Instant term_ends, Instant kill_at) {
    // The kill time first when both move on, so that no reader ever sees the new end with the old kill time before it.
    deadlines_->kill_at_ns.store(kill_at.ns());
    deadlines_->term_ends_ns.store(term_ends.ns());
  }
  Instant term_ends() const { return Instant::from_ns(deadlines_->term_ends_ns.load()); }
  Instant kill_at() const { return Instant::from_ns(deadlines_->kill_at_ns.load()); }

 private:
  DeadlinePage(int fd, Deadlines* deadlines) : fd_(fd), deadlines_(deadlines) {}
  int fd_;
  Deadlines* deadlines_;
};

}  // namespace bellwether::lead
