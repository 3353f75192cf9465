#include "lead/drill/forwarder.h"

#include <array>
#include <span>

namespace bellwether::lead {

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
  if (addresses.empty()) co_return fail(Errc::kNotFound, "'" + host + "' has no address");
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
  while (true) {
    auto client = co_await listener_->accept(scope_.cancellation());
    if (client) {
      scope_.spawn(carry(std::move(*client)));
      continue;
    }
    if (client.error().code == Errc::kCancelled) co_return;
    const bool rested = co_await runtime_.sleep(Duration::millis(10), scope_.cancellation());
    if (!rested) co_return;
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
    const bool written = co_await write(to, std::string(buffer.data(), io.count));
    if (!written) break;
  }
  pair.end();
}

runtime::task<bool> Forwarder::write(runtime::Stream& to, std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const runtime::Io io = to.try_write(as_bytes(rest));
    if (io.kind == runtime::Io::Kind::kWouldBlock) {
      const Errc why = co_await to.writable();
      if (why != Errc::kOk) co_return false;
      continue;
    }
    if (io.kind != runtime::Io::Kind::kDone) co_return false;
    rest.remove_prefix(io.count);
  }
  co_return true;
}

}  // namespace bellwether::lead
