#include "jobs/assignment/assignment_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/wire/frame.h"
#include "core/base/check.h"
#include "jobs/assignment/assignment_order.h"

namespace bellwether::node {
namespace {

constexpr std::size_t kReadAtOnce = 64 << 10;

tl::unexpected<Error> no_permit(int fd, int reason) {
  ::close(fd);
  return fail_errno(reason, "the permit of an assignment");
}

}  // namespace

Result<std::unique_ptr<AssignmentSocket>> AssignmentSocket::take(runtime::Runtime& runtime, int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return fail(Errc::kInvalid, "descriptor {} is not a stream socket", fd);
  }
  const int twin = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (twin < 0 || ::fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    const int error = errno;
    if (twin >= 0) ::close(twin);
    ::close(fd);
    return fail_errno(error, "the socket between a worker and its assignment");
  }
  return std::unique_ptr<AssignmentSocket>(new AssignmentSocket(runtime, fd, twin));
}

AssignmentSocket::AssignmentSocket(runtime::Runtime& runtime, int read_fd, int write_fd)
    : runtime_(runtime), read_fd_(read_fd), write_fd_(write_fd), writer_(write_on()) {}

AssignmentSocket::~AssignmentSocket() {
  writer_ = {};  // it must not wait for a descriptor that is closed
  ::close(read_fd_);
  ::close(write_fd_);
}

runtime::task<Result<std::string>> AssignmentSocket::read(runtime::Cancellation* cancel) {
  while (true) {
    const auto cut = wire::cut_frame(Bytes(in_).first(in_size_), kMaxAssignmentFrame);
    if (cut.kind == wire::FrameCut::Kind::kRefused) {
      co_return fail(Errc::kProtocol, "the socket between a worker and its assignment: a frame is empty or too large");
    }
    if (cut.kind == wire::FrameCut::Kind::kFrame) {
      std::string payload(as_text(wire::frame_payload(Bytes(in_), cut)));
      in_size_ -= cut.consumed;
      std::memmove(in_.data(), in_.data() + cut.consumed, in_size_);
      co_return payload;
    }
    in_.resize(std::max(cut.needed, in_size_ + kReadAtOnce));
    const ssize_t n = ::recv(read_fd_, in_.data() + in_size_, in_.size() - in_size_, 0);
    if (n > 0) {
      in_size_ += static_cast<std::size_t>(n);
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      BW_CO_RETURN_IF_ERROR(co_await runtime_.wait_descriptor(read_fd_, true, false, Instant::never(), cancel));
    } else {
      co_return fail(Errc::kClosed, "the socket between a worker and its assignment was closed by the other end");
    }
  }
}

void AssignmentSocket::write(std::string_view payload) {
  check(!payload.empty() && payload.size() <= kMaxAssignmentFrame, "a frame holds that");
  if (broken_) return;
  std::string frame;
  frame.reserve(wire::kLengthBytes + payload.size());
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(payload.size() >> shift);
  frame += payload;
  waiting_ += frame.size();
  out_.push_back(std::move(frame));
  drained_.reset();
  to_write_.set();
}

runtime::task<void> AssignmentSocket::write_on() {
  while (true) {
    co_await to_write_.wait();
    if (!send_some()) {
      auto ready = co_await runtime_.wait_descriptor(write_fd_, false, true, Instant::never(), nullptr);
      if (ready) continue;
      broken_ = true;
    }
    if (broken_) {
      out_.clear();
      waiting_ = 0;
    }
    to_write_.reset();
    drained_.set();
  }
}

// False if the socket takes no more for now.
bool AssignmentSocket::send_some() {
  while (!out_.empty() && !broken_) {
    const std::string_view rest = std::string_view(out_.front()).substr(out_from_);
    const ssize_t n = ::send(write_fd_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      broken_ = true;  // the reader gets kClosed
      break;
    }
    out_from_ += static_cast<std::size_t>(n);
    waiting_ -= static_cast<std::size_t>(n);
    if (out_from_ < out_.front().size()) continue;
    out_.pop_front();
    out_from_ = 0;
  }
  return true;
}

runtime::task<void> AssignmentSocket::flush() {
  while (waiting_ > 0) co_await drained_.wait();
}

Result<PermitPage> PermitPage::create() {
  const int fd = ::memfd_create("bellwether-permit", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return fail_errno(errno, "the permit of an assignment");
  // A process that reads memory behind the end of its file is killed.
  constexpr int kSizeStays = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::ftruncate(fd, kBytes) != 0 || ::fcntl(fd, F_ADD_SEALS, kSizeStays) != 0) return no_permit(fd, errno);
  BW_TRY(auto page, map(fd, PROT_READ | PROT_WRITE));
  page.set(Instant::never());
  page.hand_over(Duration::nanos(INT64_MAX));
  return page;
}

Result<PermitPage> PermitPage::open(int fd) {
  struct stat is {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd, &is) != 0 || is.st_size < kBytes) {
    return fail(Errc::kInvalid, "descriptor {} is not the permit of an assignment", fd);
  }
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return no_permit(fd, errno);
  return map(fd, PROT_READ);
}

Result<PermitPage> PermitPage::map(int fd, int protection) {
  void* const memory = ::mmap(nullptr, kBytes, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) return no_permit(fd, errno);
  return PermitPage(fd, static_cast<Ends*>(memory));
}

PermitPage::~PermitPage() {
  if (ends_ != nullptr) ::munmap(ends_, kBytes);
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace bellwether::node
