#include "load/vuser/targets.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/http1/client_origin.h"
#include "core/http1/url.h"
#include "core/runtime/tls.h"
#include "load/vuser/request_maker.h"

namespace bellwether::vuser {
namespace {

using runtime::task;

struct Target {
  const http1::Origin* origin;
  const plan::HttpCall* call;
  std::string url;
};

// Each server once, as the first of its requests reaches it. Wrong settings are reported where steps are prepared.
std::vector<Target> targets_of(const plan::Plan& plan, http1::OriginTable& origins) {
  std::vector<const plan::HttpCall*> calls;
  for (const plan::HttpCall& token : plan.tokens) calls.push_back(&token);
  for (const plan::Workflow& workflow : plan.workflows) {
    for (const plan::Step& step : workflow.steps) {
      if (const auto* call = std::get_if<plan::HttpCall>(&step.work)) calls.push_back(call);
      if (const auto* code = std::get_if<plan::CodeCall>(&step.work)) calls.push_back(&code->base);
    }
  }
  std::vector<Target> out;
  for (const plan::HttpCall* call : calls) {
    std::string text = plan::origin_of(call->url);
    if (text.empty()) continue;
    const RequestMaker maker(*call);
    const auto url = http1::parse_url(text);
    if (!url) continue;
    const auto origin = origins.find(url->tls, url->host, url->port, maker.tls(), maker.proxy_to(url->tls, url->host));
    if (!origin) continue;
    const auto is_same = [&origin](const Target& one) { return one.origin == *origin; };
    if (std::none_of(out.begin(), out.end(), is_same)) out.push_back({*origin, call, std::move(text)});
  }
  return out;
}

task<Result<std::vector<runtime::IpAddress>>> look_up(runtime::Runtime& runtime, const Target& target) {
  if (target.origin->literal) co_return std::vector<runtime::IpAddress>{target.origin->address};
  runtime::Cancellation over(nullptr);
  runtime::Timer timer([](void* self) { static_cast<runtime::Cancellation*>(self)->cancel(); }, &over);
  const Duration limit = target.call->connect_timeout;
  runtime.timers().arm(timer, runtime.read_clock() + limit);
  auto found = co_await runtime.resolve(target.origin->next_hop(), &over);
  if (!found && over.cancelled()) {
    co_return fail(Errc::kDns, "no name server has answered for {} ms: '{}'", limit.ms(), target.origin->next_hop());
  }
  co_return found;
}

task<Status> open_one(runtime::Runtime& runtime, const Target& target, std::vector<runtime::IpAddress> addresses,
                      const std::vector<runtime::IpAddress>& local) {
  const http1::Origin& origin = *target.origin;
  Result<std::unique_ptr<runtime::Stream>> stream = fail(Errc::kDns, "its name has no address");
  for (const runtime::IpAddress address : addresses) {
    runtime::ConnectOptions options;
    options.timeout = target.call->connect_timeout;
    const auto fits = [&](const runtime::IpAddress& one) { return one.is_v4() == address.is_v4(); };
    const auto from = std::find_if(local.begin(), local.end(), fits);
    if (from != local.end()) options.from = *from;
    stream = co_await runtime.connect({address, origin.next_hop_port()}, options, nullptr);
    if (stream) break;
  }
  if (stream && origin.tls && !origin.proxy) {
    stream = co_await runtime::tls_connect(runtime, std::move(*stream), origin.tls_context, origin.tls_name(),
                                           target.call->tls_timeout, nullptr);
  }
  if (!stream) co_return tl::unexpected(stream.error());
  co_return Status();
}

}  // namespace

task<Status> check_targets(runtime::Runtime& runtime, const plan::Plan& plan, bool connect) {
  http1::OriginTable origins;
  BW_CO_RETURN_IF_ERROR(override_hosts(plan, origins));
  BW_CO_TRY(const std::vector<runtime::IpAddress> local, local_addresses(runtime, plan));
  const std::vector<Target> targets = targets_of(plan, origins);
  for (const Target& target : targets) {
    auto addresses = co_await look_up(runtime, target);
    Status reached = addresses ? Status() : tl::unexpected(addresses.error());
    if (reached && connect) reached = co_await open_one(runtime, target, std::move(*addresses), local);
    if (reached) continue;
    const std::string through =
        target.origin->proxy ? fmt::format(", through the proxy {}", target.origin->next_hop()) : "";
    co_return fail(reached.error().code, "{}{} cannot be reached: {}", target.url, through, reached.error().message);
  }
  co_return Status();
}

Result<std::vector<runtime::IpAddress>> local_addresses(runtime::Runtime& runtime, const plan::Plan& plan) {
  std::vector<runtime::IpAddress> out;
  for (const plan::IpRange& range : plan.local_ips) {
    for (auto octets = range.first;;) {
      const auto address = runtime::IpAddress::v6(octets);
      if (runtime.bind_udp({address, 0})) out.push_back(address);
      if (octets == range.last) break;
      for (std::size_t i = octets.size(); ++octets[--i] == 0;) {
      }
    }
  }
  if (!out.empty() || plan.local_ips.empty()) return out;
  return fail(Errc::kInvalid, "this machine has none of the addresses of 'local_ips': `ip address` lists those it has");
}

}  // namespace bellwether::vuser
