// What other nodes are called: by people and connections, by their names; in the messages of elections and job
// registers, by a hash of these.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/net/peer_links.h"
#include "cluster/wire/identity.h"
#include "core/base/bytes.h"
#include "election/quorum/configuration.h"

namespace bellwether::cluster {

inline quorum::MemberId member_id(std::string_view name) {
  const uint64_t hash = wire::node_hash(name);
  return quorum::MemberId(hash == 0 ? 1 : hash);
}

// A kernel knows nodes by their ids, people know them by their names: each `word` with a number behind it becomes the
// name of that id in quotes, where it is known.
template <class Id>
std::string with_names(const std::string& text, std::string_view word, const std::map<Id, std::string>& names) {
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t found = text.find(word, at);
    if (found == std::string::npos) return out + text.substr(at);
    const std::size_t begin = found + word.size();
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    const auto id = parse_u64(std::string_view(text).substr(begin, end - begin));
    const auto name = id ? names.find(Id(*id)) : names.end();
    out += text.substr(at, found - at);
    out += name == names.end() ? text.substr(found, end - found) : "'" + name->second + "'";
    at = end;
  }
}

// Where nodes are reached now.
class Addresses {
 public:
  virtual ~Addresses() = default;
  // Nothing when nobody knows.
  virtual std::optional<PeerAddress> find(const std::string& name) const = 0;
};

}  // namespace bellwether::cluster
