#include "core/runtime/epoll/files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <string_view>
#include <sys/stat.h>

#include "core/base/freed.h"

namespace bellwether::runtime {
namespace {

constexpr std::size_t kMaxNames = 100'000;

Status sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, fmt::format("opening folder '{}'", path));
  const Descriptor folder(fd, path);
  if (::fsync(fd) == 0) return {};
  return fail_errno(errno, fmt::format("syncing folder '{}'", path));
}

std::string parent_of(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, std::max<std::size_t>(slash, 1)));
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// A folder that another process makes at the same time is as good as ours, once its name is safe too.
Status make_folders(const std::string& path, mode_t mode) {
  int error = ::mkdir(path.c_str(), mode) == 0 ? 0 : errno;
  if (error == EEXIST && is_folder(path)) return {};
  const std::string parent = parent_of(path);
  if (error == ENOENT && parent != path) {
    BW_RETURN_IF_ERROR(make_folders(parent, mode));
    error = ::mkdir(path.c_str(), mode) == 0 ? 0 : errno;
  }
  if (error == 0 || (error == EEXIST && is_folder(path))) return sync_folder(parent);
  if (error == EEXIST) return fail(Errc::kExists, "making folder '{}': there is something else of that name", path);
  return fail_errno(error, fmt::format("making folder '{}'", path));
}

