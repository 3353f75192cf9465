// What `bellwether run URL` says in place of a scenario file: one request over and over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/time.h"

namespace bellwether::scenario {

// Nothing in it is a template.
struct QuickRun {
  std::string url;
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> body;
  uint32_t vus = 1;
  Duration duration = Duration::seconds(10);
  std::optional<double> rate_per_s;  // given: constant-arrival-rate with `vus` virtual users; else constant-vus
  std::optional<Duration> timeout;
  bool skip_tls_verify = false;
  std::string tls_ca;       // certificates to trust, PEM; empty: the system's
  std::string tls_ca_name;  // the file they came from, for messages
};

}  // namespace bellwether::scenario
