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
task<Status> open_store(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodeSupplies& supplies) {
  if (!config.delegates() || config.role == wire::Role::kWorker) co_return Status();
  std::string url = config.leadership;
  auto store = co_await store::open_store(runtime, std::move(url));
  if (!store) co_return tl::unexpected(store.error());
  supplies.store = std::move(*store);
  const Duration least = supplies.store->traits().lease_min;
  if (config.store_lease < least) {
    co_return fail(Errc::kInvalid, "'leadership_lease' is " + format_duration(config.store_lease) + ", but " +
                                       supplies.store->describe() + " needs at least " + format_duration(least));
  }
  auto key = supplies.store->open(leadership_key(config));
  if (!key) co_return tl::unexpected(key.error());
  supplies.store_key = std::move(*key);
  co_return Status();
}

Status read_keys_of_vote(const cluster::NodeConfig& config, NodeSupplies& supplies) {
  auto seal = read_vote_keys(config);
  if (!seal) return tl::unexpected(seal.error());
  supplies.vote_seal = std::move(*seal);
  auto holding = read_key_holding(config);
  if (!holding) return tl::unexpected(holding.error());
  supplies.key_holding = std::move(*holding);
  auto vetting = read_vetting(config);
  if (!vetting) return tl::unexpected(vetting.error());
  supplies.vetting = std::move(*vetting);
  return {};
}

}  // namespace

task<Result<NodeSupplies>> local_supplies(runtime::Runtime& runtime, const cluster::NodeConfig& config) {
  auto keyring = read_secrets(config, &store::own_environment);
  if (!keyring) co_return tl::unexpected(keyring.error());
  NodeSupplies supplies(std::move(*keyring));
  supplies.own_address = &own_address_towards;
  supplies.vitals = std::make_unique<cluster::ProcessVitals>(runtime);

  auto dialling = dialling_as(config, config.name, config.role);
  if (!dialling) co_return tl::unexpected(dialling.error());
  supplies.dial_tls = std::move(dialling->tls);
  if (config.has_tls()) {
    auto tls = runtime::TlsContext::server({config.certificate, config.key, {}, config.ca});
    if (!tls) co_return tl::unexpected(tls.error());
    supplies.serve_tls = std::move(*tls);
  }

  if (!config.data.empty()) {
    auto kv = co_await open_disk(runtime, config.data);
    if (!kv) co_return fail(kv.error().code, "data: " + kv.error().message);
    supplies.kv = std::move(*kv);
  }
  const bool scored = config.votes_by_score() && config.votes();
  if (scored) {
    if (const Status read = read_keys_of_vote(config, supplies); !read) co_return tl::unexpected(read.error());
  }
  if (scored || config.context.serves) {
    supplies.resources = std::make_unique<cluster::ResourceMeter>(runtime, config.data);
  }
  const Status opened = co_await open_store(runtime, config, supplies);
  if (!opened) co_return fail(opened.error().code, "leadership: " + opened.error().message);
  co_return std::move(supplies);
}

}  // namespace bellwether::node
