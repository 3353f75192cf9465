#include "cluster/net/peer_links.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"

namespace bellwether::cluster {
namespace {

constexpr Duration kShortestPause = Duration::millis(50);
constexpr Duration kLongestPause = Duration::seconds(5);
constexpr std::size_t kLettersMost = 256;  // for one peer; the oldest is lost to make room

}  // namespace

using runtime::task;

std::string PeerLinks::key_of(const PeerAddress& address) {
  return address.name.empty() ? "@" + address.endpoint.to_string() : address.name;
}

PeerLinks::PeerLinks(runtime::Runtime& runtime, const link::DialSettings& settings, const wire::Keyring& keyring,
                     Switchboard& switchboard, link::RefusalWatch& refusals, Listener& listener, Duration idle,
                     resilience::BreakerSettings breakers)
    : runtime_(runtime),
      settings_(settings),
      keyring_(keyring),
      switchboard_(switchboard),
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
    if (peer->connection != nullptr) peer->connection->close({Errc::kClosed, "the peer has another address"});
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
  if (peer.letters.size() == kLettersMost) peer.letters.pop_front();
  peer.letters.push_back({type, priority, std::move(body), runtime_.now() + patience});
  deliver(peer);
  wake(peer);
}

// What waits goes out, when there is a connection that takes it.
void PeerLinks::deliver(Peer& peer) {
  const Instant now = runtime_.now();
  std::erase_if(peer.letters, [&](const Letter& letter) { return letter.best_before < now; });
  link::Connection* connection = usable(peer);
  if (connection == nullptr) return;
  while (!peer.letters.empty()) {
    const Letter letter = std::move(peer.letters.front());
    peer.letters.pop_front();
    // One that finds no room is lost: its sender can bear that, and a queue that is full is not made shorter by
    // waiting.
    static_cast<void>(
        connection->send({.type = letter.type, .priority = letter.priority, .body = as_bytes(letter.body)}));
  }
}

// The connection to the peer, if it takes anything new. One of which either end has said goodbye does not.
link::Connection* PeerLinks::usable(Peer& peer) {
  if (peer.connection == nullptr || !peer.connection->open()) return nullptr;
  if (peer.connection->session().closing()) part(peer);
  return peer.connection;
}

// Lets go of the connection: it ends when what is under way has been answered, and another one is made beside it.
void PeerLinks::part(Peer& peer) {
  peer.connection->say_goodbye();
  parting_.push_back(std::exchange(peer.connection, nullptr));
  peer.connecting = false;
  peer.next_try = runtime_.now();
}

void PeerLinks::wake(Peer& peer) {
  if (peer.connecting || closing_) return;
  if (!peer.letters.empty() || !peer.waiters.empty()) start(peer);
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
  // A process that is being ended may still take a connection, and drop it.
  if (nobody && std::exchange(peer.was_open, false)) listener_.on_refused(peer.address);
  listener_.on_trouble(peer.address, peer.trouble);
}

task<std::unique_ptr<link::Connection>> PeerLinks::connect(Peer& peer) {
  const PeerAddress to = peer.address;
  // Of one whose name is not known yet, a certificate proves the address.
  const std::string certified = to.name.empty() ? to.endpoint.address.to_string() : to.name;
  auto dialled = co_await link::dial(runtime_, to.endpoint, certified, settings_, keyring_, switchboard_, refusals_,
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
            to.endpoint.to_string() + " is '" + (*dialled)->peer().identity.node + "', and not '" + to.name + "'"},
           false);
    co_return nullptr;
  }
  peer.pause = kShortestPause;
  peer.was_open = true;
  std::unique_ptr<link::Connection> made = std::move(*dialled);
  co_return made;
}

// Lives for as long as there is a connection or somebody wants one. After the end of a connection it tries once more in
// any case: whether the peer's port is still there tells a process that has ended from a network that is disturbed.
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
    if (peer->letters.empty() && peer->waiters.empty()) break;
  }
  peer->connecting = false;
  self->release(*peer);
}

// One who asks many others one after the other would else keep a connection to each.
task<void> PeerLinks::retire_idle(PeerLinks* self) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  while (true) {
    const bool due = co_await self->runtime_.sleep(self->idle_ / 4, cancel);
    if (!due) co_return;
    const Instant now = self->runtime_.now();
    for (auto at = self->peers_.begin(); at != self->peers_.end();) {
      Peer& peer = *at->second;
      const bool idle = now - peer.used > self->idle_ && peer.letters.empty() && peer.waiters.empty();
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
  peer.letters.clear();
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

}  // namespace bellwether::cluster
