#include "lead/run/guardian.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "core/base/bytes.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/timers.h"

namespace bellwether::lead {
namespace {

std::optional<std::string> read_all(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::read(fd, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(size));
  ::close(fd);
  return text;
}

// The line /proc/PID/stat of a living process (proc(5) numbers the fields).
struct Stat {
  pid_t group = -1;     // 5
  bool kernel = false;  // 9: a thread of the kernel
  // 50 and 51 are equal: it was started with none. While it becomes another program, both are 0, and later equal until
  // all is copied; the start of its code (26) is known only after that.
  bool no_environment = false;

  static std::optional<Stat> read(const std::string& folder) {
    const std::string text = read_all(folder + "/stat").value_or("");
    // "PID (NAME) STATE PARENT GROUP ..."; a name may have brackets and spaces.
    const auto name_ends = text.rfind(") ");
    if (name_ends == std::string::npos) return std::nullopt;
    const char state = text[name_ends + 2];
    if (state == 'Z' || state == 'X') return std::nullopt;
    std::array<unsigned long long, 52> fields{};
    char* at = const_cast<char*>(text.c_str()) + name_ends + 3;
    for (std::size_t i = 4; i < fields.size(); ++i) fields[i] = std::strtoull(at, &at, 10);
    constexpr unsigned long long kKernelThread = 0x00200000;  // PF_KTHREAD
    return Stat{static_cast<pid_t>(fields[5]), (fields[9] & kKernelThread) != 0,
                fields[26] != 0 && fields[50] != 0 && fields[50] == fields[51]};
  }
};

// Appends the children that the kernel lists for one process, in all of its threads.
void add_children(pid_t parent, std::vector<pid_t>& found) {
  const std::string folder = fmt::format("/proc/{}/task", parent);
  DIR* threads = ::opendir(folder.c_str());
  if (threads == nullptr) return;
  while (const dirent* entry = ::readdir(threads)) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    if (entry->d_name[0] == '.') continue;
    const std::string text = read_all(fmt::format("{}/{}/children", folder, entry->d_name)).value_or("");
    const char* at = text.c_str();
    char* end = nullptr;
    for (long pid = std::strtol(at, &end, 10); end != at; pid = std::strtol(at, &end, 10)) {
      found.push_back(static_cast<pid_t>(pid));
      at = end;
    }
  }
  ::closedir(threads);
}

constexpr std::string_view kName = "lead-guardian";
constexpr Duration kGraceAlone = Duration::seconds(5);       // for the command when the leader's process is gone
constexpr Duration kBetweenKills = Duration::millis(2);      // until the next search for killed processes
constexpr Duration kStragglersGrace = Duration::seconds(2);  // for the processes that the command has left behind

class Guardian {
 public:
  Guardian(const GuardianCall& call, DeadlinePage page)
      : call_(call), page_(std::move(page)), wish_kill_at_(Instant::never()) {}

  int run() {
    prepare();
    if (!start_command()) return 1;
    while (!ended_ || !empty_) {
      act_on_time();
      wait_for_something();
      reap();
    }
    tell("empty");
    return 0;
  }

 private:
  void prepare() {
    // A terminal's Ctrl-C and hang-up are for the leader, which decides; death comes through the socket's end.
    for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTTOU, SIGTTIN, SIGTSTP, SIGPIPE, SIGUSR1, SIGUSR2}) {
      std::signal(ignored, SIG_IGN);
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // Best effort, none needed on a healthy machine: not to be swapped out, not to wait behind the load.
    ::mlockall(MCL_CURRENT);
    ::setpriority(PRIO_PROCESS, 0, -20);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    child_fd_ = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    timer_fd_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  }

  bool start_command() {
    int report[2];
    if (::pipe2(report, O_CLOEXEC) != 0) return failed("cannot create a pipe", errno);
    const pid_t parent = ::getpid();
    group_ = ::fork();
    if (group_ < 0) return failed("cannot create a process", errno);
    if (group_ == 0) become_command(report[1], parent);
    ::setpgid(group_, group_);  // here and in the child: the first call counts
    // Only a leader that the terminal listens to can hand it on; one in the background must not take it.
    leader_group_ = ::getpgid(::getppid());
    if (leader_group_ > 0 && ::tcgetpgrp(STDIN_FILENO) == leader_group_) ::tcsetpgrp(STDIN_FILENO, group_);
    ::close(report[1]);
    int reason = 0;
    const bool could_not = ::read(report[0], &reason, sizeof reason) == sizeof reason;
    ::close(report[0]);
    if (could_not) {
      ::waitpid(group_, nullptr, 0);
      return failed(call_.command[0], reason);
    }
    tell(fmt::format("started {}", group_));
    return true;
  }

