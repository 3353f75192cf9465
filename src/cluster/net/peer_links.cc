// How PeerLinks sends a request: which peers it leaves alone, for how long, and what it repeats.
#include "cluster/net/peer_links.h"

#include <algorithm>
#include <utility>

#include "cluster/net/chunks.h"
#include "cluster/net/message_classes.h"
#include "cluster/wire/session.h"
#include "core/base/bytes.h"
#include "core/base/units.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/event.h"

namespace bellwether::cluster {

namespace {

constexpr Duration kShortestPause = Duration::millis(50);
constexpr Duration kLongestPause = Duration::seconds(5);
constexpr std::size_t kMaxMessages = 256;  // for one peer; the oldest is lost to make room

}  // namespace

using runtime::task;

std::string PeerLinks::key_of(const PeerAddress& address) {
  return address.name.empty() ? "@" + address.endpoint.to_string() : address.name;
}

PeerLinks::PeerLinks(runtime::Runtime& runtime, const link::DialSettings& settings, const wire::Keyring& keyring,
                     MessageRouter& router, link::RefusalWatch& refusals, std::optional<Listener> listener,
                     Duration idle, resilience::BreakerSettings breakers)
    : runtime_(runtime),
      settings_(settings),
      keyring_(keyring),
      router_(router),
      refusals_(refusals),
      listener_(listener),
      idle_(idle),
      breaker_settings_(breakers),
      breakers_(breakers) {
  scope_.spawn(retire_idle(this));
}

PeerLinks::Peer& PeerLinks::peer_at(const PeerAddress& address) {
  std::unique_ptr<Peer>& peer = peers_[key_of(address)];
  if (peer == nullptr) {
    peer = std::make_unique<Peer>();
    peer->pause = kShortestPause;
  }
  if (peer->address != address) {
    // Another process bears the name now, or it has moved.
    if (peer->connection != nullptr) peer->connection->close({Errc::kClosed, "the peer has a new address"});
    peer->address = address;
    breakers_.forget(key_of(address));
    peer->was_open = false;
    peer->next_try = Instant();
  }
  peer->used = runtime_.now();
  return *peer;
}

void PeerLinks::send(const PeerAddress& address, uint16_t type, wire::Priority priority, std::string body,
                     Duration patience) {
  if (closing_) return;
  Peer& peer = peer_at(address);
  if (peer.messages.size() == kMaxMessages) peer.messages.pop_front();
  peer.messages.push_back({type, priority, std::move(body), runtime_.now() + patience});
  deliver(peer);
  wake(peer);
}

// Sends the waiting messages when a connection takes them.
void PeerLinks::deliver(Peer& peer) {
  const Instant now = runtime_.now();
  std::erase_if(peer.messages, [&](const JobMessage& message) { return message.best_before < now; });
  link::Connection* connection = usable(peer);
  if (connection == nullptr) return;
  while (!peer.messages.empty()) {
    const JobMessage message = std::move(peer.messages.front());
    peer.messages.pop_front();
    // A message that finds no room is lost: its sender tolerates that, and waiting does not shorten a full queue.
    static_cast<void>(
        connection->send({.type = message.type, .priority = message.priority, .body = as_bytes(message.body)}));
  }
}

// The connection to the peer, if it takes new messages. After a goodbye of either end it does not.
link::Connection* PeerLinks::usable(Peer& peer) {
  if (peer.connection == nullptr || !peer.connection->open()) return nullptr;
  if (peer.connection->session().closing()) part(peer);
  return peer.connection;
}

// Lets go of the connection: it ends when all requests under way have been answered, and another one is made beside it.
void PeerLinks::part(Peer& peer) {
  peer.connection->say_goodbye();
  parting_.push_back(std::exchange(peer.connection, nullptr));
  peer.connecting = false;
  peer.next_try = runtime_.now();
}

void PeerLinks::wake(Peer& peer) {
  if (peer.connecting || closing_) return;
  if (!peer.messages.empty() || !peer.waiters.empty()) start(peer);
}

void PeerLinks::start(Peer& peer) {
  peer.connecting = true;
  scope_.spawn(keep(this, &peer));
}

void PeerLinks::release(Peer& peer) {
  for (runtime::Event* waiter : std::exchange(peer.waiters, {})) waiter->set();
}

// `nobody`: the peer's machine says that no process listens there.
void PeerLinks::failed(Peer& peer, Error why, bool nobody) {
  peer.trouble = std::move(why);
  const Duration pause = std::exchange(peer.pause, std::min(peer.pause * 2, kLongestPause));
  peer.next_try = runtime_.now() + Duration::nanos(runtime_.prng().between(pause.ns() / 2, pause.ns()));
  const bool gone = nobody && std::exchange(peer.was_open, false);
  if (!listener_) return;
  if (gone) listener_->on_refused(peer.address);
  listener_->on_trouble(peer.address, peer.trouble);
}

task<std::unique_ptr<link::Connection>> PeerLinks::connect(Peer& peer) {
  const PeerAddress to = peer.address;
  // Of a peer whose name is not known yet, a certificate proves the address.
  const std::string certified = to.name.empty() ? to.endpoint.address.to_string() : to.name;
  auto dialled = co_await link::dial(runtime_, to.endpoint, certified, settings_, keyring_, router_, refusals_,
                                     scope_.cancellation());
  if (to != peer.address) co_return nullptr;
  if (!dialled) {
    const bool refused = dialled.error().error.code == Errc::kRefused;
    failed(peer, dialled.error().error, refused && dialled.error().refusal == wire::Refusal::kNone);
    co_return nullptr;
  }
  if (!to.name.empty() && (*dialled)->peer().identity.node != to.name) {
    failed(peer,
           {Errc::kProtocol,
            fmt::format("{} is '{}', not '{}'", to.endpoint.to_string(), (*dialled)->peer().identity.node, to.name)},
           false);
    co_return nullptr;
  }
  peer.pause = kShortestPause;
  peer.was_open = true;
  std::unique_ptr<link::Connection> made = std::move(*dialled);
  co_return made;
}

// Lives while a connection exists or is wanted. After the end of a connection it always tries again for a while:
// whether the peer's port is still open distinguishes a process that has ended from a disturbed network. One try is not
// enough, for a process that is being ended may still take a connection, and drop it.
task<void> PeerLinks::keep(PeerLinks* self, Peer* peer) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  while (!cancel->cancelled()) {
    co_await self->runtime_.sleep_until(peer->next_try, cancel);
    if (cancel->cancelled()) break;
    const std::unique_ptr<link::Connection> connection = co_await self->connect(*peer);
    if (connection != nullptr) {
      peer->connection = connection.get();
      self->deliver(*peer);
      self->release(*peer);
      const Error why = co_await connection->run(cancel);
      const bool parted = std::erase(self->parting_, connection.get()) > 0;
      if (!parted) peer->connection = nullptr;
      self->connections_changed_.changed();
      if (parted) co_return;  // the peer has gone on without it
      peer->trouble = why;
      peer->next_try = self->runtime_.now();
      if (self->closing_) break;
      continue;
    }
    self->release(*peer);
    self->deliver(*peer);  // drops what has waited for too long
    const bool in_doubt = peer->was_open && peer->pause < kLongestPause;
    if (peer->messages.empty() && peer->waiters.empty() && !in_doubt) break;
  }
  peer->connecting = false;
  self->release(*peer);
}

