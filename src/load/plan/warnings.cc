#include "load/plan/warnings.h"

#include <algorithm>
#include <string_view>

#include "core/base/bytes.h"
#include "load/scenario/document.h"

namespace bellwether::plan {

std::vector<std::string> host_warnings(const Plan& plan) {
  std::vector<std::string> hosts;
  bool knows_all = true;
  const auto add = [&](const HttpCall& call) {
    const std::string origin = origin_of(call.url);
    knows_all = knows_all && !origin.empty();
    const std::size_t begin = origin.find("://") + 3;
    if (origin.empty()) return;
    const bool is_v6 = origin[begin] == '[';
    const std::size_t end = origin.find(is_v6 ? ']' : ':', begin);
    hosts.push_back(origin.substr(begin + (is_v6 ? 1 : 0), end - begin - (is_v6 ? 1 : 0)));
  };
  for (const HttpCall& token : plan.tokens) add(token);
  for (const Workflow& workflow : plan.workflows) {
    for (const Step& step : workflow.steps) {
      if (const auto* call = std::get_if<HttpCall>(&step.work)) add(*call);
      knows_all = knows_all && !std::holds_alternative<CodeCall>(step.work);
    }
  }
  std::vector<std::string> out;
  for (const HostPlace& place : plan.hosts) {
    const auto is_it = [&](const std::string& host) { return iequals(host, place.host); };
    if (!knows_all || std::any_of(hosts.begin(), hosts.end(), is_it)) continue;
    const std::vector<std::string_view> names(hosts.begin(), hosts.end());
    const std::string hint = scenario::did_you_mean(place.host, names);
    out.push_back(fmt::format("no URL has the host {} of 'hosts' or --resolve{}", scenario::in_quotes(place.host),
                              hint.empty() ? ": only a redirect could lead to it" : fmt::format(" ({})", hint)));
  }
  return out;
}

}  // namespace bellwether::plan
