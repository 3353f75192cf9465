#include "node/cluster/node_parts.h"

#include "base/units.h"
#include "cluster/sqlite_kv.h"
#include "node/cluster/secrets.h"
#include "node/cluster/vote_keys.h"
#include "store/environment.h"
#include "store/open_store.h"

namespace bellwether::node {
namespace {

using runtime::task;

task<Result<std::unique_ptr<cluster::Kv>>> open_disk(runtime::Runtime& runtime, std::string folder) {
  const Status made = co_await runtime.make_directory(folder, 0700);
  if (!made) co_return tl::unexpected(made.error());
  const auto network = co_await runtime.network_file_system(folder);
  if (network && !network->empty()) {
    co_return fail(Errc::kUnsupported,
                   "data '" + folder + "' is on " + *network + ": a vote must be on a disk of this machine alone");
  }
  auto kv = co_await cluster::open_sqlite_kv(runtime, folder + "/node.db");
  co_return kv;
}

// Workers learn who leads from those that may.
task<Status> open_store(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodeParts& parts) {
  if (!config.delegates() || config.role == wire::Role::kWorker) co_return Status();
  std::string url = config.leadership;
  auto store = co_await store::open_store(runtime, std::move(url));
  if (!store) co_return tl::unexpected(store.error());
  parts.store = std::move(*store);
  const Duration least = parts.store->traits().lease_min;
  if (config.store_lease < least) {
    co_return fail(Errc::kInvalid, "'leadership_lease' is " + format_duration(config.store_lease) + ", but " +
                                       parts.store->describe() + " needs at least " + format_duration(least));
  }
  auto key = parts.store->open(leadership_key(config));
  if (!key) co_return tl::unexpected(key.error());
  parts.store_key = std::move(*key);
  co_return Status();
}

// TCP and UDP share one port.
task<Status> open_port(runtime::Runtime& runtime, const cluster::NodeConfig& config, link::ServerSettings serving,
                       NodeParts& parts) {
  const auto addresses = co_await runtime.resolve(config.listen.host, nullptr);
  if (!addresses) {
    co_return fail(addresses.error().code, "listen " + to_string(config.listen) + ": " + addresses.error().message);
  }
  link::DatagramSettings datagrams;
  datagrams.self = parts.dialling.handshake.self.identity;
  const runtime::Endpoint at{addresses->front(), config.listen.port};
  auto bound = link::Datagrams::bind(runtime, at, std::move(datagrams), parts.keyring, parts.refusals);
  if (!bound) co_return fail(bound.error().code, "listen " + at.to_string() + " (UDP): " + bound.error().message);
  parts.datagrams = std::move(*bound);
  parts.local = parts.datagrams->local();
  // Each end of a connection learns from the hello whose datagrams to expect.
  parts.dialling.handshake.self.session = parts.datagrams->session();
  serving.handshake = parts.dialling.handshake;
  auto server =
      link::Server::listen(runtime, parts.local, std::move(serving), parts.keyring, parts.switchboard, parts.refusals);
  if (!server) {
    co_return fail(server.error().code, "listen " + parts.local.to_string() + " (TCP): " + server.error().message);
  }
  parts.server = std::move(*server);
  co_return Status();
}

}  // namespace

// Names have no '/', so that no two clusters share a key.
std::string leadership_key(const cluster::NodeConfig& config) {
  return "bellwether-cluster/" + config.cluster + "/" + config.environment;
}

Result<link::DialSettings> dialling_as(const cluster::NodeConfig& config, const std::string& name, wire::Role role) {
  link::DialSettings dialling;
  dialling.handshake.self.identity = {config.cluster, config.environment, config.datacenter, name, role};
  dialling.handshake.self.software = software_name();
  dialling.handshake.has_gates = config.has_gates;
  if (auto good = wire::check_identity(dialling.handshake.self.identity); !good) return tl::unexpected(good.error());
  if (!config.has_tls()) return dialling;
  runtime::TlsClientOptions options;
  options.check_name = config.verify_hostname;
  options.ca_file = config.ca;
  options.certificate_file = config.certificate;
  options.key_file = config.key;
  auto tls = runtime::TlsContext::client(options);
  if (!tls) return tl::unexpected(tls.error());
  dialling.tls = std::move(*tls);
  return dialling;
}

std::string software_name() { return "bellwether 0.1.0"; }

task<Result<std::unique_ptr<NodeParts>>> make_parts(runtime::Runtime& runtime, const cluster::NodeConfig& config,
                                                    link::RefusalListener& listener) {
  auto keyring = read_secrets(config, &store::own_environment);
  if (!keyring) co_return tl::unexpected(keyring.error());
  auto parts = std::make_unique<NodeParts>(std::move(*keyring), listener);

  auto dialling = dialling_as(config, config.name, config.role);
  if (!dialling) co_return tl::unexpected(dialling.error());
  parts->dialling = std::move(*dialling);
  link::ServerSettings serving;
  if (config.has_tls()) {
    auto tls = runtime::TlsContext::server({config.certificate, config.key, {}, config.ca});
    if (!tls) co_return tl::unexpected(tls.error());
    serving.tls = std::move(*tls);
  }

  if (!config.data.empty()) {
    auto kv = co_await open_disk(runtime, config.data);
    if (!kv) co_return fail(kv.error().code, "data: " + kv.error().message);
    parts->kv = std::move(*kv);
  }
  if (config.votes_by_score() && config.votes()) {
    auto seal = read_vote_keys(config);
    if (!seal) co_return tl::unexpected(seal.error());
    parts->vote_seal = std::move(*seal);
    auto holding = read_key_holding(config);
    if (!holding) co_return tl::unexpected(holding.error());
    parts->key_holding = std::move(*holding);
    auto vetting = read_vetting(config);
    if (!vetting) co_return tl::unexpected(vetting.error());
    parts->vetting = std::move(*vetting);
  }
  const Status opened = co_await open_store(runtime, config, *parts);
  if (!opened) co_return fail(opened.error().code, "leadership: " + opened.error().message);
  const Status listening = co_await open_port(runtime, config, std::move(serving), *parts);
  if (!listening) co_return tl::unexpected(listening.error());
  co_return std::move(parts);
}

}  // namespace bellwether::node
