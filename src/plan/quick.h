// The plan of `bellwether run URL`: one request over and over, without a scenario file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "plan/plan.h"

namespace bellwether::plan {

struct QuickRun {
  std::string url;
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> body;
  uint32_t vus = 1;
  Duration duration = Duration::seconds(10);
  std::optional<double> rate_per_s;  // given: constant-arrival-rate with `vus` virtual users; else constant-vus
  bool tls_verify = true;
  std::string tls_ca_file;  // empty: the system's
};

// Nothing in the request is a template. Error: kInvalid or kUnsupported, with what to write instead.
Result<Plan> make_plan(const QuickRun& run);

}  // namespace bellwether::plan
