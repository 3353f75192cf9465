#include "load/console/terminal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "load/console/rescue.h"

namespace bellwether::console {
namespace {

constexpr int kLeaveMs = 300;
constexpr off_t kMaxErrors = 256 << 10;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool same_device(int one, int other) {
  struct stat a {};
  struct stat b {};
  return ::isatty(one) == 1 && ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_rdev == b.st_rdev;
}

// A background process is not stopped for setting a terminal, or asking it.
void take_no_offence() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTTOU);
  sigaddset(&set, SIGTTIN);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open() {
  std::array<char, 256> name{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ttyname_r(STDOUT_FILENO, name.data(), name.size()) != 0) {
    return fail(Errc::kUnsupported, "standard output is no terminal");
  }
  BW_TRY(auto codes, terminfo_of(environment("TERM"), environment("NO_COLOR").empty()));
  if (codes.leave.size() > kMaxRescueLeave) return fail(Errc::kUnsupported, "its codes are too long");
  // A separate file description: the shell shares that of standard output, and needs it blocking.
  const int fd = ::open(name.data(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, std::string("opening ") + name.data());
  return std::unique_ptr<Terminal>(new Terminal(fd, std::move(codes)));
}

Terminal::Terminal(int fd, Terminfo codes) : fd_(fd), codes_(std::move(codes)), modes_(std::make_unique<termios>()) {}

Terminal::~Terminal() {
  leave();
  ::close(fd_);
}

Terminal::Size Terminal::size() const {
  winsize size{};
  if (::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {std::min<int>(size.ws_col, Grid::kMaxColumns), std::min<int>(size.ws_row, Grid::kMaxRows)};
}

bool Terminal::in_foreground() const {
  const pid_t group = ::tcgetpgrp(fd_);
  return group < 0 || group == ::getpgrp();  // a terminal of another session has no group here
}

void Terminal::enter() {
  if (entered_ || gone_) return;
  take_no_offence();
  if (::tcgetattr(fd_, modes_.get()) != 0) {
    gone_ = true;
    return;
  }
  entered_ = true;
  keep_errors();
  // Before the first change, so that the way back exists at every moment.
  arm_rescue({fd_, modes_.get(), codes_.leave, kept_errors_, errors_});
  termios modes = *modes_;
  modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  modes.c_cc[VMIN] = 1;
  modes.c_cc[VTIME] = 0;
  ::tcsetattr(fd_, TCSANOW, &modes);
  pending_.clear();
  send(codes_.enter);
}

void Terminal::leave() {
  if (!entered_) return;
  entered_ = false;
  // The process in the foreground has set its own modes.
  if (in_foreground()) ::tcsetattr(fd_, TCSANOW, modes_.get());
  pending_.clear();
  const std::size_t written = write_patiently(fd_, codes_.leave.data(), codes_.leave.size(), kLeaveMs);
  disarm_rescue();
  // A terminal that is stopped gets the rest before the next words on it.
  if (written < codes_.leave.size() && ::tcgetpgrp(fd_) >= 0) std::fputs(codes_.leave.c_str() + written, stdout);
  tell_errors();
}

void Terminal::suspend() {
  leave();
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, &before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Terminal::send(std::string bytes) {
  pending_ = std::move(bytes);
  flush();
}

void Terminal::flush() {
  while (!pending_.empty() && !gone_) {
    const ssize_t written = ::write(fd_, pending_.data(), pending_.size());
    if (written > 0) {
      pending_.erase(0, static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      gone_ = in_foreground();
      return;
    }
  }
}

std::string Terminal::read() {
  std::array<char, 256> bytes{};
  const ssize_t got = ::read(fd_, bytes.data(), bytes.size());
  if (got > 0) return {bytes.data(), static_cast<std::size_t>(got)};
  if (got == 0 || (errno != EAGAIN && errno != EINTR)) gone_ = in_foreground();
  struct stat kept {};
  if (kept_errors_ >= 0 && ::fstat(kept_errors_, &kept) == 0 && kept.st_size > kMaxErrors) {
    // Only the newest text is worth keeping; a healthy process does not write this much.
    if (::ftruncate(kept_errors_, 0) != 0) tell_errors();
  }
  return {};
}

void Terminal::keep_errors() {
  if (!same_device(STDERR_FILENO, fd_)) return;
  std::fflush(stderr);
  kept_errors_ = ::memfd_create("errors", MFD_CLOEXEC);
  errors_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (kept_errors_ >= 0 && errors_ >= 0 && ::fcntl(kept_errors_, F_SETFL, O_APPEND) == 0 &&
      ::dup2(kept_errors_, STDERR_FILENO) >= 0) {
    return;
  }
  if (kept_errors_ >= 0) ::close(kept_errors_);
  if (errors_ >= 0) ::close(errors_);
  kept_errors_ = errors_ = -1;
}

void Terminal::tell_errors() {
  if (kept_errors_ < 0) return;
  ::dup2(errors_, STDERR_FILENO);
  copy_patiently(kept_errors_, fd_, kLeaveMs);
  ::close(kept_errors_);
  ::close(errors_);
  kept_errors_ = errors_ = -1;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = environment(name);
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace bellwether::console
