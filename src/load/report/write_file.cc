#include "load/report/write_file.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace bellwether::report {
namespace {

tl::unexpected<Error> cannot_write(const std::string& path, int error_number) {
  Error error = error_from_errno(error_number, fmt::format("cannot write '{}'", path));
  if (error_number == ENOSPC || error_number == EDQUOT) {
    error.code = Errc::kNoSpace;
    error.message += "; free some space or name a file on another disk";
  } else if (error_number == EACCES || error_number == EPERM || error_number == EROFS) {
    error.code = Errc::kRefused;
    error.message += "; name a file in a folder you may write to";
  } else if (error_number == ENOENT) {
    error.code = Errc::kNotFound;
    error.message += "; make its folder first";
  } else if (error_number == EISDIR) {
    error.code = Errc::kIo;
    error.message += "; name a file in it";
  } else {
    error.code = Errc::kIo;
  }
  return tl::unexpected<Error>(std::move(error));
}

// These give 0, or the errno of the call that failed.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int write_sync_and_close(int fd, std::string_view content) {
  int error = write_all(fd, content);
  if (error == 0 && ::fsync(fd) != 0) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

// The name itself is durable only after a sync of its folder. A file system that cannot sync folders has still kept the
// content, so the outcome does not matter.
void sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

std::string temporary_beside(const std::string& path) { return fmt::format("{}.{}.tmp", path, ::getpid()); }

int create_new(const std::string& temporary) {
  ::unlink(temporary.c_str());  // of a process that died under the same number
  return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

Status replace_file(const std::string& path, bool exists, const struct stat& old, std::string_view content) {
  const std::string temporary = temporary_beside(path);
  const int fd = create_new(temporary);
  if (fd < 0) return cannot_write(path, errno);
  if (exists) ::fchmod(fd, old.st_mode & 07777);
  int error = write_sync_and_close(fd, content);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return cannot_write(path, error);
  }
  sync_folder_of(path);
  return {};
}

// The target of a symbolic link, or the path itself.
std::string behind_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real != nullptr ? std::string(real.get()) : path;
}

}  // namespace

Status can_write_file(const std::string& path) {
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) return cannot_write(path, EISDIR);
  if (exists && !S_ISREG(old.st_mode)) {
    if (::access(path.c_str(), W_OK) != 0) return cannot_write(path, errno);
    return {};
  }
  const std::string temporary = temporary_beside(behind_links(path));
  const int fd = create_new(temporary);
  if (fd < 0) return cannot_write(path, errno);
  ::close(fd);
  ::unlink(temporary.c_str());
  return {};
}

Status write_file(const std::string& path, std::string_view content) {
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (!exists || S_ISREG(old.st_mode)) return replace_file(behind_links(path), exists, old, content);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return cannot_write(path, errno);
  const Status written = write_to(fd, content, path);
  ::close(fd);
  return written;
}

Status write_to(int fd, std::string_view content, const std::string& name) {
  const int error = write_all(fd, content);
  if (error != 0) return cannot_write(name, error);
  return {};
}

}  // namespace bellwether::report
