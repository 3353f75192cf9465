// Hands each message from a connection to the part of the node that serves its type. A message that the sender's role
// may not send (message_classes.h) is handed to none. One thread, that of its runtime.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/net/chunks.h"
#include "cluster/net/message_classes.h"
#include "cluster/net/resource_monitor.h"
#include "cluster/wire/link/connection.h"
#include "cluster/wire/session.h"
#include "core/base/callback.h"
#include "core/base/prng.h"
#include "core/resilience/overload.h"
#include "core/resilience/request_limiter.h"

namespace bellwether::cluster {

// A part of the node that serves messages of others.
class Service {
 public:
  virtual ~Service() = default;
  // To be answered by connection.respond(), at once or later, while the connection is open.
  virtual void on_request(link::Connection& connection, const wire::Inbound& request);
  virtual void on_message(link::Connection& connection, const wire::Inbound& message);
  // The connection has ended: a service must not answer on it later. Also called for connections without requests.
  virtual void on_closed(link::Connection&) {}
};

class MessageRouter final : public link::ConnectionHandler {
 public:
  explicit MessageRouter(MessageClasses classes = MessageClasses()) : classes_(classes) {}
  const MessageClasses& classes() const { return classes_; }

  // Called for every connection, in either direction, whose other end has shown that it is there.
  using ConnectionListener = Callback<void(link::Connection& connection)>;
  void report_to(ConnectionListener listener) { listener_ = listener; }

  // Asked about every message before its service sees it. Nothing: it may pass. Else a request gets this answer, and a
  // one-way message is dropped.
  using AdmissionCheck =
      Callback<std::optional<wire::Busy>(const link::Connection& connection, const wire::Inbound& inbound)>;
  void guard(AdmissionCheck admission_check) { admission_check_ = admission_check; }

  // Counts and reports refusals of messages. It outlives this, or is taken off again by nullptr.
  void report_refusals(link::RefusalWatch* refusals) { refusals_ = refusals; }
  // Counts and reports that a message was not taken. For services too, which know more than a sender's role.
  void refuse(const link::Connection& connection, wire::Refusal why, const std::string& what);

  // `service` gets all messages of this type until it is taken off again. REQUIRES that no other service does.
  void connect(uint16_t type, Service& service);
  void disconnect(uint16_t type) { services_.erase(type); }

  void on_open(link::Connection& connection) override {
    if (listener_) listener_(connection);
  }
  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  void on_closed(link::Connection& connection, const Error& why) override;
  // As connection.respond() with kOk; an answer that is too large for a message is kept to be fetched.
  void respond(link::Connection& connection, wire::RequestId id, std::string body);
  // Messages of unknown types, and of types without a service here.
  uint64_t unknown() const { return unknown_; }
  // Messages that their sender may not send.
  uint64_t refused() const { return refused_; }

 private:
  MessageClasses classes_;
  std::optional<wire::ReplyStatus> not_allowed(const link::Connection& connection, const wire::Inbound& inbound);
  bool turned_away(link::Connection& connection, const wire::Inbound& request);
  void deliver(link::Connection& connection, const wire::Inbound& request);
  void take_piece(link::Connection& connection, const wire::Inbound& request);
  void give_piece(link::Connection& connection, const wire::Inbound& request);

  std::map<uint16_t, Service*> services_;
  Chunks chunks_;
  ConnectionListener listener_;
  AdmissionCheck admission_check_;
  link::RefusalWatch* refusals_ = nullptr;
  uint64_t unknown_ = 0;
  uint64_t refused_ = 0;
};

// The node's admission control. Every message from a connection passes here before its service sees it. In this order:
//
//   - critical messages pass (message_classes.h);
//   - messages that the present state of load does not bear are turned away (core/resilience/overload.h);
//   - a sender that exceeds its share is turned away (core/resilience/request_limiter.h).
//
// A request that is turned away is answered busy, with the time after which to ask again, spread at random, so that not
// all senders come back at once; a message without an answer is dropped. All of it is counted. One thread.
class AdmissionControl {
 public:
  // `reason`: its cause, for people; empty when it is healthy.
  using LoadChanged = Callback<void(resilience::LoadState state, std::string_view reason)>;
  struct Counts {
    std::array<uint64_t, resilience::kUrgencies> admitted{};
    std::array<uint64_t, resilience::kUrgencies> shed{};      // because the node has too much to do
    std::array<uint64_t, resilience::kOperations> limited{};  // because their sender has had its fair share
  };

  // All must outlive it.
  AdmissionControl(runtime::Runtime& runtime, const MessageClasses& classes, LoadChanged load_changed);
  AdmissionControl(const AdmissionControl&) = delete;
  AdmissionControl& operator=(const AdmissionControl&) = delete;

  // Admission for a router.
  std::optional<wire::Busy> turns_away(const link::Connection& connection, const wire::Inbound& inbound) {
    return turns_away_at(runtime_.now(), connection.peer().identity, inbound.type, inbound.body);
  }
  // The same, for a message that was sent at `now`.
  std::optional<wire::Busy> turns_away_at(Instant now, const wire::Identity& sender, uint16_t type, Bytes body);

  // From ResourceMonitor, as often as that says.
  void on_loop_lag(double ratio);
  void on_resource_usage(const ResourceUsage& signs);
  // The requests under way on all connections, as often.
  void on_connections(const std::vector<link::Connection*>& connections);
  // How full a queue is on which all work waits, in [0, 1].
  void on_queue(double fill) { detector_.queue(fill); }

  resilience::LoadState state() const { return detector_.state(); }
  std::string_view reason() const { return detector_.reason(); }
  const Counts& counts() const { return counts_; }

 private:
  Duration spread(Duration wait, double ratio);

  runtime::Runtime& runtime_;
  const MessageClasses& classes_;
  LoadChanged load_changed_;
  Prng prng_;
  resilience::OverloadDetector detector_;
  resilience::RequestLimiter limiter_;
  Counts counts_;
};

}  // namespace bellwether::cluster
