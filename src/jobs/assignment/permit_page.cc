#include "jobs/assignment/permit_page.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bellwether::node {
namespace {

constexpr off_t kPermitBytes = sizeof(std::atomic<int64_t>);

tl::unexpected<Error> no_permit(int fd, int reason) {
  ::close(fd);
  return fail_errno(reason, "the permit of an assignment");
}

}  // namespace

Result<PermitPage> PermitPage::create() {
  const int fd = ::memfd_create("bellwether-permit", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return fail_errno(errno, "the permit of an assignment");
  // A process that reads memory behind the end of its file is killed.
  constexpr int kSizeStays = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::ftruncate(fd, kPermitBytes) != 0 || ::fcntl(fd, F_ADD_SEALS, kSizeStays) != 0) return no_permit(fd, errno);
  BW_TRY(auto page, map(fd, PROT_READ | PROT_WRITE));
  page.set(Instant::never());
  return page;
}

Result<PermitPage> PermitPage::open(int fd) {
  struct stat is {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd, &is) != 0 || is.st_size < kPermitBytes) {
    return fail(Errc::kInvalid, "descriptor {} is not the permit of an assignment", fd);
  }
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return no_permit(fd, errno);
  return map(fd, PROT_READ);
}

Result<PermitPage> PermitPage::map(int fd, int protection) {
  void* const memory = ::mmap(nullptr, kPermitBytes, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) return no_permit(fd, errno);
  return PermitPage(fd, static_cast<std::atomic<int64_t>*>(memory));
}

PermitPage::~PermitPage() {
  if (until_ != nullptr) ::munmap(until_, kPermitBytes);
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace bellwether::node
