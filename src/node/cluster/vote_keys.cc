#include "node/cluster/vote_keys.h"

#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "node/cluster/node_parts.h"
#include "node/cluster/secrets.h"

namespace bellwether::node {

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

}  // namespace bellwether::node