  [[noreturn]] void become_command(int report, pid_t parent) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // The guardian's priority is for ending the command, not for running it.
    ::setpriority(PRIO_PROCESS, 0, 0);
    for (int one = 1; one < NSIG; ++one) std::signal(one, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int ours : {call_.page_fd, call_.socket_fd}) ::fcntl(ours, F_SETFD, FD_CLOEXEC);
    if (call_.lock_fd >= 0 && !call_.command_has_lock) ::fcntl(call_.lock_fd, F_SETFD, FD_CLOEXEC);
    std::vector<char*> argv;
    for (const std::string& argument : call_.command) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    const int reason = errno;
    [[maybe_unused]] const auto written = ::write(report, &reason, sizeof reason);
    ::_exit(127);
  }

  bool failed(const std::string& what, int reason) {
    tell(fmt::format("failed {} {}: {}", reason, what, std::strerror(reason)));  // NOLINT(concurrency-mt-unsafe)
    return false;
  }

  void tell(const std::string& text) {
    if (leader_gone_) return;
    [[maybe_unused]] const auto sent = ::send(call_.socket_fd, text.data(), text.size(), MSG_NOSIGNAL);
  }

  // Acts that are due by now. The times on the page move on with every renewal.
  void act_on_time() {
    const Instant now = runtime::BootClock::now();
    const Instant kill_at = std::min(page_.kill_at(), wish_kill_at_);
    if (now >= kill_at) {
      kill_everything();
    } else if (!asked_to_stop_ && now >= page_.term_ends()) {
      ask_to_stop();
    }
  }

  void ask_to_stop() {
    asked_to_stop_ = true;
    ::kill(-group_, call_.stop_signal);
    ::kill(-group_, SIGCONT);  // stopped processes do not react
    if (ended_) signal_descendants(call_.stop_signal);
  }

  void kill_everything() {
    killing_ = true;
    ::kill(-group_, SIGKILL);
    signal_descendants(SIGKILL);
  }

  void wait_for_something() {
    Instant next = asked_to_stop_ ? std::min(page_.kill_at(), wish_kill_at_)
                                  : std::min({page_.term_ends(), page_.kill_at(), wish_kill_at_});
    if (killing_) next = runtime::BootClock::now() + kBetweenKills;
    const int64_t ns = std::max<int64_t>(next.ns(), 1);
    const itimerspec at{{0, 0}, {ns / 1'000'000'000, ns % 1'000'000'000}};
    ::timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &at, nullptr);
    std::array<pollfd, 3> waits{pollfd{timer_fd_, POLLIN, 0}, pollfd{child_fd_, POLLIN, 0},
                                pollfd{leader_gone_ ? -1 : call_.socket_fd, POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) <= 0) return;
    if (waits[1].revents != 0) {
      signalfd_siginfo gone{};
      while (::read(child_fd_, &gone, sizeof gone) > 0) {
      }
    }
    if (waits[2].revents != 0) listen();
  }

  void listen() {
    std::array<char, 64> buffer{};
    const ssize_t size = ::recv(call_.socket_fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      leader_gone_ = true;
      wish_kill_at_ = std::min(wish_kill_at_, runtime::BootClock::now() + kGraceAlone);
      if (!asked_to_stop_) ask_to_stop();
      return;
    }
    const std::string_view text(buffer.data(), static_cast<std::size_t>(size));
    if (text == "stop") {
      if (!asked_to_stop_) ask_to_stop();
    } else if (text == "kill") {
      wish_kill_at_ = Instant();
    } else if (text.starts_with("signal ")) {
      if (const auto number = parse_u64(text.substr(7))) ::kill(-group_, static_cast<int>(*number));
    }
  }

  void reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
      if (pid != group_) continue;
      if (WIFSTOPPED(status)) {
        // Ctrl-Z: the leader goes on, and so does its command. Else it would keep the terminal for ever.
        if (WSTOPSIG(status) == SIGTSTP) ::kill(-group_, SIGCONT);
        continue;
      }
      ended_ = true;
      if (::tcgetpgrp(STDIN_FILENO) == group_) ::tcsetpgrp(STDIN_FILENO, leader_group_);
      tell(WIFEXITED(status) ? fmt::format("exit {}", WEXITSTATUS(status))
                             : fmt::format("signal {}", WTERMSIG(status)));
      // The processes that it has left behind are guarded work as well.
      ::kill(-group_, call_.stop_signal);
      signal_descendants(call_.stop_signal);
      asked_to_stop_ = true;
      wish_kill_at_ = std::min(wish_kill_at_, runtime::BootClock::now() + kStragglersGrace);
    }
    empty_ = pid < 0 && errno == ECHILD;
  }

  const GuardianCall& call_;
  DeadlinePage page_;
  pid_t group_ = -1;
  pid_t leader_group_ = -1;
  int child_fd_ = -1;
  int timer_fd_ = -1;
  bool leader_gone_ = false;
  bool asked_to_stop_ = false;
  bool killing_ = false;
  bool ended_ = false;  // the command itself
  bool empty_ = false;  // and all its descendants
  Instant wish_kill_at_;
};

}  // namespace

