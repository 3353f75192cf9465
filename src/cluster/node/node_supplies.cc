#include "cluster/node/node_supplies.h"

#include <cstring>
#include <fstream>
#include <map>
#include <netinet/in.h>
#include <optional>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "cluster/net/kv.h"
#include "cluster/net/node_config.h"
#include "cluster/node/dialling.h"
#include "cluster/node/secrets.h"
#include "cluster/vote/key_recovery.h"
#include "cluster/vote/machine_load.h"
#include "cluster/vote/vetting.h"
#include "cluster/vote/vote_codec.h"
#include "core/base/units.h"
#include "core/runtime/address.h"
#include "core/signature/attestation.h"
#include "election/store/environment.h"
#include "election/store/lease_store.h"

namespace bellwether::node {
namespace {

// The keys of a scored vote, as a node has them on its disk: its own, and the public ones of all voters.

constexpr std::size_t kMaxFileBytes = 1 << 16;

Result<std::string> read_public_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Errc::kInvalid, "there is no file '{}'", path);
  std::string text(kMaxFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// Waits for the disk. kInvalid names the missing or invalid file, and the remedy; a private key that others can read is
// refused.
Result<cluster::VoteSeal> read_vote_keys(const cluster::NodeConfig& config) {
  const auto pem = read_secret_file(config.vote.key);
  if (!pem) return fail(pem.error().code, "'vote.key': " + pem.error().message);
  auto own = signature::SigningKey::read(*pem, config.vote.key);
  if (!own) return fail(own.error().code, "'vote.key': " + own.error().message);
  std::map<std::string, signature::PublicKey> keys;
  for (const std::string& name : config.voters) {
    const std::string path = fmt::format("{}/{}.pem", config.vote.keys, name);
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      return fail(Errc::kInvalid,
                  "'vote.keys': there is no '{}', the public key of voter '{}': openssl pkey -in KEY -pubout -out '{}'",
                  path, name, path);
    }
    std::ostringstream text;
    text << file.rdbuf();
    const auto read = signature::read_public_keys(std::move(text).str(), path);
    if (!read) return fail(read.error().code, "'vote.keys': " + read.error().message);
    if (read->size() != 1) return fail(Errc::kInvalid, "'vote.keys': '{}' has more than one key", path);
    keys[name] = read->front();
  }
  if (keys.at(config.name) != own->public_key()) {
    return fail(Errc::kInvalid,
                "'vote.key' does not match the public key '{}/{}.pem': no voter would believe this node",
                config.vote.keys, config.name);
  }
  return cluster::VoteSeal(leadership_key(config), std::move(*own), std::move(keys));
}

// This node's part of the key that only an admin has; nothing where the cluster has none. Waits for the disk. Errors:
// as of secrets.h; kInvalid: the key share is not the one that was split, or too few nodes exist to ever have the key.
Result<std::optional<cluster::KeyHolding>> read_key_holding(const cluster::NodeConfig& config) {
  if (config.vote.key_share.empty()) return std::nullopt;
  auto share = read_key_share(config.vote.key_share);
  if (!share) return fail(share.error().code, "'vote.key_share': " + share.error().message);
  auto commitment = read_commitment(config.vote.key_commitment);
  if (!commitment) return fail(commitment.error().code, "'vote.key_commitment': " + commitment.error().message);
  if (const Status good = commitment->check(*share); !good) {
    return fail(Errc::kInvalid,
                "'vote.key_share': '{}' does not match the commitment '{}': {}. Copy this node's key share of that "
                "split to it again",
                config.vote.key_share, config.vote.key_commitment, good.error().message);
  }
  const secret::SplitRule& rule = commitment->head().rule;
  if (rule.threshold > config.voters.size()) {
    return fail(
        Errc::kInvalid,
        "'vote.key_commitment': restoring the key needs {} key shares, but there are {} voters: split the key again",
        rule.threshold, config.voters.size());
  }
  return cluster::KeyHolding{std::move(*commitment), std::move(*share)};
}

// How this node vets candidates, and its own attestation. Waits for the disk. Errors: a missing or invalid file;
// kInvalid: the attestation is of another node, or not signed by that key. An expired one is no error: its node votes
// and does not stand.
Result<cluster::VettingSettings> read_vetting(const cluster::NodeConfig& config) {
  cluster::VettingSettings out;
  out.cluster = fmt::format("{}/{}", config.cluster, config.environment);
  if (config.vote.operator_key.empty()) return out;
  const auto pem = read_public_file(config.vote.operator_key);
  const auto keys = pem ? signature::read_public_keys(*pem, config.vote.operator_key) : tl::unexpected(pem.error());
  if (!keys) return fail(keys.error().code, "'vote.operator_key': " + keys.error().message);
  if (keys->size() != 1) {
    return fail(Errc::kInvalid, "'vote.operator_key': '{}' has more than one key", config.vote.operator_key);
  }
  out.operator_key = keys->front();
  if (config.vote.attestation.empty()) return out;
  auto text = read_public_file(config.vote.attestation);
  const auto opened = text ? signature::open_attestation(*text, *out.operator_key) : tl::unexpected(text.error());
  if (!opened) {
    return fail(Errc::kInvalid, "'agent.attestation': '{}': {}", config.vote.attestation, opened.error().message);
  }
  // Its expiry is checked when it is used.
  if (const auto why = why_not(*opened, out.cluster, config.name, opened->not_after)) {
    return fail(Errc::kInvalid, "'agent.attestation': '{}': {}: bellwether keys attest --node {}",
                config.vote.attestation, *why, config.name);
  }
  out.attestation = std::move(*text);
  return out;
}

// The address of this machine from which the route to an endpoint begins.

// By the system's routes; nothing is sent. Nothing when no route exists.
std::optional<runtime::IpAddress> own_address_towards(const runtime::Endpoint& there) {
  // A connected UDP socket gets a local address from its destination, without a packet.
  const int fd = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  const int off = 0;
  ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(there.port);
  std::memcpy(&to.sin6_addr, there.address.octets().data(), 16);
  sockaddr_in6 own{};
  socklen_t size = sizeof own;
  const bool known = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  ::close(fd);
  if (!known) return std::nullopt;
  std::array<uint8_t, 16> octets{};
  std::memcpy(octets.data(), &own.sin6_addr, octets.size());
  return runtime::IpAddress::v6(octets);
}

using runtime::task;

task<Result<std::unique_ptr<cluster::Kv>>> open_disk(runtime::Runtime& runtime, std::string folder) {
  BW_CO_RETURN_IF_ERROR(co_await runtime.make_directory(folder, 0700));
  const auto network = co_await runtime.network_file_system(folder);
  if (network && !network->empty()) {
    co_return fail(Errc::kUnsupported,
                   fmt::format("data '{}' is on {}: votes must be on a local disk of this machine", folder, *network));
  }
  auto kv = co_await cluster::open_sqlite_kv(runtime, folder + "/node.db");
  co_return kv;
}

// Workers learn the leader from the nodes that may lead.
task<Status> open_store(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodeSupplies& supplies) {
  if (!config.delegates() || config.role == wire::Role::kWorker) co_return Status();
  std::string url = config.leadership;
  BW_CO_TRY(supplies.store, co_await store::open_store(runtime, std::move(url)));
  const Duration least = supplies.store->traits().lease_min;
  if (config.store_lease < least) {
    co_return fail(Errc::kInvalid, "'leadership_lease' is {}, but {} needs at least {}",
                   format_duration(config.store_lease), supplies.store->describe(), format_duration(least));
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
  supplies.usage = std::make_unique<cluster::ProcessResources>(runtime);

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
