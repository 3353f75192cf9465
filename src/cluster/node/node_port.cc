#include "cluster/node/node_port.h"

#include <utility>

#include "cluster/node/dialling.h"
#include "cluster/node/node_members.h"
#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::node {

using runtime::task;

NodePort::NodePort(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodeSupplies& supplies, NodeLog& log)
    : runtime_(runtime),
      config_(config),
      supplies_(supplies),
      log_(log),
      refusals_({callback_to<&NodePort::on_refused>(*this), callback_to<&NodePort::on_mismatch>(*this)}),
      router_(cluster::MessageClasses(supplies.messages)),
      admission_(runtime, router_.classes(), callback_to<&NodePort::on_load_changed>(*this)) {
  router_.report_to(callback_to<&NodePort::on_open>(*this));
  router_.guard(callback_to<&cluster::AdmissionControl::turns_away>(admission_));
  router_.report_refusals(&refusals_);
}

// TCP and UDP share one port.
task<Status> NodePort::open() {
  BW_CO_TRY(dialling_, plain_dialling_as(config_, config_.name, config_.role));
  dialling_.tls = supplies_.dial_tls;
  const auto addresses = co_await runtime_.resolve(config_.listen.host, nullptr);
  if (!addresses) {
    co_return fail(addresses.error().code, "listen {}: {}", to_string(config_.listen), addresses.error().message);
  }
  link::DatagramSettings datagrams;
  datagrams.self = dialling_.handshake.self.identity;
  const runtime::Endpoint at{addresses->front(), config_.listen.port};
  auto bound = link::Datagrams::bind(runtime_, at, std::move(datagrams), supplies_.keyring, refusals_);
  if (!bound) co_return fail(bound.error().code, "listen {} (UDP): {}", at.to_string(), bound.error().message);
  datagrams_ = std::move(*bound);
  local_ = datagrams_->local();
  // Each end of a connection learns from the hello whose datagrams to expect.
  dialling_.handshake.self.session = datagrams_->session();
  link::ServerSettings serving;
  serving.tls = supplies_.serve_tls;
  serving.handshake = dialling_.handshake;
  auto server = link::Server::listen(runtime_, local_, std::move(serving), supplies_.keyring, router_, refusals_);
  if (!server) {
    co_return fail(server.error().code, "listen {} (TCP): {}", local_.to_string(), server.error().message);
  }
  server_ = std::move(*server);
  links_ =
      std::make_unique<cluster::PeerLinks>(runtime_, dialling_, supplies_.keyring, router_, refusals_,
                                           cluster::PeerLinks::Listener{callback_to<&NodePort::on_peer_gone>(*this),
                                                                        callback_to<&NodePort::on_trouble>(*this)});
  co_return Status();
}

task<void> NodePort::serve(runtime::Cancellation* cancel) { return server_->serve(cancel); }

void NodePort::on_resource_usage(const cluster::ResourceUsage& signs) {
  admission_.on_resource_usage(signs);
  admission_.on_connections(server_->connections());
}

std::vector<const wire::Agreement*> NodePort::agreements() const {
  std::vector<const wire::Agreement*> out;
  for (const link::Connection* one : server_->connections()) out.push_back(&one->agreement());
  for (const link::Connection* one : links_->connections()) out.push_back(&one->agreement());
  return out;
}

// --- its secrets -----------------------------------------------------------------------------------------------------

Result<std::string> NodePort::learn_secret(std::string text) {
  BW_TRY(auto secret, wire::Secret::take(std::move(text)));
  BW_TRY(const auto id, supplies_.keyring.learn(std::move(secret)));
  return "knows " + wire::key_name(id);
}

Result<std::string> NodePort::use_secret(uint32_t id) {
  BW_RETURN_IF_ERROR(supplies_.keyring.use(id));
  return "uses " + wire::key_name(id);
}

Result<std::string> NodePort::forget_secret(uint32_t id) {
  if (!supplies_.keyring.knows(id)) return "does not know " + wire::key_name(id);
  BW_RETURN_IF_ERROR(supplies_.keyring.forget(id));
  links_->renew(id);
  for (link::Connection* connection : server_->connections()) {
    if (connection->agreement().key == id) connection->say_goodbye();
  }
  return "has forgotten " + wire::key_name(id);
}

// --- what its parts say ----------------------------------------------------------------------------------------------

void NodePort::on_refused(wire::Refusal refusal, const runtime::Endpoint& from, std::string_view detail,
                          uint64_t unheard) {
  const std::string text = fmt::format(
      "refused {} from {}{}{}", to_string(refusal), from.to_string(),
      detail.empty() ? "" : ": " + printable(std::string(detail)),
      unheard == 0 ? "" : fmt::format("; and {} since the last line of this kind", format_count(unheard, "time")));
  // A node that has just started is asked for a proof once: that is normal.
  log_.note(refusal != wire::Refusal::kUnproven, text);
}

void NodePort::on_mismatch(wire::Refusal refusal, const wire::Mismatch& names) {
  discovery::PairCounts* counts = nullptr;
  if (refusal == wire::Refusal::kCluster) counts = &discovery_.cluster_id_rejections;
  if (refusal == wire::Refusal::kEnvironment) counts = &discovery_.environment_id_rejections;
  if (refusal == wire::Refusal::kRole) counts = &discovery_.role_rejections;
  if (counts != nullptr) counts->add(names.expected, names.received);
}

void NodePort::on_peer_gone(const cluster::PeerAddress& peer) {
  if (members_ != nullptr && !peer.name.empty()) members_->on_refused(peer);
}

void NodePort::on_trouble(const cluster::PeerAddress& peer, const Error& why) {
  log_.note(false, fmt::format("no connection to '{}' at {}: {}", printable(peer.name), peer.endpoint.to_string(),
                               why.message));
}

void NodePort::on_load_changed(resilience::LoadState state, std::string_view reason) {
  const std::string name(to_string(state));
  log_.say("load_changed", reason.empty() ? "is " + name : fmt::format("is {}, because of its {}", name, reason),
           {{"state", name}, {"reason", std::string(reason)}});
}

}  // namespace bellwether::node
