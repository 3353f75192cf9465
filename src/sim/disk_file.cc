#include "sim/disk_file.h"

#include <algorithm>

namespace bellwether::sim {
namespace {

// As in the real runtime: a lock that is not free is tried again after a while.
constexpr Duration kShortestPause = Duration::millis(1);
constexpr Duration kLongestPause = Duration::millis(20);

}  // namespace

using runtime::task;

task<Result<std::size_t>> DiskFile::read_at(uint64_t offset, MutableBytes into) {
  co_await runtime_.sleep(disk_.draw_latency());
  co_return disk_.read(*inode_, offset, into);
}

// The effect comes first and the answer later: a process that dies in between has written.
task<Status> DiskFile::write_at(uint64_t offset, Bytes bytes) {
  Status written = writable_ ? disk_.write(*inode_, offset, bytes) : fail(Errc::kIo, "writing a file: read only");
  co_await runtime_.sleep(disk_.draw_latency());
  co_return written;
}

task<Status> DiskFile::truncate(uint64_t size) {
  Status done = writable_ ? disk_.truncate(*inode_, size) : fail(Errc::kInvalid, "truncating a file: read only");
  co_await runtime_.sleep(disk_.draw_latency());
  co_return done;
}

// Covers what was written before it began, and is done only at its end.
task<Status> DiskFile::sync() {
  const uint64_t upto = disk_.last_change();
  co_await runtime_.sleep(disk_.draw_sync_latency());
  co_return disk_.sync(*inode_, upto);
}

task<Status> DiskFile::lock(Instant deadline, runtime::Cancellation* cancel) {
  Duration pause = kShortestPause;
  while (true) {
    co_await runtime_.sleep(disk_.draw_latency());
    if (disk_.try_lock(*inode_, this)) co_return Status();
    if (runtime_.now() >= deadline) co_return fail(Errc::kTimeout, "locking a file: somebody else has the lock");
    const Instant next = runtime_.now() + runtime_.prng().between(pause / 2, pause);
    const bool go_on = co_await runtime_.sleep_until(std::min(next, deadline), cancel);
    if (!go_on) co_return fail(Errc::kCancelled, "locking a file was cancelled");
    pause = std::min(pause * 2, kLongestPause);
  }
}

task<Status> DiskFile::unlock() {
  disk_.unlock(*inode_, this);
  co_await runtime_.sleep(disk_.draw_latency());
  co_return Status();
}

task<Result<bool>> DiskFile::try_hold() {
  co_await runtime_.sleep(disk_.draw_latency());
  if (!writable_) co_return fail(Errc::kIo, "holding a file: read only");
  co_return disk_.try_hold(*inode_, this);
}

task<Result<bool>> DiskFile::is_held() {
  co_await runtime_.sleep(disk_.draw_latency());
  co_return disk_.held_by_another(*inode_, this);
}

task<Result<bool>> DiskFile::is_at(std::string path) {
  co_await runtime_.sleep(disk_.draw_latency());
  co_return disk_.is_at(path, *inode_);
}

}  // namespace bellwether::sim
