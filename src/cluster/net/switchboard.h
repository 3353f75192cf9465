// Hands what comes in on connections to the part of the node that it is for, by the type of the message. What the
// sender's role may not send (message_classes.h) is handed to nobody. One thread, that of its runtime.
#pragma once

#include <map>
#include <optional>

#include "cluster/net/message_classes.h"
#include "cluster/net/parcels.h"
#include "cluster/wire/busy.h"
#include "cluster/wire/link/connection.h"

namespace bellwether::cluster {

// A part of the node that others talk to.
class Service {
 public:
  virtual ~Service() = default;
  // To be answered by connection.respond(), at once or later, while the connection is open.
  virtual void on_request(link::Connection& connection, const wire::Inbound& request);
  virtual void on_message(link::Connection& connection, const wire::Inbound& message);
  // It has ended: whoever would answer on it later must not. Also told of those that never asked anything.
  virtual void on_closed(link::Connection&) {}
};

class Switchboard final : public link::ConnectionHandler {
 public:
  explicit Switchboard(MessageClasses classes = MessageClasses()) : classes_(classes) {}
  const MessageClasses& classes() const { return classes_; }

  // Told of every connection, in either direction, whose other end has shown that it is there.
  class Doorkeeper {
   public:
    virtual ~Doorkeeper() = default;
    virtual void on_open(link::Connection& connection) = 0;
  };
  void report_to(Doorkeeper* doorkeeper) { doorkeeper_ = doorkeeper; }

  // Asked about every message before anybody gets to see it.
  class Doorman {
   public:
    virtual ~Doorman() = default;
    // Nothing: it may pass. Else a request is answered so, and what has no answer is dropped.
    virtual std::optional<wire::Busy> turns_away(const link::Connection& connection, const wire::Inbound& inbound) = 0;
  };
  void guard(Doorman* doorman) { doorman_ = doorman; }

  // Where refusals of messages are counted and told of. It outlives this, or is taken off again by nullptr.
  void report_refusals(link::RefusalWatch* refusals) { refusals_ = refusals; }
  // Counts and tells that a message was not taken. For services too, who know more than a sender's role.
  void refuse(const link::Connection& connection, wire::Refusal why, const std::string& what);

  // `service` gets all messages of this type until it is taken off again. REQUIRES that nobody else does.
  void connect(uint16_t type, Service& service);
  void disconnect(uint16_t type);

  void on_open(link::Connection& connection) override {
    if (doorkeeper_ != nullptr) doorkeeper_->on_open(connection);
  }
  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  void on_closed(link::Connection& connection, const Error& why) override;
  // As connection.respond() with kOk; an answer that is too large for a message is kept to be fetched.
  void respond(link::Connection& connection, wire::RequestId id, std::string body);
  // Messages that there are not, or that nobody here is for.
  uint64_t unknown() const { return unknown_; }
  // Messages that were not for their sender to send.
  uint64_t refused() const { return refused_; }

 private:
  MessageClasses classes_;
  std::optional<wire::ReplyStatus> not_allowed(const link::Connection& connection, const wire::Inbound& inbound);
  bool turned_away(link::Connection& connection, const wire::Inbound& request);
  void deliver(link::Connection& connection, const wire::Inbound& request);
  void take_piece(link::Connection& connection, const wire::Inbound& request);
  void give_piece(link::Connection& connection, const wire::Inbound& request);

  std::map<uint16_t, Service*> services_;
  Parcels parcels_;
  Doorkeeper* doorkeeper_ = nullptr;
  Doorman* doorman_ = nullptr;
  link::RefusalWatch* refusals_ = nullptr;
  uint64_t unknown_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace bellwether::cluster
