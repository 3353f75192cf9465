#include "load/console/terminal.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "core/base/check.h"
#include "core/base/encoding.h"

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

// Writing this number of cells again costs less than going past them.
constexpr int kStepOver = 6;

class Painter {
 public:
  explicit Painter(const Terminfo& codes) : codes_(codes) {}

  // REQUIRES a cell that is not the right half of a wide one.
  void put(const Grid& grid, int row, int column) {
    if (row_ != row || column_ != column) {
      const bool near = row_ == row && column_ < column && column - column_ <= kStepOver;
      if (near) {
        while (column_ < column) write(grid, row, column_);
      } else {
        out_ += codes_.move_to(row, column);
        row_ = row;
        column_ = column;
      }
    }
    write(grid, row, column);
  }

  std::string take() {
    if (style_ && *style_ != Style::kPlain) out_ += codes_.plain;
    return std::move(out_);
  }
  void clear() { out_ += codes_.plain + codes_.clear; }

 private:
  void write(const Grid& grid, int row, int column) {
    const Cell& cell = grid.at(row, column);
    if (!style_ || *style_ != cell.style) {
      out_ += codes_.plain + codes_.styles[static_cast<std::size_t>(cell.style)];
      style_ = cell.style;
    }
    append_utf8(out_, cell.character);
    column_ += columns_of(cell.character);
    if (column_ >= grid.columns()) row_ = -1;  // where the cursor is then, terminals do not agree on
  }

  const Terminfo& codes_;
  std::string out_;
  int row_ = -1;
  int column_ = -1;
  std::optional<Style> style_;
};

constexpr int kPatienceMs = 300;

// Those that end a process. The owner of the screen collects SIGINT and SIGTERM.
constexpr std::array kSignals{SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT,   SIGSYS,  SIGTRAP, SIGQUIT,
                              SIGHUP,  SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ};

// All that a signal handler needs, in place before it may run.
struct Armed {
  std::atomic<bool> armed{false};
  int terminal = -1;
  int kept_errors = -1;
  int errors = -1;
  termios modes{};
  std::array<char, kMaxRescueLeave> leave{};
  std::size_t leave_size = 0;
  std::array<struct sigaction, kSignals.size()> before{};
};
Armed g_armed;
// A thread that ran out of its stack has none for a handler.
alignas(16) std::array<char, 64UL * 1024> g_stack;

void rescue() {
  if (!g_armed.armed.exchange(false)) return;
  // The modes come first: they need no reader. Another process group may have the terminal by now.
  sigset_t quiet;
  sigset_t before;
  sigemptyset(&quiet);
  sigaddset(&quiet, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &quiet, &before);
  ::tcsetattr(g_armed.terminal, TCSANOW, &g_armed.modes);
  write_patiently(g_armed.terminal, g_armed.leave.data(), g_armed.leave_size, kPatienceMs);
  if (g_armed.kept_errors >= 0) {
    copy_patiently(g_armed.kept_errors, g_armed.terminal, kPatienceMs);
    ::dup2(g_armed.errors, STDERR_FILENO);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void on_signal(int number) {
  const int error = errno;
  rescue();
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == number) ::sigaction(number, &g_armed.before[i], nullptr);
  }
  ::raise(number);
  errno = error;
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
    const std::string value = lower_case(environment(name));
    if (value.empty()) continue;
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

std::string paint(const Grid& before, const Grid& after, const Terminfo& codes) {
  Painter painter(codes);
  const bool anew = before.rows() != after.rows() || before.columns() != after.columns();
  const Grid blank = anew ? Grid(after.columns(), after.rows()) : Grid();
  const Grid& old = anew ? blank : before;
  if (anew) painter.clear();
  for (int row = 0; row < after.rows(); ++row) {
    for (int column = 0; column < after.columns(); ++column) {
      if (row == after.rows() - 1 && column == after.columns() - 1) continue;
      const Cell& cell = after.at(row, column);
      if (cell.character != 0 && cell != old.at(row, column)) painter.put(after, row, column);
    }
  }
  return painter.take();
}

void arm_rescue(const RescuePlan& plan) {
  check(!g_armed.armed.load(), "one terminal a process");
  check(plan.leave.size() <= kMaxRescueLeave, "the codes of a terminal are short");
  g_armed.terminal = plan.terminal;
  g_armed.kept_errors = plan.kept_errors;
  g_armed.errors = plan.errors;
  g_armed.modes = *plan.modes;
  g_armed.leave_size = plan.leave.size();
  std::memcpy(g_armed.leave.data(), plan.leave.data(), plan.leave.size());
  g_armed.armed.store(true);

  stack_t stack{};
  stack_t old_stack{};
  stack.ss_sp = g_stack.data();
  stack.ss_size = g_stack.size();
  if (::sigaltstack(nullptr, &old_stack) == 0 && (old_stack.ss_flags & SS_DISABLE) != 0) ::sigaltstack(&stack, nullptr);

  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_NODEFER | SA_ONSTACK;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &g_armed.before[i]);
    // A signal that the parent ignored (nohup) stays ignored.
    if (g_armed.before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
  static const bool at_exit = std::atexit(rescue) == 0;
  (void)at_exit;
}

void disarm_rescue() {
  if (!g_armed.armed.exchange(false)) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (g_armed.before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &g_armed.before[i], nullptr);
  }
}

std::size_t write_patiently(int fd, const char* bytes, std::size_t size, int patience_ms) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t written = ::write(fd, bytes + done, size - done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno != EAGAIN) break;
    pollfd wait{fd, POLLOUT, 0};
    if (::poll(&wait, 1, patience_ms) <= 0) break;
  }
  return done;
}

void copy_patiently(int from, int to, int patience_ms) {
  std::array<char, 1024> bytes{};
  for (off_t at = 0;;) {
    const ssize_t read = ::pread(from, bytes.data(), bytes.size(), at);
    if (read <= 0) return;
    at += read;
    if (write_patiently(to, bytes.data(), static_cast<std::size_t>(read), patience_ms) !=
        static_cast<std::size_t>(read)) {
      return;
    }
  }
}

}  // namespace bellwether::console
