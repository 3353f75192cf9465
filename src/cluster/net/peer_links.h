// Connections to other nodes, by name and address: opened for the first message, kept while messages flow, reopened
// when they end, with a growing delay while that fails. Messages wait for a connection, but not for long. A peer that
// wants to be left alone gets no requests. One thread, that of its runtime.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/net/message_classes.h"
#include "cluster/net/message_router.h"
#include "cluster/wire/identity.h"
#include "cluster/wire/link/client.h"
#include "core/base/bytes.h"
#include "core/base/callback.h"
#include "core/resilience/breaker.h"
#include "core/resilience/request_limiter.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"
#include "election/quorum/configuration.h"

namespace bellwether::cluster {

struct PeerAddress {
  std::string name;  // empty: any node
  runtime::Endpoint endpoint;
  auto operator<=>(const PeerAddress&) const = default;
};

class PeerLinks {
 public:
  struct Listener {
    // A connection to this peer had been open, has ended, and no process listens at its address any more: the peer's
    // process is gone.
    Callback<void(const PeerAddress& peer)> on_refused;
    Callback<void(const PeerAddress& peer, const Error& why)> on_trouble;
  };

  // Closes a connection that was unused for `idle`. All must outlive it.
  PeerLinks(runtime::Runtime& runtime, const link::DialSettings& settings, const wire::Keyring& keyring,
            MessageRouter& router, link::RefusalWatch& refusals, std::optional<Listener> listener = {},
            Duration idle = Duration::seconds(60), resilience::BreakerSettings breakers = {});
  PeerLinks(const PeerLinks&) = delete;
  PeerLinks& operator=(const PeerLinks&) = delete;

  // Sends a one-way message. It waits at most `patience` for a connection, and is then lost: the sender must tolerate
  // that.
  void send(const PeerAddress& peer, uint16_t type, wire::Priority priority, std::string body, Duration patience);
  // Sends a request and returns the body of the answer; connects first where needed. kTimeout, kCancelled, kRefused
  // (the peer says why it does not answer), kExhausted (it is busy, or too much is under way here), kUnreachable, and
  // the errors of connecting.
  //
  // A peer that is busy and says when to ask again is asked again then, within `timeout`
  // (core/resilience/request_limiter.h); so are the requests of the same kind that arrive in the meantime. With
  // WhenBusy::kFail all these fail at once. A peer that fails again and again is left alone for a while
  // (core/resilience/breaker.h), and requests to it fail at once. Neither holds for critical requests
  // (message_classes.h): they are always tried, and when one is answered, the peer is well again.
  enum class WhenBusy : uint8_t { kWait, kFail };
  runtime::task<Result<std::string>> request(PeerAddress peer, uint16_t type, wire::Priority priority, std::string body,
                                             Duration timeout, runtime::Cancellation* cancel,
                                             WhenBusy when_busy = WhenBusy::kWait);
  // The peer was busy, and wants to be asked later.
  bool is_busy(const PeerAddress& peer, resilience::Operation operation) const {
    return limiter_.ready(key_of(peer), operation) > runtime_.now();
  }
  // Ends the connection to a former peer.
  void forget(const std::string& name);

  // Connections that stand on this secret end in good order: requests under way on them go on, and later ones go over a
  // new connection.
  void renew(wire::KeyId old);
  // Ends all connections in good order, at most within `most`.
  runtime::task<void> close(Duration most);
  // Including those that end in good order. Views until the next turn of the loop.
  std::vector<const link::Connection*> connections() const;
  std::size_t open_connections() const { return connections().size(); }
  // Of those peers that have ever failed; those without a name go by "@" and their address.
  std::vector<resilience::Breakers::Status> breakers() const { return breakers_.status(runtime_.now()); }

