#include "lead/drill/candidates.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <span>
#include <unistd.h>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/runtime.h"
#include "core/runtime/timers.h"
#include "election/store/lease_store.h"
#include "election/store/store_url.h"

namespace bellwether::lead {
namespace {

constexpr int64_t kBetweenActs = 5'000'000;

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

void ActLog::feed(std::string_view bytes) {
  rest_ += bytes;
  std::size_t from = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', from)) {
    take(std::string_view(rest_).substr(from, end - from));
    from = end + 1;
  }
  rest_.erase(0, from);
}

void ActLog::take(std::string_view line) {
  const auto last = line.rfind(' ');
  const auto middle = last == std::string_view::npos || last == 0 ? std::string_view::npos : line.rfind(' ', last - 1);
  if (middle == std::string_view::npos) return;
  const auto epoch = parse_u64(line.substr(middle + 1, last - middle - 1));
  const auto at = parse_u64(line.substr(last + 1));
  if (!epoch || !at) return;
  note(line.substr(0, middle), *epoch, Instant::from_ns(static_cast<int64_t>(*at)));
}

void ActLog::note(std::string_view holder, uint64_t epoch, Instant when) {
  ++acts_;
  const auto known =
      std::find_if(reigns_.begin(), reigns_.end(), [&](const Reign& reign) { return reign.epoch == epoch; });
  if (!reigns_.empty() && epoch < reigns_.back().epoch) ++overlaps_;
  if (known == reigns_.end()) {
    const Reign reign{std::string(holder), epoch, when, when, 1};
    // A late reign that was never seen before its successor is not the last one.
    const auto place =
        std::find_if(reigns_.begin(), reigns_.end(), [&](const Reign& other) { return other.epoch > epoch; });
    reigns_.insert(place, reign);
    return;
  }
  if (known->holder != holder) {
    ++overlaps_;
    return;
  }
  known->last = when;
  ++known->acts;
}

int act_for(const std::string& file, Duration span) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return 1;
  const std::string who = fmt::format("{} {} ", variable("BELLWETHER_HOLDER"), variable("BELLWETHER_EPOCH"));
  const int64_t end = runtime::BootClock::now().ns() + span.ns();
  while (runtime::BootClock::now().ns() < end) {
    const std::string line = fmt::format("{}{}\n", who, runtime::BootClock::now().ns());
    if (::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return 1;
    const timespec rest{0, kBetweenActs};
    ::nanosleep(&rest, nullptr);
  }
  ::close(fd);
  return 0;
}

namespace {

constexpr Duration kMaxStop = Duration::seconds(3);

using runtime::task;

constexpr Duration kMaxCommand = Duration::minutes(1);

}  // namespace

struct Forwarder::Pair {
  std::unique_ptr<runtime::Stream> client;
  std::unique_ptr<runtime::Stream> server;
  bool lost = false;  // bytes were thrown away

