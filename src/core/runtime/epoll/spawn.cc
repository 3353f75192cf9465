#include "core/runtime/epoll/spawn.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bellwether::runtime {
namespace {

constexpr unsigned kCloseRangeCloexec = 4;  // CLOSE_RANGE_CLOEXEC of <linux/close_range.h>
constexpr int kSignals = 64;
constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

// The child's report when it could not become the program.
struct Failure {
  enum class Step : int { kSession, kStreams, kDirectory, kExec };
  Step step;
  int error;
};

// All that the child needs, made before it is: between its birth and the new program it may neither allocate nor lock.
struct Plan {
  const char* program;
  const char* directory;  // nullptr: where we are
  char** argv;
  char** environment;
  const int* keep_open;
  std::size_t kept;
  SpawnOptions::Group group;
  pid_t die_with;  // 0: no process
  int input;       // -1: ours
  int output;      // -1: ours
  int report;
  std::array<bool, kSignals + 1> ignored;
};

class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~OwnedFd() { reset(-1); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

// Out of the way of the standard streams, which the child sets anew.
OwnedFd above_streams(int fd) {
  OwnedFd low(fd);
  return fd < 0 || fd > STDERR_FILENO ? std::move(low) : OwnedFd(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

struct Pipe {
  OwnedFd from;
  OwnedFd to;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "making a pipe");
  Pipe pipe{above_streams(ends[0]), above_streams(ends[1])};
  if (pipe.from.get() < 0 || pipe.to.get() < 0) return fail_errno(errno, "making a pipe");
  return pipe;
}

// --- in the child ----------------------------------------------------------------------------------------------------

[[noreturn]] void give_up(const Plan& plan, Failure::Step step) {
  const Failure failure{step, errno};
  [[maybe_unused]] const ssize_t n = ::write(plan.report, &failure, sizeof failure);
  ::_exit(127);
}

// Programs expect default signals; ignored signals would stay ignored in the new program.
void reset_signals(const Plan& plan) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (plan.ignored[static_cast<std::size_t>(signal)]) ::sigaction(signal, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become(const Plan& plan) {
  if (plan.die_with != 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.die_with) ::_exit(127);  // it died before it could be noticed
  }
  if (plan.group == SpawnOptions::Group::kOwnSession && ::setsid() < 0) give_up(plan, Failure::Step::kSession);
  if (plan.group == SpawnOptions::Group::kOwnGroup && ::setpgid(0, 0) != 0) give_up(plan, Failure::Step::kSession);
  if (plan.input >= 0 && ::dup2(plan.input, STDIN_FILENO) < 0) give_up(plan, Failure::Step::kStreams);
  if (plan.output >= 0 && ::dup2(plan.output, STDOUT_FILENO) < 0) give_up(plan, Failure::Step::kStreams);
  // Libraries may have descriptors that stay open by mistake. An old kernel refuses, and then they do.
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, kCloseRangeCloexec);
  for (std::size_t i = 0; i < plan.kept; ++i) {
    if (::fcntl(plan.keep_open[i], F_SETFD, 0) != 0) give_up(plan, Failure::Step::kStreams);
  }
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) give_up(plan, Failure::Step::kDirectory);
  reset_signals(plan);
  ::execve(plan.program, plan.argv, plan.environment);
  give_up(plan, Failure::Step::kExec);
}

// --- in the parent ---------------------------------------------------------------------------------------------------

// The child borrows the memory of this process until it has become the program: nothing is copied, however large this
// process is, and only the calling thread waits. No signal may be handled in there meanwhile.
[[gnu::noinline]] pid_t give_birth(const Plan& plan) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): only safe calls follow
  if (pid == 0) become(plan);   // NOLINT(clang-analyzer-unix.Vfork)
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

std::array<bool, kSignals + 1> ignored_signals() {
  std::array<bool, kSignals + 1> ignored{};
  for (int signal = 1; signal <= kSignals; ++signal) {
    struct sigaction action {};
    ignored[static_cast<std::size_t>(signal)] =
        ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  }
  return ignored;
}

// Restores the default for SIGCHLD: some parents start us with it ignored, and then the system does not report how
// children ended.
void notice_ends() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) != 0) return;
  if (action.sa_handler != SIG_IGN && (action.sa_flags & SA_NOCLDWAIT) == 0) return;
  if (action.sa_handler == SIG_IGN) action.sa_handler = SIG_DFL;
  action.sa_flags &= ~SA_NOCLDWAIT;
  ::sigaction(SIGCHLD, &action, nullptr);
}