// A node that asks many others in turn would else keep a connection to each.
task<void> PeerLinks::retire_idle(PeerLinks* self) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  while (true) {
    const bool due = co_await self->runtime_.sleep(self->idle_ / 4, cancel);
    if (!due) co_return;
    const Instant now = self->runtime_.now();
    for (auto at = self->peers_.begin(); at != self->peers_.end();) {
      Peer& peer = *at->second;
      const bool idle = now - peer.used > self->idle_ && peer.messages.empty() && peer.waiters.empty();
      if (idle && peer.connection != nullptr && peer.connection->session().asking() == 0) self->part(peer);
      const bool gone = idle && !peer.connecting;
      at = gone ? self->peers_.erase(at) : std::next(at);
    }
  }
}

void PeerLinks::forget(const std::string& name) {
  breakers_.forget(name);
  const auto found = peers_.find(name);
  if (found == peers_.end()) return;
  Peer& peer = *found->second;
  peer.messages.clear();
  peer.was_open = false;
  if (peer.connection != nullptr) part(peer);
}

void PeerLinks::renew(wire::KeyId old) {
  for (const auto& [name, peer] : peers_) {
    if (peer->connection == nullptr || peer->connection->agreement().key != old) continue;
    part(*peer);
    start(*peer);
  }
}