std::vector<pid_t> descendants() {
  std::vector<pid_t> found;
  add_children(::getpid(), found);
  for (std::size_t i = 0; i < found.size(); ++i) add_children(found[i], found);
  return found;
}

void signal_descendants(int number) {
  for (const pid_t pid : descendants()) ::kill(pid, number);
}

Living living_of(pid_t group, std::string_view mark) {
  Living living;
  DIR* all = ::opendir("/proc");
  if (all == nullptr) return living;
  const std::string wanted = std::string(1, '\0') + std::string(mark) + std::string(1, '\0');
  while (const dirent* entry = ::readdir(all)) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    const std::string folder = "/proc/" + std::string(entry->d_name);
    const auto environment = read_all(folder + "/environ");
    const auto stat = Stat::read(folder);
    if (!stat) continue;
    if (stat->group == group || ('\0' + environment.value_or("")).find(wanted) != std::string::npos) {
      living.pids.push_back(pid);
    } else if (environment && environment->empty() && !stat->kernel && !stat->no_environment) {
      living.complete = false;
    }
  }
  ::closedir(all);
  return living;
}

Result<DeadlinePage> DeadlinePage::create() {
  const int fd = ::memfd_create("bellwether-deadlines", MFD_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "allocating memory for the guardian");
  if (::ftruncate(fd, sizeof(Deadlines)) != 0) {
    const int reason = errno;
    ::close(fd);
    return fail_errno(reason, "allocating memory for the guardian");
  }
  return map(fd);
}

Result<DeadlinePage> DeadlinePage::map(int fd) {
  void* memory = ::mmap(nullptr, sizeof(Deadlines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) {
    const int reason = errno;
    ::close(fd);
    return fail_errno(reason, "allocating memory shared with the guardian");
  }
  return DeadlinePage(fd, static_cast<Deadlines*>(memory));
}

DeadlinePage::DeadlinePage(DeadlinePage&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), deadlines_(std::exchange(other.deadlines_, nullptr)) {}

DeadlinePage::~DeadlinePage() {
  if (deadlines_ != nullptr) ::munmap(deadlines_, sizeof(Deadlines));
  if (fd_ >= 0) ::close(fd_);
}

std::vector<std::string> GuardianCall::arguments() const {
  std::vector<std::string> list{std::string(kName),      std::to_string(page_fd),     std::to_string(socket_fd),
                                std::to_string(lock_fd), std::to_string(stop_signal), command_has_lock ? "1" : "0"};
  list.insert(list.end(), command.begin(), command.end());
  return list;
}

bool GuardianCall::is_one(int argc, char** argv) { return argc > 7 && argv[1] == kName; }

GuardianCall GuardianCall::parse(int argc, char** argv) {
  GuardianCall call;
  call.page_fd = std::atoi(argv[2]);      // NOLINT(cert-err34-c): written by arguments()
  call.socket_fd = std::atoi(argv[3]);    // NOLINT(cert-err34-c)
  call.lock_fd = std::atoi(argv[4]);      // NOLINT(cert-err34-c)
  call.stop_signal = std::atoi(argv[5]);  // NOLINT(cert-err34-c)
  call.command_has_lock = std::string_view(argv[6]) == "1";
  call.command.assign(argv + 7, argv + argc);
  return call;
}

int guardian_main(const GuardianCall& call) {
  auto page = DeadlinePage::map(call.page_fd);
  if (!page) return 1;
  return Guardian(call, std::move(*page)).run();
}

}  // namespace bellwether::lead
