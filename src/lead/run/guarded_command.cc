#include "lead/run/guarded_command.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/bytes.h"
#include "lead/run/guardian.h"

namespace bellwether::lead {
namespace {

constexpr Duration kMaxStart = Duration::seconds(10);
constexpr Duration kLookAtGuardian = Duration::millis(50);  // between looks at a guardian that is silent
constexpr Duration kAgain = Duration::millis(2);            // and at killed processes, until none is left
constexpr const char* kMark = "BELLWETHER_GUARD";           // in the environment of a command and all that it starts

std::string_view word(std::string_view& text) {
  const auto end = text.find(' ');
  const std::string_view first = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return first;
}

}  // namespace

GuardedCommand::GuardedCommand(runtime::Runtime& runtime, CommandOptions options, DeadlinePage page, int socket_fd,
                               int guardian_fd)
    : runtime_(runtime),
      options_(std::move(options)),
      page_(std::move(page)),
      socket_fd_(socket_fd),
      guardian_fd_(guardian_fd),
      // Differs for each command.
      mark_(fmt::format("{}={}-{}", kMark, runtime.self().pid, runtime.boot_now().ns())) {
  page_.set(options_.term_ends, options_.kill_at);
}

GuardedCommand::~GuardedCommand() {
  // Its end informs the guardian that this process leads no more.
  ::close(socket_fd_);
  if (guardian_fd_ >= 0) ::close(guardian_fd_);
  if (guardian_ != nullptr) guardian_->let_go();
}

Result<std::unique_ptr<GuardedCommand>> GuardedCommand::create(runtime::Runtime& runtime, CommandOptions options) {
  BW_TRY(auto page, DeadlinePage::create());
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return fail_errno(errno, "creating a socket for the guardian");
  }
  return std::unique_ptr<GuardedCommand>(
      new GuardedCommand(runtime, std::move(options), std::move(page), sockets[0], sockets[1]));
}

std::string how_it_ended(const runtime::ChildEnd& end) {
  return end.signal != 0 ? fmt::format("signal {}", end.signal) : fmt::format("exit code {}", end.exit_code);
}

runtime::task<Status> GuardedCommand::start() {
  GuardianCall call;
  call.page_fd = page_.descriptor();
  call.socket_fd = guardian_fd_;
  call.lock_fd = options_.lock_fd;
  call.command_has_lock = options_.command_has_lock;
  call.stop_signal = options_.stop_signal;
  call.command = options_.command;

  runtime::SpawnOptions spawn;
  spawn.argv = call.arguments();
  spawn.argv.insert(spawn.argv.begin(), "/proc/self/exe");
  spawn.environment = std::move(options_.environment);
  spawn.environment.emplace_back(kMark, mark_.substr(mark_.find('=') + 1));
  spawn.group = runtime::SpawnOptions::Group::kOwnGroup;
  spawn.keep_open = std::move(options_.more_open);
  spawn.keep_open.push_back(call.page_fd);
  spawn.keep_open.push_back(call.socket_fd);
  if (call.lock_fd >= 0) spawn.keep_open.push_back(call.lock_fd);
  auto guardian = co_await runtime_.spawn(std::move(spawn));
  ::close(std::exchange(guardian_fd_, -1));
  BW_CO_TRY(guardian_, std::move(guardian));

  const std::string first = co_await hear(runtime_.read_clock() + kMaxStart, nullptr);
  std::string_view text = first;
  const std::string_view verb = word(text);
  if (verb == "started") {
    pid_ = static_cast<int64_t>(parse_u64(text).value_or(0));
    co_return Status();
  }
  if (verb == "failed") {
    const int reason = static_cast<int>(parse_u64(word(text)).value_or(0));
    co_return fail(errc_from_errno(reason), std::string(text));
  }
  // It may have started the command and died, or been stopped, before its report.
  (void)guardian_->signal(SIGKILL);
  while (!kill_ourselves()) co_await runtime_.sleep(kAgain);
  co_return fail(Errc::kIo, "the guardian did not start the command");
}

