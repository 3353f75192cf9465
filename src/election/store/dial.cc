#include "election/store/dial.h"

#include <cstdlib>

#include "core/runtime/cancellation.h"
#include "core/runtime/event.h"

namespace bellwether::store {
namespace {

tl::unexpected<Error> trouble(const HostPort& host, const Error& error) {
  return fail(error.code, "{}: {}", to_string(host), without_place(host, error.message));
}

constexpr std::size_t kSmall = 1 << 20;

}  // namespace

runtime::task<Result<std::unique_ptr<runtime::Stream>>> dial(runtime::Runtime& runtime, HostPort host,
                                                             std::shared_ptr<runtime::TlsContext> tls, Instant deadline,
                                                             runtime::Cancellation* cancel) {
  runtime::Until until(runtime, deadline, cancel);
  const auto addresses = co_await runtime.resolve(host.host, until.cancellation());
  if (until.over()) co_return fail(until.why(), to_string(host) + ": resolving its name timed out");
  if (!addresses) co_return trouble(host, addresses.error());
  Error last{Errc::kDns, "the name has no address"};
  for (const runtime::IpAddress& address : *addresses) {
    runtime::ConnectOptions options;
    options.timeout = deadline - runtime.now();
    auto stream = co_await runtime.connect({address, host.port}, options, until.cancellation());
    if (until.over()) co_return fail(until.why(), to_string(host) + ": connecting timed out");
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

runtime::task<Result<std::string>> read_small_file(runtime::Runtime& runtime, std::string path) {
  BW_CO_TRY(auto file, co_await runtime.open(path, {}));
  BW_CO_TRY(const auto size, file->size());
  if (size > kSmall) co_return fail(Errc::kTooLarge, "'{}' is too large for a password or token", path);
  std::string text(kSmall, '\0');
  const MutableBytes into(reinterpret_cast<std::byte*>(text.data()), text.size());
  BW_CO_TRY(const auto read, co_await file->read_at(0, into));
  text.resize(read);
  co_return text;
}

runtime::task<Result<std::string>> read_secret(runtime::Runtime& runtime, std::string path) {
  auto text = co_await read_small_file(runtime, path);
  if (!text) co_return text;
  text->resize(std::min(text->size(), text->find_first_of("\r\n")));
  if (text->empty()) co_return fail(Errc::kInvalid, "'{}' is empty", path);
  co_return text;
}

runtime::task<Result<std::string>> password_of(runtime::Runtime& runtime, StoreUrl& url,
                                               std::vector<std::string> variables) {
  if (auto file = url.take("password_file")) {
    auto secret = co_await read_secret(runtime, std::move(*file));
    if (!secret) co_return fail(secret.error().code, "{}: the password: {}", url.text, secret.error().message);
    co_return secret;
  }
  for (const std::string& variable : variables) {
    if (const char* value = std::getenv(variable.c_str())) co_return std::string(value);
  }
  co_return std::string();
}

Result<std::shared_ptr<runtime::TlsContext>> tls_of(StoreUrl& url, bool secure) {
  if (!secure) {
    BW_RETURN_IF_ERROR(url.nothing_left("password_file"));
    return std::shared_ptr<runtime::TlsContext>();
  }
  runtime::TlsClientOptions options;
  options.ca_file = url.take("ca").value_or("");
  options.certificate_file = url.take("cert").value_or("");
  options.key_file = url.take("key").value_or("");
  BW_TRY(const auto verify, url.take_bool("verify"));
  options.verify = verify.value_or(true);
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return fail(Errc::kInvalid, url.text + ": a certificate needs its key: cert=FILE&key=FILE");
  }
  auto context = runtime::TlsContext::client(options);
  if (!context) return fail(context.error().code, "{}: {}", url.text, context.error().message);
  BW_RETURN_IF_ERROR(url.nothing_left("password_file, ca, cert, key, verify"));
  return context;
}

std::string hosts_text(const std::vector<HostPort>& hosts) {
  std::string out;
  for (const HostPort& host : hosts) out += (out.empty() ? "" : ",") + to_string(host);
  return out;
}

}  // namespace bellwether::store
