// Files as the runtime's users see them, on the real disk and on the simulated one. A file belongs to one thread; it
// is closed, and its lock given back, when it is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "runtime/cancellation.h"
#include "runtime/task.h"

namespace bellwether::runtime {

// What was written is safe against a crash of the machine only once sync() has succeeded; after a failed sync() nothing
// is known of what was written since the last one, and the file must not be trusted. Operations take effect in the
// order in which they were asked for, but for lock(), which waits.
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

  // Takes the file's one exclusive lock, which only those respect who ask for it too (flock(2)). It belongs to this
  // open file: another open file of the same process waits for it like anybody else. The first attempt is made whatever
  // the deadline, on the monotonic clock; then kTimeout, or kCancelled. When the task is destroyed before it is done,
  // nobody knows whether the lock was taken: destroy the file too. Locking what is locked by this file already
  // succeeds.
  virtual task<Status> lock(Instant deadline, Cancellation* cancel) = 0;
  // Gives the lock back, after what was asked for before. Without a lock nothing happens.
  virtual task<Status> unlock() = 0;
  // A second lock, independent of the first, that nobody waits for, and that others see without touching it: who only
  // asks is never in the way of who takes it (an open file description lock, fcntl(2)). Needs a file that was opened to
  // write. It is given back, and stays with a child, as the first one. False: another open file has it.
  virtual task<Result<bool>> try_hold() = 0;
  // Whether another open file has it.
  virtual task<Result<bool>> is_held() = 0;
  // Whether `path` still names this very file: false once it was removed or replaced by another.
  virtual task<Result<bool>> is_at(std::string path) = 0;
  // The descriptor, for handing it to a child (SpawnOptions::keep_open); -1 where there is none. A child that has it
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

}  // namespace bellwether::runtime
