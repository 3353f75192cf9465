// The end of an assignment's permit to make load, in memory that its worker writes and its process reads. So the
// process knows it without its worker. See docs/contributing/decisions/053-load-fence.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::node {

class PermitPage {
 public:
  // The worker's; it says Instant::never(). Fails when the process is out of descriptors or memory.
  static Result<PermitPage> create();
  // To read, behind a descriptor that the worker has handed on, which this closes. kInvalid: there is no such page, or
  // somebody could shorten it.
  static Result<PermitPage> open(int fd);
  PermitPage(PermitPage&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), until_(std::exchange(other.until_, nullptr)) {}
  PermitPage& operator=(PermitPage&&) = delete;
  ~PermitPage();

  int descriptor() const { return fd_; }
  // By the boot clock. REQUIRES the page of create().
  void set(Instant until) { until_->store(until.ns(), std::memory_order_release); }
  const std::atomic<int64_t>& until() const { return *until_; }

 private:
  PermitPage(int fd, std::atomic<int64_t>* until) : fd_(fd), until_(until) {}
  static Result<PermitPage> map(int fd, int protection);

  int fd_;
  std::atomic<int64_t>* until_;
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

}  // namespace bellwether::node
