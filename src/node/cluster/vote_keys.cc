#include "node/cluster/vote_keys.h"

#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "node/cluster/dialling.h"
#include "node/cluster/key_files.h"
#include "node/cluster/secrets.h"
#include "signature/attestation.h"

namespace bellwether::node {
namespace {

constexpr std::size_t kMostFileBytes = 1 << 16;

Result<std::string> read_public_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Errc::kInvalid, "there is no '" + path + "' to read");
  std::string text(kMostFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

Result<cluster::VoteSeal> read_vote_keys(const cluster::NodeConfig& config) {
  const auto pem = read_secret_file(config.vote.key);
  if (!pem) return fail(pem.error().code, "'vote.key': " + pem.error().message);
  auto own = signature::SigningKey::read(*pem, config.vote.key);
  if (!own) return fail(own.error().code, "'vote.key': " + own.error().message);
  std::map<std::string, signature::PublicKey> keys;
  for (const std::string& name : config.voters) {
    const std::string path = config.vote.keys + "/" + name + ".pem";
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      return fail(Errc::kInvalid, "'vote.keys': there is no '" + path + "', the public key of voter '" + name +
                                      "': openssl pkey -in KEY -pubout -out '" + path + "'");
    }
    std::ostringstream text;
    text << file.rdbuf();
    const auto read = signature::read_public_keys(std::move(text).str(), path);
    if (!read) return fail(read.error().code, "'vote.keys': " + read.error().message);
    if (read->size() != 1) return fail(Errc::kInvalid, "'vote.keys': '" + path + "' has more than one key");
    keys[name] = read->front();
  }
  if (keys.at(config.name) != own->public_key()) {
    return fail(Errc::kInvalid, "'vote.key' is not the key whose public half is '" + config.vote.keys + "/" +
                                    config.name + ".pem': nobody would believe this node");
  }
  return cluster::VoteSeal(leadership_key(config), std::move(*own), std::move(keys));
}

Result<std::optional<cluster::KeyHolding>> read_key_holding(const cluster::NodeConfig& config) {
  if (config.vote.key_share.empty()) return std::nullopt;
  auto share = read_key_share(config.vote.key_share);
  if (!share) return fail(share.error().code, "'vote.key_share': " + share.error().message);
  auto commitment = read_commitment(config.vote.key_commitment);
  if (!commitment) return fail(commitment.error().code, "'vote.key_commitment': " + commitment.error().message);
  if (const Status good = commitment->check(*share); !good) {
    return fail(Errc::kInvalid, "'vote.key_share': '" + config.vote.key_share + "' is not what '" +
                                    config.vote.key_commitment + "' says was split: " + good.error().message +
                                    ". Bring this node its key share of that splitting again");
  }
  const secret::SplitRule& rule = commitment->head().rule;
  if (rule.threshold > config.voters.size()) {
    return fail(Errc::kInvalid, "'vote.key_commitment': it takes " + std::to_string(rule.threshold) +
                                    " key shares to have the key, and there are " +
                                    std::to_string(config.voters.size()) + " voters: split it anew");
  }
  return cluster::KeyHolding{std::move(*commitment), std::move(*share)};
}

Result<cluster::VettingSettings> read_vetting(const cluster::NodeConfig& config) {
  cluster::VettingSettings out;
  out.cluster = config.cluster + "/" + config.environment;
  if (config.vote.operator_key.empty()) return out;
  const auto pem = read_public_file(config.vote.operator_key);
  const auto keys = pem ? signature::read_public_keys(*pem, config.vote.operator_key) : tl::unexpected(pem.error());
  if (!keys) return fail(keys.error().code, "'vote.operator_key': " + keys.error().message);
  if (keys->size() != 1) {
    return fail(Errc::kInvalid, "'vote.operator_key': '" + config.vote.operator_key + "' has more than one key");
  }
  out.operator_key = keys->front();
  if (config.vote.attestation.empty()) return out;
  auto text = read_public_file(config.vote.attestation);
  const auto opened = text ? signature::open_attestation(*text, *out.operator_key) : tl::unexpected(text.error());
  if (!opened) {
    return fail(Errc::kInvalid, "'agent.attestation': '" + config.vote.attestation + "': " + opened.error().message);
  }
  // Whether it has run out is asked when it is used.
  if (const auto why = why_not(*opened, out.cluster, config.name, opened->not_after)) {
    return fail(Errc::kInvalid, "'agent.attestation': '" + config.vote.attestation + "': " + *why +
                                    ": bellwether keys attest --node " + config.name);
  }
  out.attestation = std::move(*text);
  return out;
}

}  // namespace bellwether::node
