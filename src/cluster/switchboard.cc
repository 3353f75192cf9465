#include "cluster/switchboard.h"

#include "base/check.h"

namespace bellwether::cluster {

void Service::on_request(link::Connection& connection, const wire::Inbound& request) {
  connection.respond(request.id, wire::ReplyStatus::kUnknownType, {});
}

void Service::on_message(link::Connection&, const wire::Inbound&) {}

void Switchboard::connect(uint16_t type, Service& service) {
  const bool added = services_.emplace(type, &service).second;
  check(added, "one service a type");
}

void Switchboard::disconnect(uint16_t type) { services_.erase(type); }

void Switchboard::on_request(link::Connection& connection, const wire::Inbound& request) {
  const auto found = services_.find(request.type);
  if (found != services_.end()) {
    found->second->on_request(connection, request);
    return;
  }
  ++unknown_;
  connection.respond(request.id, wire::ReplyStatus::kUnknownType, {});
}

void Switchboard::on_message(link::Connection& connection, const wire::Inbound& message) {
  const auto found = services_.find(message.type);
  if (found != services_.end()) {
    found->second->on_message(connection, message);
  } else {
    ++unknown_;
  }
}

}  // namespace bellwether::cluster
