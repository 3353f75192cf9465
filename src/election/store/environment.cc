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

}  // namespace bellwether::store
