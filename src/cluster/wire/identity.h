// The identity that a node claims, and which kinds of nodes may connect to which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/wire/crypto.h"
#include "core/base/result.h"

namespace bellwether::wire {

enum class Role : uint8_t { kClient, kGate, kManager, kWorker, kOperator };
inline constexpr std::size_t kRoles = 5;

std::string_view to_string(Role role);  // "client", "gate", "manager", "worker", "operator"
std::optional<Role> parse_role(std::string_view text);

// The roles that may send a message: a bit for each.
using Roles = uint32_t;
constexpr Roles bit(Role role) { return Roles{1} << static_cast<unsigned>(role); }
namespace roles {
inline constexpr Roles kManagers = bit(Role::kManager);
inline constexpr Roles kWorkers = bit(Role::kWorker);
inline constexpr Roles kOperators = bit(Role::kOperator);
inline constexpr Roles kVoters = kManagers | bit(Role::kGate);
inline constexpr Roles kNodes = kVoters | kWorkers;
// The roles that ask about jobs: people, programs, and nodes that forward their requests.
inline constexpr Roles kAsking = kVoters | kOperators | bit(Role::kClient);
inline constexpr Roles kAll = kNodes | kAsking;
}  // namespace roles

// Whether a node of one role may open a connection to one of another role. Both ends ask.
//
//   from \ to   client  gate  manager                          worker
//   client      no      yes   only where there are no gates    no
//   gate        yes     yes   yes                              no
//   manager     yes     yes   yes                              yes
//   worker      no      no    yes                              yes: it asks the witnesses of a job
//   operator    no      yes   yes                              yes
//
// No node connects to an operator, who asks and acts for a person (`bellwether cluster`).
// `has_gates`: whether the cluster is configured with gates.
bool may_connect(Role from, Role to, bool has_gates);

struct Identity {
  std::string cluster;
  std::string environment;
  std::string datacenter;
  std::string node;  // unique in the cluster
  Role role = Role::kWorker;
  bool operator==(const Identity&) const = default;
};

inline constexpr std::size_t kMaxName = 64;

// A name of a cluster, environment, datacenter or node: 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-'.
bool is_name(std::string_view text);
// kInvalid names the first part that is no name.
Status check_identity(const Identity& identity);

// The hash of the names in an envelope's header: the first 8 bytes of a SHA-256.
uint64_t cluster_hash(std::string_view cluster, std::string_view environment);
uint64_t node_hash(std::string_view node);

// The claims of a certificate, one URI among its alternative names:
//   bellwether://CLUSTER/ENVIRONMENT/DATACENTER/role/ROLE/node/NAME
// DATACENTER may be "*", for a certificate that is good in all of them. NAME may be "*" for clients and operators only:
// their names are never taken for those of members.
struct Claims {
  std::string cluster;
  std::string environment;
  std::string datacenter;
  Role role = Role::kWorker;
  std::string node;  // empty: it ends with the role, and proves nothing since certificates name their nodes
};

std::optional<Claims> parse_claims(std::string_view uri);
// Whether a node with these claims may call itself so, its name aside,
bool claims_allow_role(const Claims& claims, const Identity& identity);
// and its name too.
bool claims_allow(const Claims& claims, const Identity& identity);

}  // namespace bellwether::wire