std::vector<const link::Connection*> PeerLinks::connections() const {
  std::vector<const link::Connection*> all(parting_.begin(), parting_.end());
  for (const auto& [name, peer] : peers_) {
    if (peer->connection != nullptr) all.push_back(peer->connection);
  }
  return all;
}

task<void> PeerLinks::close(Duration most) {
  closing_ = true;
  for (const auto& [name, peer] : peers_) {
    if (peer->connection != nullptr) peer->connection->say_goodbye();
    release(*peer);
  }
  co_await connections_changed_.wait(
      runtime_, [this] { return open_connections() == 0; }, runtime_.read_clock() + most);
  scope_.cancel();
  co_await scope_.join();
}

using resilience::Category;

namespace {

// Making more than that smaller takes milliseconds, in which no heartbeat leaves this thread.
constexpr std::size_t kMaxDeflated = 64 * 1024;

// Errors that blame a peer, and not this node or the end of a connection.
bool is_failure_of_peer(Errc code) {
  if (code == Errc::kClosed || code == Errc::kTooLarge || code == Errc::kUnsupported) return false;
  const Category category = resilience::category_of(code);
  return category == Category::kNetwork || category == Category::kProtocol;
}

std::string name_of(const PeerAddress& address) {
  return address.name.empty() ? address.endpoint.to_string() : fmt::format("'{}'", address.name);
}

Error busy(const PeerAddress& address, const std::string& why, Duration again_after) {
  std::string text = fmt::format("{} is busy{}", name_of(address), why.empty() ? "" : ": " + why);
  if (again_after > Duration::zero()) text += "; try again in " + format_duration(again_after);
  return {Errc::kExhausted, std::move(text)};
}

}  // namespace

// Why the peer must not be asked at all. Nothing: it may be asked, perhaps as a trial, whose outcome note() must get.
std::optional<Error> PeerLinks::left_alone(const PeerAddress& address) {
  const Error& trouble = peer_at(address).trouble;  // a peer that has moved is another one
  const Instant now = runtime_.now();
  const std::string key = key_of(address);
  Duration wait;
  for (const Category category : {Category::kNetwork, Category::kProtocol}) {
    wait = std::max(wait, breakers_.retry_in(now, key, category));
  }
  const std::string text =
      fmt::format("{} at {} failed {} times within {}, and its circuit breaker is open: ", name_of(address),
                  address.endpoint.to_string(), breaker_settings_.failures, format_duration(breaker_settings_.window));
  const std::string last = trouble.message.empty() ? "" : fmt::format(" ({})", trouble.message);
  if (wait > Duration::zero()) {
    return Error{Errc::kUnreachable, fmt::format("{}the next attempt is in {}{}", text, format_duration(wait), last)};
  }
  const bool allowed = breakers_.allow(now, key, Category::kNetwork) && breakers_.allow(now, key, Category::kProtocol);
  if (!allowed) return Error{Errc::kUnreachable, fmt::format("{}an attempt is running{}", text, last)};
  return std::nullopt;
}

// `failed_before`: it was asked although it should have been left alone. An answer then shows as much as a trial does.
void PeerLinks::note(const std::string& key, const Outcome& outcome, bool failed_before) {
  if (outcome.answered && failed_before) return breakers_.forget(key);
  if (outcome.answered) {
    breakers_.succeeded(key, Category::kNetwork);
    breakers_.succeeded(key, Category::kProtocol);
  } else if (is_failure_of_peer(outcome.result.error().code)) {
    breakers_.failed(runtime_.now(), key, outcome.result.error().code);
    const auto found = peers_.find(key);
    if (found != peers_.end()) found->second->trouble = outcome.result.error();
  }
}

