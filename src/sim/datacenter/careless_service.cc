#include "sim/datacenter/careless_service.h"

#include <string>
#include <variant>

#include "cluster/net/message_classes.h"
#include "jobs/dispatch/codec/messages_codec.h"

namespace bellwether::sim {

CarelessService::CarelessService(cluster::MessageRouter& router, cluster::Service& real, const DatacenterStage& stage)
    : router_(router), real_(real), stage_(stage) {
  router_.disconnect(cluster::message_type::kDispatch);
  router_.connect(cluster::message_type::kDispatch, *this);
}

CarelessService::~CarelessService() { router_.disconnect(cluster::message_type::kDispatch); }

void CarelessService::on_request(link::Connection& connection, const wire::Inbound& request) {
  auto message = dispatch::decode_message(as_text(request.body));
  if (message && stage_.is("forgets-denials") && std::holds_alternative<dispatch::DenyMessage>(*message)) {
    const std::string denied = dispatch::encode(dispatch::Response(dispatch::Denied{}));
    connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(denied), true);
    return;
  }
  auto* const offer = message ? std::get_if<dispatch::Offer>(&*message) : nullptr;
  auto* const taking = message ? std::get_if<dispatch::TakeOverMessage>(&*message) : nullptr;
  if (offer != nullptr && stage_.is("owner-does-not-wait")) {
    // The managers of this world count with permits that are shorter.
    offer->order.permit = dispatch::JobRules().permit;
  } else if (taking != nullptr && stage_.is("follower-starts-unconfirmed")) {
    taking->go = true;
  } else {
    return real_.on_request(connection, request);
  }
  const std::string body = dispatch::encode(*message);
  wire::Inbound changed = request;
  changed.body = as_bytes(body);
  real_.on_request(connection, changed);
}

}  // namespace bellwether::sim
