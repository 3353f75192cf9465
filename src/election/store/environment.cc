#include "election/store/environment.h"

#include <cstdlib>

namespace bellwether::store {

std::string variable(Environment environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? std::string() : std::string(value);
}

const char* own_environment(const char* name) { return std::getenv(name); }  // NOLINT(concurrency-mt-unsafe)

std::string state_folder(Environment environment) {
  const std::string state = variable(environment, "XDG_STATE_HOME");
  if (state.starts_with('/')) return state + "/bellwether";
  const std::string home = variable(environment, "HOME");
  return home.starts_with('/') ? home + "/.local/state/bellwether" : std::string();
}

std::string given_instance_id(Environment environment) {
  for (const char* name : {kInstanceIdVariable, kNipLeIdVariable}) {
    if (std::string value = variable(environment, name); !value.empty()) return value;
  }
  return {};
}

Result<InstanceId> choose_instance_id(Environment environment, bool may_mint, bool nip_le, int64_t pid, WallTime now) {
  std::string id = given_instance_id(environment);
  if (!id.empty()) return InstanceId{std::move(id), true};
  if (may_mint) return InstanceId{fmt::format("{}-{}", pid, now.unix_ns), true};
  if (nip_le) return InstanceId{{}, false};
  return fail(Errc::kInvalid, "this process has no name for its candidacy: set {}, or let it make one",
              kInstanceIdVariable);
}

}  // namespace bellwether::store