  void end() {
    client->interrupt(Errc::kReset);
    server->interrupt(Errc::kReset);
  }
};

Forwarder::Forwarder(runtime::Runtime& runtime, runtime::Endpoint target, std::unique_ptr<runtime::Listener> listener)
    : runtime_(runtime), target_(target), listener_(std::move(listener)) {}

Forwarder::~Forwarder() = default;

runtime::task<Result<std::unique_ptr<Forwarder>>> Forwarder::start(runtime::Runtime& runtime, std::string host,
                                                                   uint16_t port) {
  BW_CO_TRY(auto addresses, co_await runtime.resolve(host, nullptr));
  if (addresses.empty()) co_return fail(Errc::kNotFound, "'{}' has no address", host);
  BW_CO_TRY(auto listener, runtime.listen({runtime::IpAddress::loopback(), 0}, {}));
  const runtime::Endpoint target{addresses.front(), port};
  std::unique_ptr<Forwarder> forwarder(new Forwarder(runtime, target, std::move(listener)));
  forwarder->scope_.spawn(forwarder->accept());
  co_return forwarder;
}

void Forwarder::mend() {
  cut_ = false;
  for (Pair* pair : pairs_) {
    if (pair->lost) pair->end();
  }
}

runtime::task<void> Forwarder::stop() {
  scope_.cancel();
  for (Pair* pair : pairs_) pair->end();
  co_await scope_.join();
}

runtime::task<void> Forwarder::accept() {
  while (auto client = co_await runtime::accept_next(runtime_, *listener_, scope_.cancellation())) {
    scope_.spawn(carry(std::move(client)));
  }
}

runtime::task<void> Forwarder::carry(std::unique_ptr<runtime::Stream> client) {
  const runtime::ConnectOptions options;
  auto server = co_await runtime_.connect(target_, options, scope_.cancellation());
  if (!server) co_return;
  Pair pair{std::move(client), std::move(*server), false};
  pairs_.push_back(&pair);
  if (scope_.cancellation()->cancelled()) pair.end();
  {
    runtime::Scope both;
    both.spawn(pump(pair, *pair.client, *pair.server));
    both.spawn(pump(pair, *pair.server, *pair.client));
    co_await both.join();
  }
  pairs_.remove(&pair);
}

runtime::task<void> Forwarder::pump(Pair& pair, runtime::Stream& from, runtime::Stream& to) {
  std::array<char, 16 * 1024> buffer{};
  while (true) {
    const runtime::Io io = from.try_read(std::as_writable_bytes(std::span(buffer)));
    if (io.kind == runtime::Io::Kind::kWouldBlock) {
      const Errc why = co_await from.readable();
      if (why != Errc::kOk) break;
      continue;
    }
    if (io.kind != runtime::Io::Kind::kDone) break;
    if (cut_) {
      pair.lost = true;
      continue;
    }
    const Errc written = co_await runtime::write_all(to, as_bytes(std::string_view(buffer.data(), io.count)));
    if (written != Errc::kOk) break;
  }
  pair.end();
}

Result<std::string> redirected(const std::string& url, uint16_t port) {
  BW_TRY(const auto parsed, store::parse_store_url(url));
  const auto begin = url.find("://");
  if (parsed.hosts.size() != 1 || begin == std::string::npos) {
    return fail(Errc::kUnsupported,
                "the fault 'cut' needs a store with one network address, such as redis://HOST:PORT; a store on the "
                "machine of the candidates cannot be cut off");
  }
  std::size_t host = begin + 3;
  const std::size_t end = std::min(url.find_first_of("/?", host), url.size());
  const auto user = url.rfind('@', end);
  if (user != std::string::npos && user >= host) host = user + 1;
  return fmt::format("{}127.0.0.1:{}{}", url.substr(0, host), port, url.substr(end));
}

// Acts for a good part of a poll, so that a break nearly always hits a leader at work; shorter than its lock.
std::string Candidates::tick_command() const {
  const Duration span = std::min(options_.loop.poll_interval, options_.loop.lock_ttl / 2) * 6 / 10;
  std::string text = fmt::format("exec \"$BELLWETHER_DRILL_PROGRAM\" drill-act {} {}", shell_word(act_file()),
                                 std::max<int64_t>(span.ms(), 20));
  if (options_.command.empty()) return text;
  return fmt::format("({}) & {}; wait", options_.command, text.substr(5));
}

runtime::task<Status> Candidates::open_way(One& one) {
  one.store = options_.loop.store;
  if (options_.fault != DrillFault::kCut) co_return Status();
  BW_CO_RETURN_IF_ERROR(redirected(one.store, 1));
  const auto parsed = store::parse_store_url(one.store);
  BW_CO_TRY(one.way, co_await Forwarder::start(runtime_, parsed->hosts[0].host, parsed->hosts[0].port));
  one.store = *redirected(one.store, one.way->port());
  co_return Status();
}

runtime::task<Status> Candidates::launch(One& one) {
  one.holder = fmt::format("drill-{}", ++launched_);
  const std::string& name = options_.loop.name;
  runtime::SpawnOptions spawn;
  spawn.argv = {"/proc/self/exe",
                "loops",
                "run",
                options_.policy_file,
                "--loop",
                name,
                "--on-tick",
                fmt::format("{}={}", name, tick_command()),
                "--id",
                one.holder,
                "--via",
                one.store,
                "--key-suffix",
                options_.suffix,
                "--trust-empty",
                "--quiet"};
  // The epochs of a drill are remembered for the drill only.
  const std::string program = fmt::format("/proc/{}/exe", runtime_.self().pid);
  spawn.environment = {{"XDG_STATE_HOME", folder_}, {"BELLWETHER_DRILL_PROGRAM", program}};
  spawn.group = runtime::SpawnOptions::Group::kOwnGroup;
  spawn.no_input = true;
  spawn.die_with_us = true;
  BW_CO_TRY(one.process, co_await runtime_.spawn(std::move(spawn)));
  one.broken = false;
  co_return Status();
}

runtime::task<Status> Candidates::start() {
  all_.resize(options_.candidates);
  for (One& one : all_) {
    Status done = co_await open_way(one);
    if (done) done = co_await launch(one);
    if (!done) co_return done;
  }
  co_return Status();
}

runtime::task<Status> Candidates::break_one(std::string holder, uint64_t) {
  for (One& one : all_) {
    if (one.holder != holder) continue;
    one.broken = true;
    switch (options_.fault) {
      case DrillFault::kKill: co_return one.process->signal(SIGKILL);
      case DrillFault::kPause: co_return one.process->signal(SIGSTOP);
      case DrillFault::kCut: one.way->cut(); co_return Status();
      case DrillFault::kCommand: co_return fail(Errc::kUnsupported, "a command can break only running candidates");
    }
  }
  co_return fail(Errc::kNotFound, "'{}' is not a candidate of this drill", holder);
}

runtime::task<Status> Candidates::repair() {
  for (One& one : all_) {
    if (!std::exchange(one.broken, false)) continue;
    Status done;
    switch (options_.fault) {
      case DrillFault::kKill: done = co_await launch(one); break;
      case DrillFault::kPause: done = one.process->signal(SIGCONT); break;
      case DrillFault::kCut: one.way->mend(); break;
      case DrillFault::kCommand: break;
    }
    if (!done) co_return done;
  }
  co_return Status();
}

runtime::task<void> Candidates::stop() {
  for (One& one : all_) {
    if (one.way != nullptr) one.way->mend();
    if (one.process == nullptr) continue;
    (void)one.process->signal(SIGCONT);
    (void)one.process->signal(SIGTERM);
  }
  const Instant most = runtime_.read_clock() + kMaxStop;
  for (One& one : all_) {
    if (one.process == nullptr) continue;
    [[maybe_unused]] const auto end = co_await one.process->wait(most, nullptr);
    one.process.reset();  // kills a process that did not end
    if (one.way != nullptr) co_await one.way->stop();
  }
}

int64_t pid_in_name(const std::string& holder, const std::string& this_host) {
  const auto colon = holder.rfind(':');
  if (colon == std::string::npos || this_host.empty() || holder.substr(0, colon) != this_host) return 0;
  const auto pid = parse_u64(std::string_view(holder).substr(colon + 1));
  return pid && *pid <= INT32_MAX ? static_cast<int64_t>(*pid) : 0;
}

Result<int64_t> Attached::process_of(const std::string& holder) {
  int64_t pid = pid_in_name(holder, runtime_.self().host);
  for (const auto& [name, given] : options_.pids) {
    if (name == holder) pid = given;
  }
  if (pid <= 1 || pid == runtime_.self().pid) {
    return fail(Errc::kNotFound,
                "the process of '{}' is unknown on this machine: name it with --pid '{}=PID', or use --break-with and "
                "a command that reaches it",
                holder, holder);
  }
  if (const Status same = known_.same(pid, runtime_.look_at_process(pid)); !same) {
    return fail(same.error().code, fmt::format("'{}' should be process {}, {}", holder, pid, same.error().message));
  }
  return pid;
}

Status KnownProcesses::same(int64_t pid, const runtime::ProcessSight& seen) {
  if (seen.state == runtime::ProcessSight::State::kDead) {
    return fail(Errc::kNotFound, "which does not run on this machine");
  }
  const auto known = begun_.find(pid);
  if (known == begun_.end() && !killed_.contains(pid)) {
    if (seen.start_time) begun_.emplace(pid, *seen.start_time);
    return {};
  }
  if (known != begun_.end() && known->second == seen.start_time) return {};
  return fail(Errc::kNotFound, "which has ended; another process may have its id now");
}

task<Status> Attached::start() {
  for (const auto& [name, pid] : options_.pids) {
    [[maybe_unused]] const Status runs = known_.same(pid, runtime_.look_at_process(pid));
  }
  co_return Status();
}

task<Status> Attached::break_one(std::string holder, uint64_t epoch) {
  holder_ = std::move(holder);
  epoch_ = epoch;
  const auto pid = process_of(holder_);
  pid_ = pid.value_or(0);
  if (options_.fault == DrillFault::kCommand) {
    auto done = co_await command(options_.break_command);
    co_return done;
  }
  BW_CO_RETURN_IF_ERROR(pid);
  const bool pause = options_.fault == DrillFault::kPause;
  if (::kill(static_cast<pid_t>(pid_), pause ? SIGSTOP : SIGKILL) != 0) {
    co_return fail_errno(errno, fmt::format("process {} of '{}'", pid_, holder_));
  }
  paused_ = pause;
  if (!pause) known_.killed(pid_);
  co_return Status();
}

task<Status> Attached::repair() {
  if (std::exchange(paused_, false)) ::kill(static_cast<pid_t>(pid_), SIGCONT);
  if (options_.repair_command.empty() || holder_.empty()) co_return Status();
  auto done = co_await command(options_.repair_command);
  holder_.clear();
  co_return done;
}

task<void> Attached::stop() { [[maybe_unused]] const Status repaired = co_await repair(); }

task<Status> Attached::command(std::string text) {
  runtime::SpawnOptions spawn;
  spawn.argv = {"/bin/sh", "-c", "exec 2>&1\n" + text};
  spawn.environment = {{"BELLWETHER_HOLDER", holder_},
                       {"BELLWETHER_EPOCH", std::to_string(epoch_)},
                       {"BELLWETHER_KEY", options_.loop.lock_key},
                       {"BELLWETHER_PID", pid_ > 0 ? std::to_string(pid_) : std::string()}};
  spawn.no_input = true;
  spawn.capture = 64 * 1024;  // standard output is that of the report
  BW_CO_TRY(auto child, co_await runtime_.spawn(std::move(spawn)));
  const auto end = co_await child->wait(runtime_.read_clock() + kMaxCommand, nullptr);
  if (!end) co_return fail(Errc::kTimeout, "'{}' does not end", text);
  child->let_go();
  if (!end->succeeded()) co_return fail(Errc::kInvalid, "'{}' failed{}", text, last_lines(child->output()));
  co_return Status();
}

task<Result<std::unique_ptr<KeyWatch>>> KeyWatch::open(runtime::Runtime& runtime, std::string url, std::string key) {
  std::unique_ptr<KeyWatch> watch(new KeyWatch(runtime));
  BW_CO_TRY(watch->store_, co_await store::open_store(runtime, std::move(url)));
  BW_CO_TRY(watch->key_, watch->store_->open(std::move(key)));
  co_return watch;
}

task<Status> KeyWatch::look(ActLog& log, Duration timeout) {
  const Instant before = runtime_.boot_now();
  const auto seen = co_await key_->look(runtime_.read_clock() + timeout, nullptr);
  if (!seen) co_return tl::unexpected(seen.error());
  held_ = seen->present && seen->record.held();
  if (!held_ || seen->version == version_) co_return Status();
  version_ = seen->version;
  // The state is at most as old as the store's answer time.
  log.note(seen->record.holder, seen->record.epoch.value(), before);
  co_return Status();
}

}  // namespace bellwether::lead
