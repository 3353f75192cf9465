// The location of leases, as one URL: scheme://user@host:port,host:port/path?name=value. This parser only splits the
// URL; each store gives the parts their meaning. It refuses passwords in URLs, because every user of the machine can
// read them in the process list: they come from files (`password_file=…`) or the environment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/host_port.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::store {

struct StoreUrl {
  std::string scheme;
  std::string user;
  std::vector<HostPort> hosts;
  std::string path;  // decoded; for file-like schemes everything up to the '?', as it was written
  std::map<std::string, std::string, std::less<>> options;
  std::string text;  // for messages: as configured

  // An option, taken out of `options`, so that the rest at the end is unknown.
  std::optional<std::string> take(std::string_view name);
  Result<std::optional<bool>> take_bool(std::string_view name);
  Result<std::optional<Duration>> take_duration(std::string_view name);
  // An error that names the options left over and lists the `known` ones.
  Status nothing_left(std::string_view known) const;
};

// This parser knows the schemes and their `default_port`s: an unknown scheme is an error that lists the known ones.
Result<StoreUrl> parse_store_url(std::string_view text);
// The schemes with one line of help each, for --help.
std::string store_schemes_help();

// vote: and quorum: name no store, but a group of nodes that elect their leader themselves. If the caller needs a
// store, parse_store_url() refuses them and says which command to use instead.
bool is_group_url(std::string_view text);
std::string group_schemes_help();

}  // namespace bellwether::store
