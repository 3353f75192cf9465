// The environment variables, replaceable by tests.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::store {

// Looks up a variable; nullptr when it is not set.
using Environment = const char* (*)(const char* name);

// The variable, empty when it is not set.
std::string variable(Environment environment, const char* name);
// That of this process.
const char* own_environment(const char* name);

// The folder for data that must survive a restart but is no configuration: $XDG_STATE_HOME/bellwether, or bellwether
// below ~/.local/state; empty without a home.
std::string state_folder(Environment environment);

// The name of a process as a candidate on its host. It must differ between processes: two with one name would take each
// other's claims for their own.

inline constexpr const char* kInstanceIdVariable = "BELLWETHER_INSTANCE_ID";
inline constexpr const char* kNipLeIdVariable = "BUZZ_INSTANCE_ELECTION_ID";

// The id in the environment, verbatim: from our variable, else from that of NIP-LE; empty if neither is set.
std::string given_instance_id(Environment environment);

struct InstanceId {
  std::string id;
  bool elects = true;  // false: by the rules of NIP-LE this process runs in no election, and always leads
};

// The configured id, else a new one, "PID-NANOSECONDS". If minting is not allowed, a process without an id always leads
// in the profile nip-le; elsewhere that is an error.
Result<InstanceId> choose_instance_id(Environment environment, bool may_mint, bool nip_le, int64_t pid, WallTime now);

}  // namespace bellwether::store
