#include "load/console/rescue.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "core/base/check.h"

namespace bellwether::console {
namespace {

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
