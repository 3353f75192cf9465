#include "cluster/wire/identity.h"

#include <array>

#include "cluster/wire/big_endian.h"
#include "core/base/bytes.h"
#include "core/base/enum_names.h"

namespace bellwether::wire {
namespace {

constexpr EnumNames<Role> kRoleNames("client", "gate", "manager", "worker", "operator");

uint64_t short_hash(std::string_view text) { return load_be<uint64_t>(sha256(as_bytes(text)).data()); }

}  // namespace

std::string_view to_string(Role role) { return kRoleNames[role]; }
std::optional<Role> parse_role(std::string_view text) { return kRoleNames.find(text); }

bool may_connect(Role from, Role to, bool has_gates) {
  static constexpr std::array<std::array<bool, kRoles>, kRoles> kMay = {{
      // to: client, gate, manager, worker, operator
      {false, true, false, false, false},  // client
      {true, true, true, false, false},    // gate
      {true, true, true, true, false},     // manager
      {false, false, true, true, false},   // worker
      {false, true, true, true, false},    // operator
  }};
  if (from == Role::kClient && to == Role::kManager) return !has_gates;
  return kMay[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

bool is_name(std::string_view text) { return is_word_of(text, "._-", kMaxName); }

Status check_identity(const Identity& identity) {
  const std::array<std::pair<const char*, const std::string*>, 4> parts = {{{"cluster", &identity.cluster},
                                                                            {"environment", &identity.environment},
                                                                            {"datacenter", &identity.datacenter},
                                                                            {"node", &identity.node}}};
  for (const auto& [what, name] : parts) {
    if (is_name(*name)) continue;
    return fail(Errc::kInvalid,
                "the name of the {} must have 1 to 64 characters out of letters, digits, '.', '_' and '-'", what);
  }
  return {};
}

uint64_t cluster_hash(std::string_view cluster, std::string_view environment) {
  std::string both(cluster);
  both += '\0';
  both += environment;
  return short_hash(both);
}

uint64_t node_hash(std::string_view node) { return short_hash(node); }

std::optional<Claims> parse_claims(std::string_view uri) {
  static constexpr std::string_view kScheme = "bellwether://";
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  std::array<std::string_view, 7> parts;
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    if (count == parts.size()) return std::nullopt;
    const auto slash = uri.find('/');
    parts[count] = uri.substr(0, slash);
    more = slash != std::string_view::npos;
    if (more) uri.remove_prefix(slash + 1);
  }
  const bool names_node = count == 7 && parts[5] == "node";
  if (count != 5 && !names_node) return std::nullopt;
  const auto role = parse_role(parts[4]);
  const bool named = is_name(parts[0]) && is_name(parts[1]) && (parts[2] == "*" || is_name(parts[2]));
  if (!named || parts[3] != "role" || !role) return std::nullopt;
  const bool may_be_any = *role == Role::kClient || *role == Role::kOperator;
  if (names_node && !is_name(parts[6]) && !(may_be_any && parts[6] == "*")) return std::nullopt;
  return Claims{std::string(parts[0]), std::string(parts[1]), std::string(parts[2]), *role, std::string(parts[6])};
}

bool claims_allow_role(const Claims& claims, const Identity& identity) {
  return claims.cluster == identity.cluster && claims.environment == identity.environment &&
         (claims.datacenter == "*" || claims.datacenter == identity.datacenter) && claims.role == identity.role;
}

bool claims_allow(const Claims& claims, const Identity& identity) {
  return claims_allow_role(claims, identity) && (claims.node == "*" || claims.node == identity.node);
}

}  // namespace bellwether::wire
