#include "runtime/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bellwether::runtime {
namespace {

// Shared by the file and the operations on their way, so that neither a closed file nor a destroyed coroutine pulls the
// descriptor from under a call.
struct Descriptor {
  explicit Descriptor(int number, std::string name) : fd(number), path(std::move(name)) {}
  ~Descriptor() { ::close(fd); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd;
  std::string path;
};

Result<std::vector<std::byte>> read_some(const Descriptor& file, uint64_t offset, std::size_t size) {
  std::vector<std::byte> data(size);
  std::size_t have = 0;
  while (have < size) {
    const ssize_t n = ::pread(file.fd, data.data() + have, size - have, static_cast<off_t>(offset + have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "reading '" + file.path + "'");
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  data.resize(have);
  return data;
}

Status write_all(const Descriptor& file, uint64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file.fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "writing '" + file.path + "'");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

class OsFile final : public File {
 public:
  OsFile(BlockingPool& pool, std::shared_ptr<Descriptor> file) : pool_(pool), file_(std::move(file)) {}

  task<Result<std::size_t>> read_at(uint64_t offset, MutableBytes into) override {
    auto operation = [file = file_, offset, size = into.size()] { return read_some(*file, offset, size); };
    auto data = co_await pool_.run(std::move(operation));
    if (!data) co_return tl::unexpected(data.error());
    std::memcpy(into.data(), data->data(), data->size());
    co_return data->size();
  }

  task<Status> write_at(uint64_t offset, Bytes bytes) override {
    auto operation = [file = file_, offset, data = std::vector<std::byte>(bytes.begin(), bytes.end())] {
      return write_all(*file, offset, data);
    };
    Status written = co_await pool_.run(std::move(operation));
    co_return written;
  }

  task<Status> truncate(uint64_t size) override {
    auto operation = [file = file_, size]() -> Status {
      if (::ftruncate(file->fd, static_cast<off_t>(size)) == 0) return {};
      return fail_errno(errno, "truncating '" + file->path + "'");
    };
    Status done = co_await pool_.run(std::move(operation));
    co_return done;
  }

  task<Status> sync() override {
    auto operation = [file = file_]() -> Status {
      if (::fsync(file->fd) == 0) return {};
      return fail_errno(errno, "syncing '" + file->path + "'");
    };
    Status done = co_await pool_.run(std::move(operation));
    co_return done;
  }

  Result<uint64_t> size() override {
    struct stat status {};
    if (::fstat(file_->fd, &status) != 0) return fail_errno(errno, "looking at '" + file_->path + "'");
    return static_cast<uint64_t>(status.st_size);
  }

 private:
  BlockingPool& pool_;
  std::shared_ptr<Descriptor> file_;
};

}  // namespace

task<Result<std::unique_ptr<File>>> open_file(BlockingPool& pool, std::string path, OpenOptions options) {
  auto operation = [path, options]() -> Result<std::shared_ptr<Descriptor>> {
    int flags = O_CLOEXEC | (options.write ? O_RDWR : O_RDONLY);
    if (options.create) flags |= O_CREAT;
    if (options.exclusive) flags |= O_EXCL;
    if (options.truncate) flags |= O_TRUNC;
    const int fd = ::open(path.c_str(), flags, 0644);
    if (fd < 0) return fail_errno(errno, "opening '" + path + "'");
    return std::make_shared<Descriptor>(fd, path);
  };
  auto opened = co_await pool.run(std::move(operation));
  if (!opened) co_return tl::unexpected(opened.error());
  co_return std::unique_ptr<File>(std::make_unique<OsFile>(pool, std::move(*opened)));
}

task<Status> rename_file(BlockingPool& pool, std::string from, std::string to) {
  auto operation = [from, to]() -> Status {
    if (::rename(from.c_str(), to.c_str()) == 0) return {};
    return fail_errno(errno, "renaming '" + from + "' to '" + to + "'");
  };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

task<Status> remove_file(BlockingPool& pool, std::string path) {
  auto operation = [path]() -> Status {
    if (::unlink(path.c_str()) == 0) return {};
    return fail_errno(errno, "removing '" + path + "'");
  };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

task<Status> sync_directory(BlockingPool& pool, std::string path) {
  auto operation = [path]() -> Status {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fail_errno(errno, "opening folder '" + path + "'");
    const Descriptor folder(fd, path);
    if (::fsync(fd) == 0) return {};
    return fail_errno(errno, "syncing folder '" + path + "'");
  };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

}  // namespace bellwether::runtime
