// An open file of a simulated process.
#pragma once

#include <memory>

#include "core/runtime/runtime.h"
#include "sim/disk.h"

namespace bellwether::sim {

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
