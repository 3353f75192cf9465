#include "jobs/client/client_settings.h"

#include <utility>

#include "cluster/node/secrets.h"
#include "election/store/environment.h"
#include "jobs/client/client_words.h"
#include "jobs/client/scenario_files.h"

namespace bellwether::client::detail {
namespace {

constexpr uint64_t kSettingsBytesMax = 1ULL << 20;

std::string user_name(const Options& options) {
  if (!options.by.empty()) return options.by;
  const std::string user = store::variable(&store::own_environment, "USER");
  return user.empty() ? "somebody" : user;
}

// What the options say, as settings of a node. A client needs neither a role nor a disk, and whatever the file says of
// them is for the node.
std::vector<std::string> assignments_of(const Options& options) {
  std::vector<std::string> out;
  const auto given = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.push_back(name + ("=" + value));
  };
  given("cluster", options.cluster);
  given("environment", options.environment);
  given("secret.file", options.secret_file);
  given("tls.certificate", options.certificate);
  given("tls.key", options.key);
  given("tls.ca", options.ca);
  for (const char* own : {"role=worker", "name=client", "voters=", "data=", "cores=0"}) out.emplace_back(own);
  return out;
}

}  // namespace

Outcome<Engine::Settings> settings_of(const Options& options) {
  if (options.patience.count() <= 0 || options.silence_most.count() <= 0) {
    return Error{Code::kInvalid, "the options patience and silence_most are more than 0", {}};
  }
  cluster::Settings settings{cluster::node_settings()};
  yaml::Diagnostics wrong(options.settings_file.empty() ? "settings" : options.settings_file);
  if (!options.settings_file.empty()) {
    const auto text = read_whole_file(options.settings_file, kSettingsBytesMax);
    if (!text) return Error{Code::kInvalid, "the cluster's settings: " + text.error().message, {}};
    settings.read_file(*text, wrong, options.settings_file);
  }
  settings.read_environment(&store::own_environment, wrong);
  for (const std::string& one : assignments_of(options)) settings.read_option(one, wrong);
  auto config = cluster::node_config(settings, "client", wrong);
  if (!wrong.empty() || !config) return error_of(Code::kInvalid, "the cluster's settings cannot be used", wrong.take());
  std::vector<HostPort> managers = config->seeds;
  if (!options.managers.empty()) managers.clear();
  for (const std::string& one : options.managers) {
    const auto place = parse_host_port(one, cluster::kDefaultPort);
    if (!place) return Error{Code::kInvalid, "manager '" + one + "': " + place.error().message, {}};
    managers.push_back(*place);
  }
  auto keyring = node::read_secrets(*config, &store::own_environment);
  if (!keyring) return Error{Code::kInvalid, keyring.error().message, {}};
  return Engine::Settings{std::move(*config),
                          std::move(*keyring),
                          std::move(managers),
                          user_name(options),
                          Duration::millis(options.patience.count()),
                          Duration::millis(options.silence_most.count())};
}

}  // namespace bellwether::client::detail