tl::unexpected<Error> explain(const Failure& failure, const SpawnOptions& options, const std::string& program) {
  const std::string what = fmt::format("running '{}'", program);
  switch (failure.step) {
    case Failure::Step::kSession: return fail_errno(failure.error, what + ": making its process group");
    case Failure::Step::kStreams: return fail_errno(failure.error, what + ": handing it its descriptors");
    case Failure::Step::kDirectory:
      return fail_errno(failure.error, fmt::format("{}: going to its folder '{}'", what, options.directory));
    case Failure::Step::kExec: break;
  }
  if (failure.error == ENOENT && program.find('/') != std::string::npos && options.directory.empty() &&
      ::access(program.c_str(), F_OK) == 0) {
    return fail(Errc::kNotFound, what + ": the interpreter that its first line names, or its loader, does not exist");
  }
  if (failure.error == ENOENT) return fail(Errc::kNotFound, program + ": no such file");
  if (failure.error == ENOEXEC) {
    return fail(Errc::kInvalid, what + ": it is neither a program nor a script that begins with '#!'");
  }
  if (failure.error == EACCES)
    return fail(Errc::kRefused, what + ": it may not be executed (make a script executable with chmod +x)");
  return fail_errno(failure.error, what);
}

Status check_texts(const SpawnOptions& options) {
  if (options.argv.empty() || options.argv[0].empty()) return fail(Errc::kInvalid, "running a program: it has no name");
  for (const std::string& argument : options.argv) {
    if (argument.find('\0') != std::string::npos) {
      return fail(Errc::kInvalid, "running '{}': an argument has a zero byte in it", options.argv[0]);
    }
  }
  for (const auto& [name, value] : options.environment) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos ||
        value.find('\0') != std::string::npos) {
      return fail(Errc::kInvalid, "running '{}': '{}' is not a valid environment variable", options.argv[0], name);
    }
  }
  return {};
}

// How much is read of a child's output before others have their turn.
constexpr int kReadsPerTurn = 16;

class OsChild final : public Child {
 public:
  OsChild(Runtime& runtime, std::unique_ptr<ChildProcess> process, std::string name, std::size_t capture)
      : runtime_(runtime), process_(std::move(process)), name_(std::move(name)), capture_(capture) {
    if (process_->output_descriptor() >= 0) reader_ = read_output();
  }

  int64_t pid() const override { return process_->pid(); }

  task<Result<ChildEnd>> wait(Instant deadline, Cancellation* cancel) override {
    if (!end_) {
      auto ended = co_await runtime_.wait_descriptor(process_->end_descriptor(), true, false, deadline, cancel);
      if (!ended && ended.error().code == Errc::kTimeout) co_return fail(Errc::kTimeout, "'{}' still runs", name_);
      if (!ended && ended.error().code == Errc::kCancelled) {
        co_return fail(Errc::kCancelled, "waiting for the end of '{}' was cancelled", name_);
      }
      if (!ended) co_return tl::unexpected(ended.error());
      BW_CO_TRY(auto end, process_->end());
      // Its output is in the pipe. Output beyond the pipe's size comes from a descendant.
      if (process_->output_descriptor() >= 0) take_output();
      end_ = end;
    }
    co_return *end_;
  }

  Status signal(int number) override { return send(process_->pid(), number); }

  Status signal_group(int number) override {
    if (process_->has_own_group()) return send(-process_->pid(), number);
    return fail(Errc::kInvalid, "signalling the process group of '{}': it has no group of its own", name_);
  }

  const std::string& output() const override { return output_; }
  bool output_was_cut() const override { return cut_; }
  void let_go() override { process_->let_go(); }

 private:
  Status send(pid_t whom, int number) const {
    if (::kill(whom, number) == 0) return {};
    return fail_errno(errno, fmt::format("sending signal {} to '{}'", number, name_));
  }

  task<void> read_output() {
    while (true) {
      auto ready =
          co_await runtime_.wait_descriptor(process_->output_descriptor(), true, false, Instant::never(), nullptr);
      if (!ready || !take_output()) co_return;
    }
  }

  // False at the end of the output.
  bool take_output() {
    char buffer[16384];
    for (int i = 0; i < kReadsPerTurn; ++i) {
      const ssize_t n = ::read(process_->output_descriptor(), buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno == EAGAIN;
      if (n == 0) return false;
      const std::size_t room = std::min(static_cast<std::size_t>(n), capture_ - output_.size());
      output_.append(buffer, room);
      cut_ |= room < static_cast<std::size_t>(n);
    }
    return true;
  }

  Runtime& runtime_;
  std::unique_ptr<ChildProcess> process_;
  std::string name_;
  std::size_t capture_;
  std::optional<ChildEnd> end_;
  std::string output_;
  bool cut_ = false;
  task<void> reader_;  // last: it uses the others
};

}  // namespace

