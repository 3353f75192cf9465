// Frames over a stream socket between two processes of one machine. A write never waits: the socket keeps unsent bytes,
// and the owner must limit them. One runtime, one thread; one reader.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"

namespace bellwether::node {

class AssignmentSocket {
 public:
  // Takes ownership of `fd`, a connected stream socket. Errors: `fd` is not one, or no descriptor is free.
  static Result<std::unique_ptr<AssignmentSocket>> take(runtime::Runtime& runtime, int fd);
  ~AssignmentSocket();
  AssignmentSocket(const AssignmentSocket&) = delete;
  AssignmentSocket& operator=(const AssignmentSocket&) = delete;

  // The payload of the next frame. kClosed: the other end is gone; kProtocol: an empty or too large frame; kCancelled.
  // After an error nothing can be read.
  runtime::task<Result<std::string>> read(runtime::Cancellation* cancel);
  // REQUIRES a payload within the limit of a frame, and not empty.
  void write(std::string_view payload);
  // Bytes that are still unsent.
  std::size_t waiting() const { return waiting_; }
  // Until all is sent, or the other end is gone. One at a time.
  runtime::task<void> flush();

 private:
  AssignmentSocket(runtime::Runtime& runtime, int read_fd, int write_fd);
  runtime::task<void> write_on();
  bool send_some();

  runtime::Runtime& runtime_;
  int read_fd_;
  int write_fd_;  // the same socket: one waiter for each descriptor
  std::vector<std::byte> in_;
  std::size_t in_size_ = 0;
  std::deque<std::string> out_;
  std::size_t out_from_ = 0;  // of the first of them
  std::size_t waiting_ = 0;
  bool broken_ = false;
  runtime::Event to_write_;
  runtime::Event drained_;
  runtime::task<void> writer_;
};

// The end of an assignment's permit to make load, and of its parts, in memory that its worker writes and its process
// reads. So the process knows both without its worker, and before anything else when it was stopped and goes on. See
// docs/contributing/decisions/053-load-fence.md.
class PermitPage {
 public:
  // The worker's; both ends are never. Fails when the process is out of descriptors or memory.
  static Result<PermitPage> create();
  // To read, behind a descriptor that the worker has handed on, which this closes. kInvalid: there is no such page, or
  // somebody could shorten it.
  static Result<PermitPage> open(int fd);
  PermitPage(PermitPage&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), ends_(std::exchange(other.ends_, nullptr)) {}
  PermitPage& operator=(PermitPage&&) = delete;
  ~PermitPage();

  int descriptor() const { return fd_; }
  // By the boot clock. REQUIRES the page of create().
  void set(Instant until) { ends_->until.store(until.ns(), std::memory_order_release); }
  const std::atomic<int64_t>& until() const { return ends_->until; }
  // Others run its parts from `at` of the workflow's clock on. REQUIRES the page of create().
  void hand_over(Duration at) { ends_->handed_over.store(at.ns(), std::memory_order_release); }
  const std::atomic<int64_t>& handed_over() const { return ends_->handed_over; }

 private:
  struct Ends {
    std::atomic<int64_t> until;
    std::atomic<int64_t> handed_over;
  };
  static constexpr auto kBytes = static_cast<int64_t>(sizeof(Ends));
  PermitPage(int fd, Ends* ends) : fd_(fd), ends_(ends) {}
  static Result<PermitPage> map(int fd, int protection);

  int fd_;
  Ends* ends_;
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

}  // namespace bellwether::node
