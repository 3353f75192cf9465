#include "sim/disk_file.h"

namespace bellwether::sim {

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

}  // namespace bellwether::sim