 private:
  struct JobMessage {
    uint16_t type = 0;
    wire::Priority priority = wire::Priority::kNormal;
    std::string body;
    Instant best_before;
  };
  struct Peer {
    PeerAddress address;
    link::Connection* connection = nullptr;  // of the coroutine that keeps it
    bool connecting = false;                 // or keeping a connection
    bool was_open = false;                   // since it was last said to be refused
    Instant used;
    Instant next_try;                      // not before
    Duration pause;                        // before the try after that
    std::deque<JobMessage> messages;       // that wait for the connection
    std::vector<runtime::Event*> waiters;  // set when a try has ended
    Error trouble;                         // of the last try
  };

  static std::string key_of(const PeerAddress& address);

  // How a question ended.
  struct Outcome {
    Result<std::string> result;
    bool answered = false;      // by the peer, with any result
    Duration again_after = {};  // it is busy, and says so
  };
  runtime::task<Outcome> ask(PeerAddress address, uint16_t type, wire::Priority priority, const std::string* body,
                             Instant deadline, runtime::Cancellation* cancel);
  runtime::task<bool> pause_until(Instant when, runtime::Cancellation* cancel);
  std::optional<Error> left_alone(const PeerAddress& address);
  void note(const std::string& key, const Outcome& outcome, bool failed_before);

  Peer& peer_at(const PeerAddress& address);
  bool is_still(const std::string& key, const link::Connection* connection) const;
  runtime::task<Result<wire::ReplyStatus>> say(std::string key, link::Connection* connection, uint16_t type,
                                               wire::Priority priority, const std::string* body, Instant deadline,
                                               std::vector<std::byte>* answer, runtime::Cancellation* cancel);
  runtime::task<Result<std::string>> fetch(std::string key, link::Connection* connection, wire::Priority priority,
                                           std::vector<std::byte>* answer, Instant deadline,
                                           runtime::Cancellation* cancel);
  void wake(Peer& peer);
  static runtime::task<void> keep(PeerLinks* self, Peer* peer);
  runtime::task<std::unique_ptr<link::Connection>> connect(Peer& peer);
  link::Connection* usable(Peer& peer);
  void part(Peer& peer);
  void start(Peer& peer);
  void deliver(Peer& peer);
  void release(Peer& peer);
  void failed(Peer& peer, Error why, bool nobody);
  static runtime::task<void> retire_idle(PeerLinks* self);

  runtime::Runtime& runtime_;
  const link::DialSettings& settings_;
  const wire::Keyring& keyring_;
  MessageRouter& router_;
  link::RefusalWatch& refusals_;
  std::optional<Listener> listener_;  // nothing: no listener
  Duration idle_;
  std::map<std::string, std::unique_ptr<Peer>> peers_;  // by name, or by address where the name is unknown
  runtime::Condition connections_changed_;
  std::vector<link::Connection*> parting_;  // that end in good order and belong to no peer any more
  resilience::BreakerSettings breaker_settings_;
  resilience::Breakers breakers_;  // by the keys of peers, as is:
  resilience::ClientLimiter limiter_;
  bool closing_ = false;
  uint64_t chunked_ = 0;  // number of the last one
  runtime::Scope scope_;  // last: its coroutines use everything above
};

// The names of other nodes: people and connections use their names; the messages of elections and job registers use a
// hash of these.

inline quorum::MemberId member_id(std::string_view name) {
  const uint64_t hash = wire::node_hash(name);
  return quorum::MemberId(hash == 0 ? 1 : hash);
}

// A kernel knows nodes by their ids, people know them by their names: each `word` with a number behind it becomes the
// name of that id in quotes, where it is known.
template <class Id>
std::string with_names(const std::string& text, std::string_view word, const std::map<Id, std::string>& names) {
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t found = text.find(word, at);
    if (found == std::string::npos) return out + text.substr(at);
    const std::size_t begin = found + word.size();
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    const auto id = parse_u64(std::string_view(text).substr(begin, end - begin));
    const auto name = id ? names.find(Id(*id)) : names.end();
    out += text.substr(at, found - at);
    out += name == names.end() ? text.substr(found, end - found) : "'" + name->second + "'";
    at = end;
  }
}

// The current address of a node; nothing when it is unknown.
using Addresses = Callback<std::optional<PeerAddress>(const std::string& name)>;

}  // namespace bellwether::cluster