void Orphans::add(pid_t pid) {
  const std::lock_guard lock(mutex_);
  pids_.push_back(pid);
}

void Orphans::reap() {
  const std::lock_guard lock(mutex_);
  std::erase_if(pids_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

ChildProcess::~ChildProcess() {
  siginfo_t info{};
  const bool ended =
      ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
  if (!ended && !let_go_) ::kill(own_group_ ? -pid_ : pid_, SIGKILL);
  orphans_->add(pid_);
  orphans_->reap();
  if (end_fd_ >= 0) ::close(end_fd_);
  if (output_fd_ >= 0) ::close(output_fd_);
}

Status ChildProcess::watch_end() {
  end_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (end_fd_ >= 0) return {};
  if (errno == ENOSYS) return fail(Errc::kUnsupported, "running programs needs Linux 5.3 or later");
  return fail_errno(errno, "watching a program");
}

Result<ChildEnd> ChildProcess::end() const {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return fail(Errc::kIo, "another waiter has collected the end of process {}", pid_);
  }
  if (info.si_code == CLD_EXITED) return ChildEnd{info.si_status, 0};
  return ChildEnd{0, info.si_status};
}

Result<std::string> find_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return name;
  std::string not_executable;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t end = std::min(path.find(':', from), path.size());
    const std::string folder = path.substr(from, end - from);
    from = end + 1;
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    struct stat status {};
    if (::stat(candidate.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    if (not_executable.empty()) not_executable = std::move(candidate);
  }
  if (!not_executable.empty()) {
    return fail(Errc::kRefused, "{}: '{}' may not be executed (make it executable with chmod +x)", name,
                not_executable);
  }
  return fail(Errc::kNotFound, "{}: no such file; in PATH: {}", name, path);
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& additions) {
  std::vector<std::string> all;
  const auto is_replaced = [&](std::string_view entry) {
    for (const auto& [name, value] : additions) {
      if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) return true;
    }
    return false;
  };
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!is_replaced(*entry)) all.emplace_back(*entry);
  }
  for (const auto& [name, value] : additions) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

Result<std::unique_ptr<ChildProcess>> launch(const SpawnOptions& options, const std::vector<std::string>& environment,
                                             std::shared_ptr<Orphans> orphans) {
  orphans->reap();
  BW_RETURN_IF_ERROR(check_texts(options));
  const char* path = ::getenv("PATH");
  BW_TRY(const auto program, find_program(options.argv[0], path != nullptr ? path : kDefaultPath));

  OwnedFd nothing;
  if (options.no_input) {
    nothing = above_streams(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (nothing.get() < 0) return fail_errno(errno, "opening '/dev/null'");
  }
  auto output = options.capture > 0 ? make_pipe() : Result<Pipe>(Pipe());
  auto report = make_pipe();
  if (!output || !report) return tl::unexpected((!output ? output : report).error());

  std::vector<char*> argv = pointers(options.argv);
  std::vector<char*> variables = pointers(environment);
  const Plan plan{program.c_str(),
                  options.directory.empty() ? nullptr : options.directory.c_str(),
                  argv.data(),
                  variables.data(),
                  options.keep_open.data(),
                  options.keep_open.size(),
                  options.group,
                  options.die_with_us ? ::getpid() : 0,
                  nothing.get(),
                  output->to.get(),
                  report->to.get(),
                  ignored_signals()};
  notice_ends();
  const pid_t pid = give_birth(plan);
  if (pid < 0) return fail_errno(errno, fmt::format("running '{}'", program));
  auto child = std::make_unique<ChildProcess>(pid, options.group != SpawnOptions::Group::kOurs, std::move(orphans));
  report->to.reset(-1);
  Failure failure{};
  ssize_t n = 0;
  while ((n = ::read(report->from.get(), &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  if (n == sizeof failure) return explain(failure, options, program);
  BW_RETURN_IF_ERROR(child->watch_end());
  if (options.capture > 0) {
    ::fcntl(output->from.get(), F_SETFL, O_NONBLOCK);
    child->take_output(output->from.release());
  }
  return child;
}

task<Result<std::unique_ptr<Child>>> spawn_child(Runtime& runtime, BlockingPool& pool, std::shared_ptr<Orphans> orphans,
                                                 SpawnOptions options) {
  auto operation = [options, environment = environment_with(options.environment), orphans] {
    return launch(options, environment, orphans);
  };
  BW_CO_TRY(auto launched, co_await pool.run(std::move(operation)));
  co_return std::unique_ptr<Child>(
      std::make_unique<OsChild>(runtime, std::move(launched), options.argv[0], options.capture));
}

}  // namespace bellwether::runtime
