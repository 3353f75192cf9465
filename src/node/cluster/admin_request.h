// What an operator asks of a node (proto/admin.proto), decoded and checked before anything acts on it: what is here can
// be asked. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace bellwether::node {

inline constexpr std::size_t kAdminRequestMax = 4096;  // bytes

struct AskMembers {};
struct AskLeader {};
struct AskQuorum {};
struct AskSecrets {};
struct AskVotes {
  bool messages = false;  // also the last ones
};
struct Leave {};
struct Drain {};
struct Transfer {
  std::string to;  // empty: to the fittest
};
struct ChangeVoters {
  bool add = false;  // else: remove
  std::string name;
};
struct CallElection {
  bool forced = false;
};
struct LearnSecret {
  std::string secret;
};
struct UseSecret {
  uint32_t id = 0;
};
struct ForgetSecret {
  uint32_t id = 0;
};

using AdminRequest = std::variant<AskMembers, AskLeader, AskQuorum, AskSecrets, AskVotes, Leave, Drain, Transfer,
                                  CallElection, ChangeVoters, LearnSecret, UseSecret, ForgetSecret>;

// Errors are for the operator: kProtocol (not a request), kTooLarge, kUnsupported (of another version), kInvalid.
Result<AdminRequest> decode_admin_request(std::string_view bytes);
// What it is called in the audit log, without any secret; empty for a question, which changes nothing.
std::string act_of(const AdminRequest& request);

}  // namespace bellwether::node