Result<std::vector<std::string>> read_folder(const std::string& path) {
  const std::unique_ptr<DIR, Freed<::closedir>> folder(::opendir(path.c_str()));
  if (folder == nullptr) return fail_errno(errno, fmt::format("opening folder '{}'", path));
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) return fail_errno(errno, fmt::format("reading folder '{}'", path));
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxNames) {
      return fail(Errc::kTooLarge, "reading folder '{}': it has more than {} files; remove those that are not needed",
                  path, kMaxNames);
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::byte>> read_some(const Descriptor& file, uint64_t offset, std::size_t size) {
  std::vector<std::byte> data(size);
  std::size_t have = 0;
  while (have < size) {
    const ssize_t n = ::pread(file.fd, data.data() + have, size - have, static_cast<off_t>(offset + have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, fmt::format("reading '{}'", file.path));
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
    if (n < 0) return fail_errno(errno, fmt::format("writing '{}'", file.path));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

// Locks are tried again after a pause, so that a lock with a long hold never holds up the thread of all files.
constexpr Duration kShortestPause = Duration::millis(1);
constexpr Duration kLongestPause = Duration::millis(20);

// True when the lock was taken, false when another file has it.
Result<bool> try_lock(Descriptor& file) {
  while (::flock(file.fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return fail_errno(errno, fmt::format("locking '{}'", file.path));
  }
  file.locked = true;
  return true;
}

// True when it was taken, false when another open file has it.
Result<bool> try_to_hold(Descriptor& file) {
  struct flock all {};
  all.l_type = F_WRLCK;
  while (::fcntl(file.fd, F_OFD_SETLK, &all) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno != EINTR) return fail_errno(errno, fmt::format("holding '{}'", file.path));
  }
  file.held = true;
  return true;
}

Result<bool> held_by_another(const Descriptor& file) {
  struct flock all {};
  all.l_type = F_WRLCK;
  if (::fcntl(file.fd, F_OFD_GETLK, &all) != 0)
    return fail_errno(errno, fmt::format("looking who holds '{}'", file.path));
  return all.l_type != F_UNLCK;
}

Result<bool> names_it(const Descriptor& file, const std::string& path, bool follow) {
  struct stat open {};
  if (::fstat(file.fd, &open) != 0) return fail_errno(errno, fmt::format("looking at '{}'", file.path));
  struct stat named {};
  if (::fstatat(AT_FDCWD, path.c_str(), &named, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return fail_errno(errno, fmt::format("looking at '{}'", path));
  }
  return open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

class OsFile final : public File {
 public:
  OsFile(Runtime& runtime, BlockingPool& pool, std::shared_ptr<Descriptor> file, bool follow)
      : runtime_(runtime), pool_(pool), file_(std::move(file)), follow_(follow) {}

  task<Result<std::size_t>> read_at(uint64_t offset, MutableBytes into) override {
    auto operation = [file = file_, offset, size = into.size()] { return read_some(*file, offset, size); };
    BW_CO_TRY(auto data, co_await pool_.run(std::move(operation)));
    std::memcpy(into.data(), data.data(), data.size());
    co_return data.size();
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
      return fail_errno(errno, fmt::format("truncating '{}'", file->path));
    };
    Status done = co_await pool_.run(std::move(operation));
    co_return done;
  }

  task<Status> sync() override {
    auto operation = [file = file_]() -> Status {
      if (::fsync(file->fd) == 0) return {};
      return fail_errno(errno, fmt::format("syncing '{}'", file->path));
    };
    Status done = co_await pool_.run(std::move(operation));
    co_return done;
  }

  Result<uint64_t> size() override {
    struct stat status {};
    if (::fstat(file_->fd, &status) != 0) return fail_errno(errno, fmt::format("looking at '{}'", file_->path));
    return static_cast<uint64_t>(status.st_size);
  }

  task<Status> lock(Instant deadline, Cancellation* cancel) override {
    Duration pause = kShortestPause;
    while (true) {
      auto operation = [file = file_] { return try_lock(*file); };
      BW_CO_TRY(auto taken, co_await pool_.run(std::move(operation)));
      if (taken) co_return Status();
      if (runtime_.now() >= deadline) {
        co_return fail(Errc::kTimeout, "locking '{}': another process has the lock", file_->path);
      }
      const Instant next = runtime_.now() + runtime_.prng().between(pause / 2, pause);
      const bool go_on = co_await runtime_.sleep_until(std::min(next, deadline), cancel);
      if (!go_on) co_return fail(Errc::kCancelled, "locking '{}' was cancelled", file_->path);
      pause = std::min(pause * 2, kLongestPause);
    }
  }

  task<Status> unlock() override {
    auto operation = [file = file_]() -> Status {
      file->locked = false;
      if (::flock(file->fd, LOCK_UN) == 0) return {};
      return fail_errno(errno, fmt::format("unlocking '{}'", file->path));
    };
    Status done = co_await pool_.run(std::move(operation));
    co_return done;
  }

  task<Result<bool>> try_hold() override {
    auto operation = [file = file_] { return try_to_hold(*file); };
    auto taken = co_await pool_.run(std::move(operation));
    co_return taken;
  }

  task<Result<bool>> is_held() override {
    auto operation = [file = file_] { return held_by_another(*file); };
    auto held = co_await pool_.run(std::move(operation));
    co_return held;
  }

  task<Result<bool>> is_at(std::string path) override {
    auto operation = [file = file_, path, follow = follow_] { return names_it(*file, path, follow); };
    auto same = co_await pool_.run(std::move(operation));
    co_return same;
  }

  int descriptor() const override { return file_->fd; }

 private:
  Runtime& runtime_;
  BlockingPool& pool_;
  std::shared_ptr<Descriptor> file_;
  bool follow_;
};

// The kind of a path that is no file, for a message; nothing for a file.
const char* other_kind(mode_t mode, bool devices) {
  if (S_ISREG(mode)) return nullptr;
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return devices ? nullptr : "a device";
}

tl::unexpected<Error> refuse_to_open(int error, const std::string& path, OpenOptions options) {
  struct stat status {};
  const int looked = ::fstatat(AT_FDCWD, path.c_str(), &status, options.no_follow ? AT_SYMLINK_NOFOLLOW : 0);
  if (error == ELOOP && looked == 0 && S_ISLNK(status.st_mode)) {
    return fail(Errc::kInvalid, "opening '{}': it is a symbolic link, and links are not followed here", path);
  }
  const char* kind = looked == 0 && (error == EISDIR || error == ENXIO) ? other_kind(status.st_mode, true) : nullptr;
  if (kind != nullptr) return fail(Errc::kInvalid, "opening '{}': it is {}, not a file", path, kind);
  return fail_errno(error, fmt::format("opening '{}'", path));
}

// Opening a named pipe would wait for its other end, so every open is non-blocking.
Result<std::shared_ptr<Descriptor>> open_descriptor(const std::string& path, OpenOptions options) {
  int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (options.write ? O_RDWR : O_RDONLY);
  if (options.create) flags |= O_CREAT;
  if (options.exclusive) flags |= O_EXCL;
  if (options.truncate) flags |= O_TRUNC;
  if (options.no_follow) flags |= O_NOFOLLOW;
  const int fd = ::open(path.c_str(), flags, static_cast<mode_t>(options.mode));
  if (fd < 0) return refuse_to_open(errno, path, options);
  auto file = std::make_shared<Descriptor>(fd, path);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail_errno(errno, fmt::format("looking at '{}'", path));
  if (const char* kind = other_kind(status.st_mode, !options.no_follow)) {
    return fail(Errc::kInvalid, "opening '{}': it is {}, not a file", path, kind);
  }
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return file;
}

}  // namespace

task<Status> rename_file(BlockingPool& pool, std::string from, std::string to) {
  auto operation = [from, to]() -> Status {
    if (::rename(from.c_str(), to.c_str()) == 0) return {};
    return fail_errno(errno, fmt::format("renaming '{}' to '{}'", from, to));
  };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

task<Status> remove_file(BlockingPool& pool, std::string path) {
  auto operation = [path]() -> Status {
    if (::unlink(path.c_str()) == 0) return {};
    return fail_errno(errno, fmt::format("removing '{}'", path));
  };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

task<Status> sync_directory(BlockingPool& pool, std::string path) {
  auto operation = [path] { return sync_folder(path); };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

task<Status> make_directory(BlockingPool& pool, std::string path, uint32_t mode) {
  auto operation = [path, mode] { return make_folders(path, static_cast<mode_t>(mode)); };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

task<Result<std::vector<std::string>>> list_directory(BlockingPool& pool, std::string path) {
  auto operation = [path] { return read_folder(path); };
  auto names = co_await pool.run(std::move(operation));
  co_return names;
}

task<Result<std::unique_ptr<File>>> open_file(Runtime& runtime, BlockingPool& pool, std::string path,
                                              OpenOptions options) {
  auto operation = [path, options] { return open_descriptor(path, options); };
  BW_CO_TRY(auto opened, co_await pool.run(std::move(operation)));
  co_return std::unique_ptr<File>(std::make_unique<OsFile>(runtime, pool, std::move(opened), !options.no_follow));
}

}  // namespace bellwether::runtime
