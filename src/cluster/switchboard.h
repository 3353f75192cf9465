// Hands what comes in on connections to the part of the node that it is for, by the type of the message. One thread,
// that of its runtime.
#pragma once

#include <map>

#include "wire/link/connection.h"

namespace bellwether::cluster {

// A part of the node that others talk to.
class Service {
 public:
  virtual ~Service() = default;
  // To be answered by connection.respond(), at once or later, while the connection is open.
  virtual void on_request(link::Connection& connection, const wire::Inbound& request);
  virtual void on_message(link::Connection& connection, const wire::Inbound& message);
};

class Switchboard final : public link::ConnectionHandler {
 public:
  // Told of every connection, in either direction, whose other end has shown that it is there.
  class Doorkeeper {
   public:
    virtual ~Doorkeeper() = default;
    virtual void on_open(link::Connection& connection) = 0;
  };
  void report_to(Doorkeeper* doorkeeper) { doorkeeper_ = doorkeeper; }

  // `service` gets all messages of this type until it is taken off again. REQUIRES that nobody else does.
  void connect(uint16_t type, Service& service);
  void disconnect(uint16_t type);

  void on_open(link::Connection& connection) override {
    if (doorkeeper_ != nullptr) doorkeeper_->on_open(connection);
  }
  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  // Messages of a type that nobody here is for.
  uint64_t unknown() const { return unknown_; }

 private:
  std::map<uint16_t, Service*> services_;
  Doorkeeper* doorkeeper_ = nullptr;
  uint64_t unknown_ = 0;
};

}  // namespace bellwether::cluster
