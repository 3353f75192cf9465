#include "cluster/wire/link/server.h"

#include <cstring>

#include "cluster/wire/link/stream_io.h"

namespace bellwether::link {

using runtime::Cancellation;
using runtime::Stream;
using runtime::task;
using runtime::Within;
using runtime::write_all;
using wire::Refusal;

namespace {

constexpr uint32_t kServerUnsent = 64 * 1024;
constexpr std::size_t kProbeBytes = 4;

}  // namespace

// A peer from which no frame has been opened yet with the keys of the connection.
struct Server::Stranger {
  std::unique_ptr<Stream> stream;
  runtime::Endpoint from;
  Connection* connection = nullptr;   // once it exists
  Cancellation* handshake = nullptr;  // while TLS has the stream

  void end() {
    if (connection != nullptr) connection->close({Errc::kExhausted, "too many handshakes at a time"});
    if (handshake != nullptr) handshake->cancel();
    if (stream != nullptr) stream->interrupt(Errc::kExhausted);
  }
};

Server::Server(runtime::Runtime& runtime, ServerSettings settings, const wire::Keyring& keyring,
               ConnectionHandler& handler, RefusalWatch& refusals, std::unique_ptr<runtime::Listener> listener)
    : runtime_(runtime),
      settings_(std::move(settings)),
      keyring_(keyring),
      handler_(handler),
      refusals_(refusals),
      listener_(std::move(listener)),
      rate_(settings_.rate, runtime.prng().next()) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(runtime::Runtime& runtime, runtime::Endpoint at, ServerSettings settings,
                                               const wire::Keyring& keyring, ConnectionHandler& handler,
                                               RefusalWatch& refusals) {
  runtime::ListenOptions options;
  options.unsent = kServerUnsent;
  BW_TRY(auto listener, runtime.listen(at, options));
  return std::unique_ptr<Server>(
      new Server(runtime, std::move(settings), keyring, handler, refusals, std::move(listener)));
}

task<void> Server::serve(Cancellation* cancel) {
  runtime::Scope scope(cancel);
  while (auto stream = co_await runtime::accept_next(runtime_, *listener_, scope.cancellation())) {
    const runtime::Endpoint from = stream->peer();
    if (!rate_.allow(from.address.octets(), runtime_.now())) {
      refusals_.note(Refusal::kRateLimited, from, "too many connections from this address", runtime_.now());
      stream->reset_when_closed();
      continue;
    }
    make_room();
    scope.spawn(converse(std::move(stream), scope.cancellation()));
  }
  co_await scope.join();
}

// A peer that has proven to be a node of ours is no stranger any more.
void Server::forget_known() {
  strangers_.remove_if([](const Stranger* one) { return one->connection != nullptr && one->connection->open(); });
}

std::size_t Server::strangers() {
  forget_known();
  return strangers_.size();
}

void Server::make_room() {
  if (strangers_.size() >= settings_.strangers) forget_known();
  if (strangers_.size() < settings_.strangers) return;
  Stranger* oldest = strangers_.front();
  strangers_.pop_front();
  refusals_.note(Refusal::kCrowded, oldest->from, "too many handshakes at a time", runtime_.now());
  oldest->end();
}

// Of one that was pushed out, or whose server ends, it is known already.
void Server::give_up(Stranger& stranger, Errc why, Refusal refusal) {
  stranger.stream->reset_when_closed();
  if (why == Errc::kExhausted || why == Errc::kCancelled) return;
  refusals_.note(why == Errc::kTimeout ? Refusal::kTimeout : refusal, stranger.from, "its first message was not whole",
                 runtime_.now());
}

task<void> Server::converse(std::unique_ptr<Stream> stream, Cancellation* cancel) {
  Stranger stranger{.stream = std::move(stream), .from = {}};
  stranger.from = stranger.stream->peer();
  strangers_.push_back(&stranger);
  const std::unique_ptr<Connection> connection = co_await meet(stranger, cancel);
  if (connection != nullptr && connections_.size() >= settings_.connections) {
    refusals_.note(Refusal::kCrowded, stranger.from, "too many connections", runtime_.now());
  } else if (connection != nullptr) {
    stranger.connection = connection.get();
    connections_.push_back(connection.get());
    const Error why = co_await connection->run(cancel);
    connections_.remove(connection.get());
  }
  strangers_.remove(&stranger);
}

// False: that was all. Else `bytes` has the first four, or more.
task<bool> Server::first_bytes(Stranger& stranger, std::vector<std::byte>& bytes) {
  const Errc read = co_await read_at_least(*stranger.stream, bytes, kProbeBytes, wire::kLengthBytes + wire::kMaxHello);
  if (read != Errc::kOk) {
    give_up(stranger, read, Refusal::kTruncated);
    co_return false;
  }
  if (as_text(Bytes(bytes).first(kProbeBytes)) != "PING") co_return true;
  ++probes_;
  const Errc sent = co_await write_all(*stranger.stream, as_bytes("PONG"));
  if (sent == Errc::kOk) stranger.stream->finish_writing();
  co_return false;
}

task<bool> Server::secure(Stranger& stranger, std::vector<std::byte>& bytes, wire::Proof& proof, Cancellation* cancel) {
  auto whole = std::make_unique<PrefixedStream>(std::move(stranger.stream), std::move(bytes));
  bytes.clear();
  stranger.stream = nullptr;
  runtime::Cancellation over(cancel);
  stranger.handshake = &over;
  auto secured =
      co_await runtime::tls_accept(runtime_, std::move(whole), settings_.tls, settings_.handshake_timeout, &over);
  stranger.handshake = nullptr;
  if (!secured) {
    refusals_.note(Refusal::kCertificate, stranger.from, secured.error().message, runtime_.now());
    co_return false;
  }
  stranger.stream = std::move(*secured);
  proof = proof_of(*stranger.stream, *settings_.tls);
  co_return true;
}

task<std::unique_ptr<Connection>> Server::meet(Stranger& stranger, Cancellation* cancel) {
  const Instant deadline = runtime_.now() + settings_.handshake_timeout;
  Connection::Parts parts;
  {
    const Within within(runtime_, *stranger.stream, deadline, cancel);
    const bool more = co_await first_bytes(stranger, parts.received);
    if (!more) co_return nullptr;
  }
  wire::Proof proof;
  if (settings_.tls != nullptr) {
    const bool secured = co_await secure(stranger, parts.received, proof, cancel);
    if (!secured) co_return nullptr;
  }
  const Within within(runtime_, *stranger.stream, deadline, cancel);
  const FirstFrame first = co_await read_frame(*stranger.stream, parts.received, wire::kMaxHello);
  if (first.error != Errc::kOk) {
    give_up(stranger, first.error, first.refusal);
    co_return nullptr;
  }
  const MutableBytes text = MutableBytes(parts.received).subspan(wire::kLengthBytes, first.text);
  const wire::SessionId session = wire::SessionId::draw(runtime_.wall_now(), runtime_.prng());
  auto answer = wire::Acceptor::on_hello(settings_.handshake, keyring_, text, session, proof);
  if (!answer.agreed) refusals_.note(answer.agreed.error(), stranger.from, runtime_.now());
  if (!answer.frame.empty()) {
    const Errc sent = co_await write_all(*stranger.stream, framed(answer.frame));
    if (sent != Errc::kOk) co_return nullptr;
  }
  if (!answer.agreed) {
    if (answer.frame.empty()) stranger.stream->reset_when_closed();
    co_return nullptr;
  }
  const auto taken = static_cast<std::ptrdiff_t>(wire::kLengthBytes + first.text);
  parts.received.erase(parts.received.begin(), parts.received.begin() + taken);
  parts.agreement = std::move(*answer.agreed);
  parts.prove_by = deadline;
  parts.stream = std::move(stranger.stream);
  wire::SessionLimits limits = settings_.session;
  limits.serving_max = settings_.handshake.self.requests_max;
  co_return std::make_unique<Connection>(runtime_, std::move(parts), limits, handler_, refusals_);
}

}  // namespace bellwether::link
