#include "lead/drill/contenders.h"

#include <array>
#include <csignal>
#include <span>
#include <utility>

#include "core/base/shell_word.h"
#include "core/runtime/stream_io.h"
#include "election/store/store_url.h"

namespace bellwether::lead {
namespace {

constexpr Duration kMaxStop = Duration::seconds(3);

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
                "machine of the contenders cannot be cut off");
  }
  std::size_t host = begin + 3;
  const std::size_t end = std::min(url.find_first_of("/?", host), url.size());
  const auto user = url.rfind('@', end);
  if (user != std::string::npos && user >= host) host = user + 1;
  return fmt::format("{}127.0.0.1:{}{}", url.substr(0, host), port, url.substr(end));
}

// Acts for a good part of a poll, so that a break nearly always hits a leader at work; shorter than its lock.
std::string Contenders::tick_command() const {
  const Duration span = std::min(options_.loop.poll_interval, options_.loop.lock_ttl / 2) * 6 / 10;
  std::string text = fmt::format("exec \"$BELLWETHER_DRILL_PROGRAM\" drill-act {} {}", shell_word(act_file()),
                                 std::max<int64_t>(span.ms(), 20));
  if (options_.command.empty()) return text;
  return fmt::format("({}) & {}; wait", options_.command, text.substr(5));
}

runtime::task<Status> Contenders::open_way(One& one) {
  one.store = options_.loop.store;
  if (options_.fault != DrillFault::kCut) co_return Status();
  BW_CO_RETURN_IF_ERROR(redirected(one.store, 1));
  const auto parsed = store::parse_store_url(one.store);
  BW_CO_TRY(one.way, co_await Forwarder::start(runtime_, parsed->hosts[0].host, parsed->hosts[0].port));
  one.store = *redirected(one.store, one.way->port());
  co_return Status();
}

runtime::task<Status> Contenders::launch(One& one) {
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

runtime::task<Status> Contenders::start() {
  all_.resize(options_.contenders);
  for (One& one : all_) {
    Status done = co_await open_way(one);
    if (done) done = co_await launch(one);
    if (!done) co_return done;
  }
  co_return Status();
}

runtime::task<Status> Contenders::break_one(std::string holder, uint64_t) {
  for (One& one : all_) {
    if (one.holder != holder) continue;
    one.broken = true;
    switch (options_.fault) {
      case DrillFault::kKill: co_return one.process->signal(SIGKILL);
      case DrillFault::kPause: co_return one.process->signal(SIGSTOP);
      case DrillFault::kCut: one.way->cut(); co_return Status();
      case DrillFault::kCommand: co_return fail(Errc::kUnsupported, "a command can break only running contenders");
    }
  }
  co_return fail(Errc::kNotFound, "'{}' is not a contender of this drill", holder);
}

runtime::task<Status> Contenders::repair() {
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

runtime::task<void> Contenders::stop() {
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

}  // namespace bellwether::lead