void GuardedCommand::tell(const std::string& text) {
  [[maybe_unused]] const auto sent = ::send(socket_fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void GuardedCommand::set_deadlines(Instant term_ends, Instant kill_at) {
  const bool earlier = term_ends < page_.term_ends() || kill_at < page_.kill_at();
  page_.set(term_ends, kill_at);
  if (earlier) tell("look");  // its timer is set to the later time
}

void GuardedCommand::stop() {
  asked_ = true;
  tell("stop");
}

void GuardedCommand::kill() {
  asked_ = true;
  tell("kill");
}

void GuardedCommand::signal(int number) { tell(fmt::format("signal {}", number)); }

// The next message of the guardian; empty when it is gone, or silent until `deadline`.
runtime::task<std::string> GuardedCommand::hear(Instant deadline, runtime::Cancellation* cancel) {
  const auto ready = co_await runtime_.wait_descriptor(socket_fd_, true, false, deadline, cancel);
  if (!ready) co_return std::string();
  std::array<char, 512> buffer{};
  const ssize_t size = ::recv(socket_fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  co_return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string("gone");
}

// A stopped guardian does not act; a killed one has taken only the command itself with it. SIGKILL reaches processes in
// every state. True when nothing is left.
bool GuardedCommand::kill_ourselves() const {
  const auto group = static_cast<pid_t>(pid_ > 0 ? pid_ : -1);  // unknown when the guardian never told it
  if (group > 0) ::kill(-group, SIGKILL);
  // The group may have members that no parent collects. Processes that have left it, for example into another session,
  // must end as well.
  const Living living = living_of(group, mark_);
  bool empty = living.complete;
  for (const pid_t pid : living.pids) {
    if (pid == guardian_->pid()) continue;
    empty = false;
    ::kill(pid, SIGKILL);
  }
  return empty;
}

runtime::task<CommandEnd> GuardedCommand::wait_until_gone() {
  CommandEnd end;
  bool guardian_gone = false;
  bool known = false;
  while (true) {
    std::string said;
    const Duration left = page_.kill_at() - runtime_.boot_now();
    const Duration patience = guardian_gone ? kAgain : std::clamp(left, kAgain, kLookAtGuardian);
    if (!guardian_gone) {
      const Instant look = runtime_.read_clock() + patience;
      said = co_await hear(look, nullptr);
    } else {
      co_await runtime_.sleep(patience);
    }
    std::string_view text = said;
    const std::string_view verb = word(text);
    if (verb == "empty") break;
    if (verb == "exit") {
      end.exit_code = static_cast<int>(parse_u64(text).value_or(1));
      known = true;
    } else if (verb == "signal") {
      end.signal = static_cast<int>(parse_u64(text).value_or(SIGKILL));
      known = true;
    } else if (verb == "gone") {
      guardian_gone = true;
    }
    const bool late = runtime_.boot_now() >= page_.kill_at();
    if ((late || guardian_gone) && kill_ourselves()) {
      // A guardian that does not report so is stopped. It has no further use.
      (void)guardian_->signal(SIGKILL);
      break;
    }
  }
  if (!known) end.signal = SIGKILL;
  end.asked = asked_ || runtime_.boot_now() >= page_.term_ends();
  co_return end;
}

void TermCommands::set_deadlines(Instant term_ends, Instant kill_at) {
  term_ends_ = term_ends;
  kill_at_ = kill_at;
  for (GuardedCommand* const one : running_) one->set_deadlines(term_ends, kill_at);
}

void TermCommands::stop() {
  for (GuardedCommand* const one : running_) one->stop();
}

void TermCommands::kill() {
  for (GuardedCommand* const one : running_) one->kill();
}

runtime::task<Result<CommandEnd>> TermCommands::run(CommandOptions options, runtime::Cancellation* stop,
                                                    runtime::Cancellation* kill) {
  options.term_ends = term_ends_;
  options.kill_at = kill_at_;
  BW_CO_TRY(const auto command, GuardedCommand::create(runtime_, std::move(options)));
  running_.insert(command.get());
  const runtime::CancelCallback on_stop(
      stop, [](void* one) { static_cast<GuardedCommand*>(one)->stop(); }, command.get());
  const runtime::CancelCallback on_kill(
      kill, [](void* one) { static_cast<GuardedCommand*>(one)->kill(); }, command.get());
  Status started = co_await command->start();
  CommandEnd end;
  if (started) end = co_await command->wait_until_gone();
  running_.erase(command.get());
  BW_CO_RETURN_IF_ERROR(std::move(started));
  co_return end;
}

}  // namespace bellwether::lead
