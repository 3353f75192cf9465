#include "cluster/wire/link/client.h"

#include <cstring>

#include "cluster/wire/link/stream_io.h"

namespace bellwether::link {

using runtime::Cancellation;
using runtime::Endpoint;
using runtime::Runtime;
using runtime::Stream;
using runtime::task;
using runtime::Within;
using runtime::write_all;

namespace {

constexpr uint32_t kUnsent = 64 * 1024;

tl::unexpected<DialFailure> failed(Errc code, std::string message, wire::Refusal refusal = wire::Refusal::kNone) {
  return tl::unexpected<DialFailure>(DialFailure{{code, std::move(message)}, refusal});
}

// `secured`: the stream speaks TLS.
std::string broken(const Endpoint& to, Errc why, const Stream& stream, bool secured) {
  if (why == Errc::kTimeout) return fmt::format("the handshake with {} took too long", to.to_string());
  if (why == Errc::kCancelled) return fmt::format("connecting to {} was cancelled", to.to_string());
  if (why == Errc::kTls) {
    return fmt::format(
        "{} closed TLS after the handshake ({}); it probably does not trust this node's certificate: check "
        "tls.certificate and the log of that node",
        to.to_string(), runtime::tls_failure(stream));
  }
  return fmt::format(
      "{} closed the connection during the handshake; probable causes: its secret differs from this node's (give both "
      "the same secret.file), {}or too many connections; its log says which",
      to.to_string(), secured ? "" : "a missing certificate (tls.certificate), ");
}

}  // namespace

task<Dialled> dial(Runtime& runtime, Endpoint to, std::string name, const DialSettings& settings,
                   const wire::Keyring& keyring, ConnectionHandler& handler, RefusalWatch& refusals,
                   Cancellation* cancel) {
  runtime::ConnectOptions options;
  options.timeout = settings.connect_timeout;
  options.unsent = kUnsent;
  auto connected = co_await runtime.connect(to, options, cancel);
  if (!connected) co_return failed(connected.error().code, connected.error().message);
  std::unique_ptr<Stream> stream = std::move(*connected);
  wire::Proof proof;
  if (settings.tls != nullptr) {
    auto secured = co_await runtime::tls_connect(runtime, std::move(stream), settings.tls, std::move(name),
                                                 settings.handshake_timeout, cancel);
    if (!secured) co_return failed(secured.error().code, secured.error().message, wire::Refusal::kCertificate);
    stream = std::move(*secured);
    proof = proof_of(*stream, *settings.tls);
  }
  Connection::Parts parts;
  parts.opener = true;
  {
    const Within within(runtime, *stream, runtime.now() + settings.handshake_timeout, cancel);
    const wire::SessionId session = wire::SessionId::draw(runtime.wall_now(), runtime.prng());
    const wire::Opener opener(settings.handshake, keyring, session);
    const Errc sent = co_await write_all(*stream, framed(opener.hello()));
    if (sent != Errc::kOk) co_return failed(sent, broken(to, sent, *stream, settings.tls != nullptr));
    const FirstFrame answer = co_await read_frame(*stream, parts.received, wire::kMaxHello);
    if (answer.error != Errc::kOk) {
      const bool cut = answer.error == Errc::kClosed || answer.error == Errc::kReset;
      wire::Refusal refusal = cut || answer.error == Errc::kProtocol ? answer.refusal : wire::Refusal::kNone;
      if (answer.error == Errc::kTls) refusal = wire::Refusal::kCertificate;
      co_return failed(answer.error, broken(to, answer.error, *stream, settings.tls != nullptr), refusal);
    }
    const MutableBytes text = MutableBytes(parts.received).subspan(wire::kLengthBytes, answer.text);
    auto agreed = opener.on_answer(keyring, text, proof);
    if (!agreed) {
      refusals.note(agreed.error(), to, runtime.now());
      co_return failed(Errc::kRefused, fmt::format("{}: {}", to.to_string(), agreed.error().detail),
                       agreed.error().refusal);
    }
    parts.agreement = std::move(*agreed);
    const auto taken = static_cast<std::ptrdiff_t>(wire::kLengthBytes + answer.text);
    parts.received.erase(parts.received.begin(), parts.received.begin() + taken);
  }
  parts.stream = std::move(stream);
  wire::SessionLimits limits = settings.session;
  limits.serving_max = settings.handshake.self.requests_max;
  co_return std::make_unique<Connection>(runtime, std::move(parts), limits, handler, refusals);
}

task<Status> probe(Runtime& runtime, Endpoint to, Duration timeout, Cancellation* cancel) {
  runtime::ConnectOptions options;
  options.timeout = timeout;
  const Instant deadline = runtime.read_clock() + timeout;
  BW_CO_TRY(auto stream, co_await runtime.connect(to, options, cancel));
  const Within within(runtime, *stream, deadline, cancel);
  const Errc sent = co_await write_all(*stream, as_bytes("PING"));
  if (sent != Errc::kOk) co_return fail(sent, "probing " + to.to_string());
  std::vector<std::byte> answer;
  const Errc read = co_await read_at_least(*stream, answer, 4, 4);
  if (read != Errc::kOk) co_return fail(read, "probing {}: no answer", to.to_string());
  if (as_text(answer) != "PONG") co_return fail(Errc::kProtocol, to.to_string() + " is not a Bellwether node");
  co_return Status();
}

}  // namespace bellwether::link
