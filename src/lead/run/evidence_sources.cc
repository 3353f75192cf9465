#include "lead/run/evidence_sources.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/base/units.h"

namespace bellwether::lead {

using election::EvidenceKind;

EvidenceSources::EvidenceSources(runtime::Runtime& runtime, const LeadOptions& options)
    : runtime_(runtime), options_(options) {
  std::array<int, 2> ends{};
  if (options.progress_within && ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0) {
    progress_read_ = ends[0];
    progress_write_ = ends[1];
  }
}

EvidenceSources::~EvidenceSources() {
  for (const int fd : {progress_read_, progress_write_}) {
    if (fd >= 0) ::close(fd);
  }
}

bool EvidenceSources::wanted(const LeadOptions& options) {
  return options.progress_within || !options.health_command.empty() || !options.disk_probe.empty();
}

void EvidenceSources::require(election::Evidence& evidence) const {
  if (options_.progress_within) evidence.require(EvidenceKind::kWork, *options_.progress_within);
  if (!options_.health_command.empty()) evidence.require(EvidenceKind::kCommand, options_.health_every * 3);
  if (!options_.disk_probe.empty()) evidence.require(EvidenceKind::kDisk, disk_limit());
}

void EvidenceSources::add_to(CommandOptions& command) const {
  if (progress_write_ < 0) return;
  command.more_open.push_back(progress_write_);
  command.environment.emplace_back("BELLWETHER_PROGRESS_FD", std::to_string(progress_write_));
}

void EvidenceSources::start(runtime::Scope& scope, EvidenceTaker taker) {
  if (!options_.health_command.empty()) scope.spawn(watch_health(taker, scope.cancellation()));
  if (progress_read_ >= 0) scope.spawn(watch_progress(taker, scope.cancellation()));
  if (!options_.disk_probe.empty()) scope.spawn(watch_disk(taker, scope.cancellation()));
}

// Unread output of the last work says nothing of the next.
void EvidenceSources::work_begins() {
  std::array<char, 4096> buffer{};
  while (progress_read_ >= 0 && ::read(progress_read_, buffer.data(), buffer.size()) > 0) {
  }
}

runtime::task<void> EvidenceSources::watch_health(EvidenceTaker taker, runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const std::string trouble = co_await ask_health(cancel);
    if (cancel->cancelled()) co_return;
    if (trouble.empty()) {
      taker.good(EvidenceKind::kCommand);
    } else {
      taker.bad(EvidenceKind::kCommand, trouble);
    }
    co_await runtime_.sleep(options_.health_every, cancel);
  }
}

// Empty when the command said that all is well.
runtime::task<std::string> EvidenceSources::ask_health(runtime::Cancellation* cancel) {
  runtime::SpawnOptions options;
  options.argv = {"/bin/sh", "-c", options_.health_command};
  options.environment = {{"BELLWETHER_KEY", options_.key}};
  options.group = runtime::SpawnOptions::Group::kOwnGroup;
  options.no_input = true;
  options.die_with_us = true;
  const auto child = co_await runtime_.spawn(std::move(options));
  if (!child) co_return child.error().message;
  const Instant deadline = runtime_.read_clock() + options_.health_every * 2;
  const auto end = co_await (*child)->wait(deadline, cancel);
  if (!end) {
    (void)(*child)->signal_group(SIGKILL);
    co_return "no answer within " + format_duration(options_.health_every * 2);
  }
  if (end->succeeded()) co_return std::string();
  co_return end->signal != 0 ? fmt::format("ended by signal {}", end->signal)
                             : fmt::format("exit code {}", end->exit_code);
}

runtime::task<void> EvidenceSources::watch_progress(EvidenceTaker taker, runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const auto ready = co_await runtime_.wait_descriptor(progress_read_, true, false, Instant::never(), cancel);
    if (!ready) co_return;
    std::array<char, 4096> buffer{};
    while (::read(progress_read_, buffer.data(), buffer.size()) > 0) {
    }
    taker.good(EvidenceKind::kWork);
    // Work that writes all the time must not make this turn all the time.
    co_await runtime_.sleep(*options_.progress_within / 10, cancel);
  }
}

runtime::task<void> EvidenceSources::watch_disk(EvidenceTaker taker, runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const Status written = co_await write_probe();
    if (written) {
      taker.good(EvidenceKind::kDisk);
    } else {
      taker.bad(EvidenceKind::kDisk, written.error().message);
    }
    co_await runtime_.sleep(disk_limit() / 5, cancel);
  }
}

// A hanging disk makes this hang on purpose: then no evidence comes.
runtime::task<Status> EvidenceSources::write_probe() {
  const std::string path = fmt::format("{}/.bellwether-probe-{}", options_.disk_probe, runtime_.self().pid);
  const runtime::OpenOptions options{.create = true, .truncate = true, .write = true, .no_follow = true, .mode = 0600};
  BW_CO_TRY(const auto file, co_await runtime_.open(path, options));
  const std::string text = "probe\n";
  Status done = co_await file->write_at(0, as_bytes(text));
  if (done) done = co_await file->sync();
  const Status removed = co_await runtime_.remove(path);
  co_return done ? removed : done;
}

}  // namespace bellwether::lead