// False: it was cancelled, or the links are being closed, and the caller must not touch them any more.
task<bool> PeerLinks::pause_until(Instant when, runtime::Cancellation* cancel) {
  runtime::Cancellation either(cancel);
  runtime::CancelCallback on_close(
      scope_.cancellation(), [](void* both) { static_cast<runtime::Cancellation*>(both)->cancel(); }, &either);
  co_await runtime_.sleep_until(when, &either);
  co_return !either.cancelled();
}

task<Result<std::string>> PeerLinks::request(PeerAddress address, uint16_t type, wire::Priority priority,
                                             std::string body, Duration timeout, runtime::Cancellation* cancel,
                                             WhenBusy when_busy) {
  const Instant deadline = runtime_.read_clock() + timeout;
  const std::string key = key_of(address);
  const MessageClass what = router_.classes().class_of(type, as_bytes(body), settings_.handshake.self.identity.role);
  const bool must_go = what.urgency == resilience::Urgency::kCritical;
  const bool fails = when_busy == WhenBusy::kFail;
  resilience::ClientLimiter::Call call;
  while (true) {
    const Duration held = must_go ? Duration::zero() : limiter_.ready(key, what.operation) - runtime_.now();
    if (held > Duration::zero()) {
      const Instant until = runtime_.now() + held;
      if (fails || until >= deadline || !limiter_.waits(call, held)) co_return tl::unexpected(busy(address, "", held));
      const bool passed = co_await pause_until(until, cancel);
      if (!passed) co_return fail(Errc::kCancelled, "the request was cancelled, or this node is ending");
      continue;
    }
    auto why = left_alone(address);
    if (why && !must_go) co_return tl::unexpected(std::move(*why));
    Outcome outcome = co_await ask(address, type, priority, &body, deadline, cancel);
    note(key, outcome, why.has_value());
    if (outcome.again_after == Duration::zero()) co_return std::move(outcome.result);
    const auto next = limiter_.refused(call, runtime_.read_clock(), key, what.operation, outcome.again_after);
    if (fails || !next || *next >= deadline) co_return std::move(outcome.result);
    const bool passed = co_await pause_until(*next, cancel);
    if (!passed) co_return fail(Errc::kCancelled, "the request was cancelled, or this node is ending");
  }
}

// The connection is still that of the peer; it may have ended during a wait.
bool PeerLinks::is_still(const std::string& key, const link::Connection* connection) const {
  const auto found = peers_.find(key);
  return !closing_ && found != peers_.end() && found->second->connection == connection;
}

// One request, in one or several chunks. The pointers' targets outlive it.
task<Result<wire::ReplyStatus>> PeerLinks::say(std::string key, link::Connection* connection, uint16_t type,
                                               wire::Priority priority, const std::string* body, Instant deadline,
                                               std::vector<std::byte>* answer, runtime::Cancellation* cancel) {
  if (!needs_chunks(body->size())) {
    const bool small = body->size() <= kMaxDeflated;
    const wire::Outgoing message{.type = type, .priority = priority, .compress = small, .body = as_bytes(*body)};
    const auto status = co_await connection->request(message, deadline, *answer, cancel);
    co_return status;
  }
  if (body->size() > wire::kMaxBytesInPieces) {
    co_return fail(Errc::kTooLarge, "a message of {} bytes exceeds the limit of {}", body->size(),
                   wire::kMaxBytesInPieces);
  }
  const uint64_t id = ++chunked_;
  const std::size_t pieces = wire::pieces_of(body->size());
  for (uint32_t i = 0;; ++i) {
    if (i > 0 && !is_still(key, connection)) co_return fail(Errc::kReset, "the connection has ended");
    const std::string piece = encode(Chunk{id, body->size(), i, type, as_bytes(wire::piece_of(*body, i))});
    const wire::Outgoing message{.type = message_type::kChunk, .priority = priority, .body = as_bytes(piece)};
    const auto status = co_await connection->request(message, deadline, *answer, cancel);
    if (!status || *status != wire::ReplyStatus::kOk || i + 1 == pieces) co_return status;
  }
}

