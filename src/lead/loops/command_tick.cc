#include "lead/loops/command_tick.h"

#include <array>
#include <fcntl.h>
#include <unistd.h>

#include "base/bytes.h"

namespace bellwether::lead {

CommandTick::CommandTick(runtime::Runtime& runtime, store::StoreKey& key, std::string loop, std::string command,
                         LeaseFigures& figures)
    : runtime_(runtime), key_(key), loop_(std::move(loop)), command_text_(std::move(command)), figures_(figures) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  report_read_ = ends[0];
  report_write_ = ends[1];
}

CommandTick::~CommandTick() {
  for (const int fd : {report_read_, report_write_}) {
    if (fd >= 0) ::close(fd);
  }
}

CommandOptions CommandTick::options_for(const election::TermOfOffice& term, Instant kill_at) const {
  CommandOptions options;
  options.command = {"/bin/sh", "-c", command_text_};
  options.environment = {{"BELLWETHER_LOOP", loop_},
                         {"BELLWETHER_KEY", term.key},
                         {"BELLWETHER_HOLDER", term.holder},
                         {"BELLWETHER_EPOCH", std::to_string(term.epoch.value())}};
  options.lock_fd = key_.claim_descriptor();
  options.term_ends = term.end->ends_at();
  options.kill_at = kill_at;
  if (report_write_ >= 0) {
    options.more_open.push_back(report_write_);
    options.environment.emplace_back("BELLWETHER_REPORT_FD", std::to_string(report_write_));
  }
  return options;
}

void CommandTick::deadlines_moved(Instant term_ends, Instant kill_at) {
  if (command_ != nullptr) command_->set_deadlines(term_ends, kill_at);
}

runtime::task<Status> CommandTick::tick(election::TermOfOffice term, Instant kill_at, runtime::Cancellation* cancel) {
  BW_CO_TRY(command_, GuardedCommand::create(runtime_, options_for(term, kill_at)));
  if (const Status started = co_await command_->start(); !started) {
    command_.reset();
    co_return started;
  }
  CommandEnd end;
  {
    const runtime::CancelCallback on_cancel(
        cancel, [](void* command) { static_cast<GuardedCommand*>(command)->stop(); }, command_.get());
    end = co_await command_->wait_until_gone();
  }
  command_.reset();
  take_report();
  if (end.signal != 0) co_return fail(Errc::kCancelled, "ended by signal " + std::to_string(end.signal));
  if (end.exit_code != 0) co_return fail(Errc::kInvalid, "exit code " + std::to_string(end.exit_code));
  co_return Status();
}

void CommandTick::take_report() {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t size = report_read_ < 0 ? -1 : ::read(report_read_, buffer.data(), buffer.size());
    if (size <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const auto space = line.find(' ');
    const auto count = space == std::string_view::npos ? std::nullopt : parse_u64(line.substr(space + 1));
    if (!count) continue;
    if (line.substr(0, space) == "stale_jobs") figures_.stale_jobs(*count);
    if (line.substr(0, space) == "orphan_replayed") figures_.orphans_replayed(*count);
  }
}

}  // namespace bellwether::lead
