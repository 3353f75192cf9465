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

// The folder for what must survive a restart but is no configuration: $XDG_STATE_HOME/bellwether, or that below
// ~/.local/state; empty without a home.
std::string state_folder(Environment environment);

// The name under which a process stands for a key on its host. It must be another one for each process: two that share
// it would take each other's claims for their own.

inline constexpr const char* kInstanceIdVariable = "BELLWETHER_INSTANCE_ID";
inline constexpr const char* kNipLeIdVariable = "BUZZ_INSTANCE_ELECTION_ID";

// The id that the environment gives, verbatim: from our variable, else from the one of NIP-LE; empty when it gives
// none.
std::string given_instance_id(Environment environment);

struct InstanceId {
  std::string id;
  bool elects = true;  // false: by the rules of NIP-LE this process takes part in no election, and always leads
};

// The one given, else a new one, "PID-NANOSECONDS". Where none may be made, a process without an id always leads in the
// profile nip-le; elsewhere that is an error.
Result<InstanceId> choose_instance_id(Environment environment, bool may_mint, bool nip_le, int64_t pid, WallTime now);

}  // namespace bellwether::store
