// A simulated disk, as pessimistic as POSIX lets it be. All readers see a write at once, and it is safe only after a
// sync: when the power goes, each change since then survives, is lost, or is torn in sectors, independently of the
// others. Names are changes too, safe once their folder is synced. Folders exist without being made. Each file has one
// lock, which an open file has or has not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"
#include "sim/timeline.h"

namespace bellwether::sim {

// The speed and the faults of a disk. A probability is that of one operation failing with kIo.
struct DiskSettings {
  Duration latency_min = Duration::micros(20);
  Duration latency_max = Duration::micros(500);
  Duration sync_min = Duration::micros(200);
  Duration sync_max = Duration::millis(8);
  double open_error = 0;
  double read_error = 0;
  double write_error = 0;          // a part may have been written
  double sync_error = 0;           // some of the data is never written, not even by a later sync that succeeds
  uint64_t capacity = UINT64_MAX;  // bytes of all files together
  std::string network_kind;        // the machine's name for its file system ("nfs"); empty: a local one
};

// A file without a name; lives as long as a name or an open file means it.
class Inode {
 public:
  uint64_t size() const { return seen_.size(); }

 private:
  friend class Disk;
  struct Change {
    uint64_t number;
    bool truncate;
    uint64_t offset;  // or the new size
    std::vector<std::byte> data;
  };
  static void apply(const Change& change, std::vector<std::byte>& to);

  std::vector<std::byte> seen_;  // as reads see it
  std::vector<std::byte> safe_;  // surely there after a loss of power
  const void* locked_by_ = nullptr;
  const void* held_by_ = nullptr;
  std::vector<Change> unsafe_;  // the changes from safe_ to seen_, without those dropped by a failed sync
};

class Disk {
 public:
  explicit Disk(Timeline& timeline) : timeline_(timeline) {}
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  DiskSettings& settings() { return settings_; }
  Duration draw_latency() { return timeline_.prng().between(settings_.latency_min, settings_.latency_max); }
  Duration draw_sync_latency() { return timeline_.prng().between(settings_.sync_min, settings_.sync_max); }

  // The operations at the moment at which they take effect; the runtime adds the waiting.
  Result<std::shared_ptr<Inode>> open(std::string_view path, runtime::OpenOptions options);
  Result<std::size_t> read(const Inode& inode, uint64_t offset, MutableBytes into);
  Status write(Inode& inode, uint64_t offset, Bytes bytes);
  Status truncate(Inode& inode, uint64_t size);
  Status rename(std::string_view from, std::string_view to);
  Status remove(std::string_view path);
  // The names directly in the folder; kNotFound when it is empty and was never made.
  Result<std::vector<std::string>> list_directory(std::string_view path);
  Status make_directory(std::string_view path);
  // Owners are open files. False when another one has the lock, or the hold (File::try_hold).
  bool try_lock(Inode& inode, const void* owner);
  bool try_hold(Inode& inode, const void* owner);
  bool held_by_another(const Inode& inode, const void* owner) const;
  // Gives both back.
  void close(Inode& inode, const void* owner);
  void unlock(Inode& inode, const void* owner) {
    if (inode.locked_by_ == owner) inode.locked_by_ = nullptr;
  }
  bool is_at(std::string_view path, const Inode& inode) const;
  // The number of the latest change of any kind. A sync covers the changes that exist when it begins.
  uint64_t last_change() const { return changes_; }
  Status sync(Inode& inode, uint64_t upto);
  Status sync_directory(std::string_view path, uint64_t upto);

  // Draws the surviving changes among those not synced; the result is all safe.
  void lose_power();

  // For checkers: the file as a read would see it now; nothing when it does not exist.
  std::string text_of(std::string_view path) const;
  bool exists(std::string_view path) const { return names_.find(path) != names_.end(); }

 private:
  using Names = std::map<std::string, std::shared_ptr<Inode>, std::less<>>;
  struct NameChange {
    uint64_t number;
    std::string path;
    std::shared_ptr<Inode> inode;  // none: the name is gone
    std::string old_path;          // of a rename
  };
  static void apply(const NameChange& change, Names& to);
  void change_name(std::string_view path, std::shared_ptr<Inode> inode, std::string_view old_path);
  bool fails(double probability) { return timeline_.prng().chance(probability); }
  uint64_t used() const;
  void settle(Inode& inode);
  Inode::Change tear(const Inode& inode, const Inode::Change& change);

  Timeline& timeline_;
  DiskSettings settings_;
  uint64_t changes_ = 0;
  Names names_;
  Names safe_names_;
  std::set<std::string, std::less<>> folders_;  // the explicitly made ones
  std::vector<NameChange> unsafe_names_;
};

// An open file of a simulated process.
class DiskFile final : public runtime::File {
 public:
  DiskFile(runtime::Runtime& runtime, Disk& disk, std::shared_ptr<Inode> inode, bool writable)
      : runtime_(runtime), disk_(disk), inode_(std::move(inode)), writable_(writable) {}
  ~DiskFile() override { disk_.close(*inode_, this); }

  runtime::task<Result<std::size_t>> read_at(uint64_t offset, MutableBytes into) override;
  runtime::task<Status> write_at(uint64_t offset, Bytes bytes) override;
  runtime::task<Status> truncate(uint64_t size) override;
  runtime::task<Status> sync() override;
  Result<uint64_t> size() override { return inode_->size(); }
  runtime::task<Status> lock(Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Status> unlock() override;
  runtime::task<Result<bool>> try_hold() override;
  runtime::task<Result<bool>> is_held() override;
  runtime::task<Result<bool>> is_at(std::string path) override;
  int descriptor() const override { return -1; }

 private:
  runtime::Runtime& runtime_;
  Disk& disk_;
  std::shared_ptr<Inode> inode_;
  bool writable_;
};

}  // namespace bellwether::sim
