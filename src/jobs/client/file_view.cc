#include "jobs/client/file_view.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "jobs/client/scenario_files.h"

namespace bellwether::client::detail {
namespace {

constexpr uint64_t kCopiedBytesMax = 16ULL << 20;

// Closes what it opened; a mapping outlives that.
struct Descriptor {
  explicit Descriptor(const char* path) : fd(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
};

}  // namespace

bellwether::Result<scenario::FileView> view_whole_file(const std::string& path, uint64_t bytes_max) {
  const Descriptor file(path.c_str());
  if (file.fd < 0) return fail_errno(errno, "cannot read '" + path + "'");
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) return fail_errno(errno, "cannot read '" + path + "'");
  const auto size = static_cast<uint64_t>(status.st_size);
  // What is no plain file (a pipe, a device) says nothing about its size, and cannot be mapped.
  if (!S_ISREG(status.st_mode) || size <= kCopiedBytesMax) {
    BW_TRY(auto text,
           read_whole_file(path, S_ISREG(status.st_mode) ? bytes_max : std::min(bytes_max, kCopiedBytesMax)));
    return scenario::view_of(std::move(text));
  }
  if (size > bytes_max) {
    return fail(Errc::kTooLarge, "'" + path + "' is larger than " + std::to_string(bytes_max >> 20) + " MiB");
  }
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (bytes == MAP_FAILED) return fail_errno(errno, "cannot map '" + path + "'");
  const auto unmap = [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); };
  return scenario::FileView{{static_cast<const char*>(bytes), size}, std::shared_ptr<const void>(bytes, unmap)};
}

}  // namespace bellwether::client::detail
