// What other nodes are called: by people and connections, by their names; in the messages of elections and job
// registers, by a hash of these.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/peer_links.h"
#include "election/quorum/configuration.h"
#include "wire/identity.h"

namespace bellwether::cluster {

inline quorum::MemberId member_id(std::string_view name) {
  const uint64_t hash = wire::node_hash(name);
  return quorum::MemberId(hash == 0 ? 1 : hash);
}

// Where nodes are reached now.
class Addresses {
 public:
  virtual ~Addresses() = default;
  // Nothing when nobody knows.
  virtual std::optional<PeerAddress> find(const std::string& name) const = 0;
};

}  // namespace bellwether::cluster
