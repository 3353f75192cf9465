#include "election/store/host/instance_id.h"

namespace bellwether::store {

std::string given_instance_id(Environment environment) {
  for (const char* name : {kInstanceIdVariable, kNipLeIdVariable}) {
    if (std::string value = variable(environment, name); !value.empty()) return value;
  }
  return {};
}

Result<InstanceId> choose_instance_id(Environment environment, bool may_mint, bool nip_le, int64_t pid, WallTime now) {
  std::string id = given_instance_id(environment);
  if (!id.empty()) return InstanceId{std::move(id), true};
  if (may_mint) return InstanceId{std::to_string(pid) + "-" + std::to_string(now.unix_ns), true};
  if (nip_le) return InstanceId{{}, false};
  return fail(Errc::kInvalid, std::string("this process has no name to stand for a key with: set ") +
                                  kInstanceIdVariable + ", or let it make one");
}

}  // namespace bellwether::store
