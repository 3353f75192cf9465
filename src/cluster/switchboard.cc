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
  const auto busy = doorman_ == nullptr ? std::nullopt : doorman_->turns_away(connection, request);
  if (busy) {
    const std::string body = wire::encode_busy(busy->again_after, busy->why);
    connection.respond(request.id, wire::ReplyStatus::kBusy, as_bytes(body));
    return;
  }
  const auto found = services_.find(request.type);
  if (found != services_.end()) {
    found->second->on_request(connection, request);
    return;
  }
  ++unknown_;
  connection.respond(request.id, wire::ReplyStatus::kUnknownType, {});
}

void Switchboard::on_message(link::Connection& connection, const wire::Inbound& message) {
  if (doorman_ != nullptr && doorman_->turns_away(connection, message)) return;
  const auto found = services_.find(message.type);
  if (found != services_.end()) {
    found->second->on_message(connection, message);
  } else {
    ++unknown_;
  }
}

void Switchboard::on_closed(link::Connection& connection, const Error&) {
  for (const auto& [type, service] : services_) service->on_closed(connection);
}

}  // namespace bellwether::cluster
