#include "election/store/dial.h"

#include "core/runtime/cancellation.h"
#include "core/runtime/until.h"

namespace bellwether::store {
namespace {

tl::unexpected<Error> trouble(const HostPort& host, const Error& error) {
  return fail(error.code, to_string(host) + ": " + error.message);
}

}  // namespace

runtime::task<Result<std::unique_ptr<runtime::Stream>>> dial(runtime::Runtime& runtime, HostPort host,
                                                             std::shared_ptr<runtime::TlsContext> tls, Instant deadline,
                                                             runtime::Cancellation* cancel) {
  runtime::Until until(runtime, deadline, cancel);
  const auto addresses = co_await runtime.resolve(host.host, until.cancellation());
  if (until.over()) co_return fail(until.why(), to_string(host) + ": its name was not resolved in time");
  if (!addresses) co_return trouble(host, addresses.error());
  Error last{Errc::kDns, "the name has no address"};
  for (const runtime::IpAddress& address : *addresses) {
    runtime::ConnectOptions options;
    options.timeout = deadline - runtime.now();
    auto stream = co_await runtime.connect({address, host.port}, options, until.cancellation());
    if (until.over()) co_return fail(until.why(), to_string(host) + ": connecting took too long");
    if (!stream) {
      last = stream.error();
      continue;
    }
    if (tls == nullptr) co_return std::move(*stream);
    auto secured =
        co_await runtime::tls_connect(runtime, std::move(*stream), tls, host.host, deadline - runtime.now(), cancel);
    if (!secured) co_return trouble(host, secured.error());
    co_return std::move(*secured);
  }
  co_return trouble(host, last);
}

}  // namespace bellwether::store
