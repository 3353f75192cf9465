#include "cluster/node/dialling.h"

namespace bellwether::node {

// Names have no '/', so that no two clusters share a key.
std::string leadership_key(const cluster::NodeConfig& config) {
  return "bellwether-cluster/" + config.cluster + "/" + config.environment;
}

std::string software_name() { return "bellwether 0.1.0"; }

Result<link::DialSettings> plain_dialling_as(const cluster::NodeConfig& config, const std::string& name,
                                             wire::Role role) {
  link::DialSettings dialling;
  dialling.handshake.self.identity = {config.cluster, config.environment, config.datacenter, name, role};
  dialling.handshake.self.software = software_name();
  dialling.handshake.has_gates = config.has_gates;
  BW_RETURN_IF_ERROR(wire::check_identity(dialling.handshake.self.identity));
  return dialling;
}

Result<link::DialSettings> dialling_as(const cluster::NodeConfig& config, const std::string& name, wire::Role role) {
  auto dialling = plain_dialling_as(config, name, role);
  if (!dialling || !config.has_tls()) return dialling;
  runtime::TlsClientOptions options;
  options.check_name = config.verify_hostname;
  options.ca_file = config.ca;
  options.certificate_file = config.certificate;
  options.key_file = config.key;
  BW_TRY(dialling->tls, runtime::TlsContext::client(options));
  return dialling;
}

}  // namespace bellwether::node
