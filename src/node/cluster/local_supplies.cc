#include "node/cluster/local_supplies.h"

#include "base/units.h"
#include "cluster/sqlite_kv.h"
#include "cluster/vote/resource_meter.h"
#include "node/cluster/dialling.h"
#include "node/cluster/own_address.h"
#include "node/cluster/secrets.h"
#include "node/cluster/vote_keys.h"
#include "store/environment.h"
#include "store/open_store.h"

namespace bellwether::node {
namespace {

using runtime::task;

task<Result<std::unique_ptr<cluster::Kv>>> open_disk(runtime::Runtime& runtime, std::string folder) {
  BW_CO_RETURN_IF_ERROR(co_await runtime.make_directory(folder, 0700));
  const auto network = co_await runtime.network_file_system(folder);
  if (network && !network->empty()) {
    co_return fail(Errc::kUnsupported,
                   "data '" + folder + "' is on " + *network + ": a vote must be on a disk of this machine alone");
  }
  auto kv = co_await cluster::open_sqlite_kv(runtime, folder + "/node.db");
  co_return kv;
}

// Workers learn who leads from those that may.
task<Status> open_store(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodeSupplies& supplies) {
  if (!config.delegates() || config.role == wire::Role::kWorker) co_return Status();
  std::string url = config.leadership;
  BW_CO_TRY(supplies.store, co_await store::open_store(runtime, std::move(url)));
  const Duration least = supplies.store->traits().lease_min;
  if (config.store_lease < least) {
    co_return fail(Errc::kInvalid, "'leadership_lease' is " + format_duration(config.store_lease) + ", but " +
                                       supplies.store->describe() + " needs at least " + format_duration(least));
  }
  BW_CO_TRY(supplies.store_key, supplies.store->open(leadership_key(config)));
  co_return Status();
}

Status read_keys_of_vote(const cluster::NodeConfig& config, NodeSupplies& supplies) {
  BW_TRY(supplies.vote_seal, read_vote_keys(config));
  BW_TRY(supplies.key_holding, read_key_holding(config));
  BW_TRY(supplies.vetting, read_vetting(config));
  return {};
}

}  // namespace

task<Result<NodeSupplies>> local_supplies(runtime::Runtime& runtime, const cluster::NodeConfig& config) {
  BW_CO_TRY(auto keyring, read_secrets(config, &store::own_environment));
  NodeSupplies supplies(std::move(keyring));
  supplies.own_address = &own_address_towards;
  supplies.vitals = std::make_unique<cluster::ProcessVitals>(runtime);

  BW_CO_TRY(auto dialling, dialling_as(config, config.name, config.role));
  supplies.dial_tls = std::move(dialling.tls);
  if (config.has_tls()) {
    BW_CO_TRY(supplies.serve_tls, runtime::TlsContext::server({config.certificate, config.key, {}, config.ca}));
  }

  if (!config.data.empty()) {
    auto kv = co_await open_disk(runtime, config.data);
    if (!kv) co_return fail(kv.error().code, "data: " + kv.error().message);
    supplies.kv = std::move(*kv);
  }
  const bool scored = config.votes_by_score() && config.votes();
  if (scored) {
    BW_CO_RETURN_IF_ERROR(read_keys_of_vote(config, supplies));
  }
  if (scored || config.context.serves) {
    supplies.resources = std::make_unique<cluster::ResourceMeter>(runtime, config.data);
  }
  const Status opened = co_await open_store(runtime, config, supplies);
  if (!opened) co_return fail(opened.error().code, "leadership: " + opened.error().message);
  co_return std::move(supplies);
}

}  // namespace bellwether::node