task<Result<std::string>> PeerLinks::fetch(std::string key, link::Connection* connection, wire::Priority priority,
                                           std::vector<std::byte>* answer, Instant deadline,
                                           runtime::Cancellation* cancel) {
  BW_CO_TRY(const auto manifest, decode_chunk_manifest(*answer));
  std::string whole;
  for (uint32_t i = 0; i < wire::pieces_of(manifest.size); ++i) {
    if (!is_still(key, connection)) co_return fail(Errc::kReset, "the connection has ended");
    const std::string question = encode(ChunkFetch{manifest.id, i});
    const wire::Outgoing message{.type = message_type::kChunkFetch, .priority = priority, .body = as_bytes(question)};
    BW_CO_TRY(const auto status, co_await connection->request(message, deadline, *answer, cancel));
    if (status != wire::ReplyStatus::kOk) co_return fail(Errc::kReset, std::string(as_text(*answer)));
    whole += as_text(*answer);
  }
  if (whole.size() != manifest.size) co_return fail(Errc::kProtocol, "the chunks of an answer do not have its size");
  co_return whole;
}

// Once. `body` outlives it.
task<PeerLinks::Outcome> PeerLinks::ask(PeerAddress address, uint16_t type, wire::Priority priority,
                                        const std::string* body, Instant deadline, runtime::Cancellation* cancel) {
  runtime::Until until(runtime_, deadline, cancel);
  const std::string key = key_of(address);
  while (true) {
    if (closing_) co_return Outcome{fail(Errc::kClosed, "this node is ending")};
    Peer& peer = peer_at(address);
    link::Connection* const connection = usable(peer);
    if (connection != nullptr) {
      std::vector<std::byte> answer;
      const auto status = co_await say(key, connection, type, priority, body, deadline, &answer, until.cancellation());
      // The time that is up ends it as a cancellation too, whichever comes first.
      const bool late = !status && status.error().code == Errc::kCancelled && until.why() == Errc::kTimeout;
      if (late) co_return Outcome{fail(Errc::kTimeout, name_of(address) + " did not answer in time")};
      if (!status) co_return Outcome{tl::unexpected(status.error())};
      switch (*status) {
        case wire::ReplyStatus::kChunked: {
          auto whole = co_await fetch(key, connection, priority, &answer, deadline, until.cancellation());
          const bool answered = whole.has_value();
          co_return Outcome{std::move(whole), answered};
        }
        case wire::ReplyStatus::kOk: co_return Outcome{std::string(as_text(answer)), true};
        case wire::ReplyStatus::kFailed: co_return Outcome{fail(Errc::kRefused, std::string(as_text(answer))), true};
        case wire::ReplyStatus::kBusy: {
          const wire::Busy why = wire::decode_busy(answer);
          co_return Outcome{tl::unexpected(busy(address, why.why, why.again_after)), true, why.again_after};
        }
        default: co_return Outcome{fail(Errc::kUnsupported, name_of(address) + " does not answer such requests"), true};
      }
    }
    runtime::Event tried;
    peer.waiters.push_back(&tried);
    wake(peer);
    runtime::CancelCallback on_cancel(
        until.cancellation(), [](void* event) { static_cast<runtime::Event*>(event)->set(); }, &tried);
    co_await tried.wait();
    const auto found = peers_.find(key_of(address));
    if (found != peers_.end()) std::erase(found->second->waiters, &tried);
    if (until.over()) co_return Outcome{fail(until.why(), name_of(address) + " was not reached in time")};
    if (found == peers_.end()) co_return Outcome{fail(Errc::kClosed, "the peer is gone")};
    if (found->second->connection == nullptr) co_return Outcome{tl::unexpected(found->second->trouble)};
  }
}

}  // namespace bellwether::cluster
