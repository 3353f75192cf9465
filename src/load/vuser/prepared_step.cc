#include "load/vuser/prepared_step.h"

#include <algorithm>
#include <charconv>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/host_port.h"
#include "core/base/units.h"
#include "core/http1/client_connections.h"
#include "core/http1/url.h"
#include "core/runtime/tls.h"
#include "load/plan/feeder.h"

namespace bellwether::vuser {

namespace {

constexpr std::string_view kUserAgent = "bellwether/0.1";

bool call_mentions_time(const plan::HttpCall& call) {
  if (mentions_time(call.url) || (call.body && mentions_time(*call.body))) return true;
  if (call.files != nullptr && std::ranges::any_of(call.files->bodies, mentions_time)) {
    return true;
  }
  for (const plan::Header& header : call.headers) {
    if (mentions_time(header.value)) return true;
  }
  return false;
}

bool is_replaced(const RequestChange* change, std::string_view name) {
  return change != nullptr &&
         std::ranges::any_of(change->headers, [name](const auto& one) { return iequals(one.first, name); });
}

bool has_header(const plan::HttpCall& call, const RequestChange* change, std::string_view name) {
  return is_replaced(change, name) ||
         std::ranges::any_of(call.headers, [name](const plan::Header& header) { return iequals(header.name, name); });
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

std::unique_ptr<const http1::TlsSettings> tls_settings_of(const plan::Tls& tls) {
  const auto version = [](plan::TlsVersion of) {
    return of == plan::TlsVersion::k12 ? runtime::TlsVersion::k12 : runtime::TlsVersion::k13;
  };
  return std::make_unique<const http1::TlsSettings>(http1::TlsSettings{.verify = tls.verify,
                                                                       .ca_pem = tls.ca.text,
                                                                       .ca_name = tls.ca.name,
                                                                       .certificate_pem = tls.certificate.text,
                                                                       .key_pem = tls.key.text,
                                                                       .certificate_name = tls.certificate.name,
                                                                       .key_name = tls.key.name,
                                                                       .server_name = tls.server_name,
                                                                       .min_version = version(tls.min_version),
                                                                       .max_version = version(tls.max_version),
                                                                       .resume = tls.resume});
}

// A token of HTTP as name, and a value without the characters that end its line.
bool can_be_sent(std::string_view name, std::string_view value) {
  constexpr std::string_view kNoToken = "()<>@,;:\\\"/[]?={} \t";
  if (name.empty() || value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) return false;
  return std::ranges::all_of(
      name, [&](char c) { return c > 0x20 && c < 0x7f && kNoToken.find(c) == std::string_view::npos; });
}

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
    if (std::ranges::none_of(out, is_same)) out.push_back({*origin, call, std::move(text)});
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
    co_return fail(Errc::kDns, "no name server has answered for {}: '{}'", format_duration(limit),
                   target.origin->next_hop());
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
    const auto from = std::ranges::find_if(local, fits);
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

RequestMaker::RequestMaker(const plan::HttpCall& call)
    : call_(&call),
      limits_(std::make_unique<http1::CallLimits>()),
      tls_settings_(tls_settings_of(call.tls)),
      heads_(std::make_unique<http1::HeadMemory>()),
      mentions_time_(call_mentions_time(call)) {
  *limits_ = {.timeout = call.timeout,
              .connect_timeout = call.connect_timeout,
              .tls_timeout = call.tls_timeout,
              .first_byte_timeout = call.first_byte_timeout,
              .body_bytes_max = call.body_bytes_max,
              .redirects_max = call.redirects_max};
}

bool RequestMaker::make(const RenderContext& context, http1::OriginTable& origins, RequestText& text,
                        http1::Request& out) const {
  return make(nullptr, context, origins, text, out);
}

bool RequestMaker::make(const RequestChange& change, const RenderContext& context, http1::OriginTable& origins,
                        RequestText& text, http1::Request& out) const {
  return make(&change, context, origins, text, out);
}

bool RequestMaker::render_url(const RequestChange* change, const RenderContext& context, std::string& out) const {
  out.clear();
  const bool whole = change != nullptr && (change->url.starts_with("http://") || change->url.starts_with("https://"));
  if (!whole && !render(call_->url, context, out)) return false;
  if (change == nullptr) return true;
  if (!whole) {
    while (out.ends_with('/')) out.pop_back();
    if (!change->url.starts_with('/') && !change->url.starts_with('?')) out += '/';
  }
  out += change->url;
  return true;
}

bool RequestMaker::put_fields(const RequestChange* change, const RenderContext& context, RequestText& text) const {
  std::string& bytes = text.bytes;
  for (const plan::Header& header : call_->headers) {
    if (is_replaced(change, header.name)) continue;
    bytes += header.name;
    bytes += ": ";
    if (header.is_basic) {
      text.credentials.clear();
      if (!render(header.value, context, text.credentials)) return false;
      bytes += "Basic ";
      append_base64(text.credentials, bytes);
    } else if (!render(header.value, context, bytes)) {
      return false;
    }
    bytes += "\r\n";
  }
  if (call_->token && !is_replaced(change, "Authorization")) {
    if (*call_->token >= context.tokens.size() || context.tokens[*call_->token].empty()) return false;
    bytes += "Authorization: Bearer ";
    bytes += context.tokens[*call_->token];
    bytes += "\r\n";
  }
  if (change == nullptr) return true;
  for (const auto& [name, value] : change->headers) {
    if (!can_be_sent(name, value)) return false;
    append_field(bytes, name, value);
  }
  return true;
}

bool RequestMaker::put_credentials(const RenderContext& context, RequestText& text, http1::Request& out) const {
  out.digest = nullptr;
  if (!call_->digest) return true;
  text.credentials.clear();
  text.password.clear();
  if (!render(call_->digest->user, context, text.credentials)) return false;
  if (!render(call_->digest->password, context, text.password)) return false;
  text.digest = {text.credentials, text.password};
  out.digest = &text.digest;
  return true;
}

// nullptr: no body.
const plan::Template* RequestMaker::next_body(const RenderContext& context) const {
  if (call_->files == nullptr) return call_->body ? &*call_->body : nullptr;
  const std::vector<plan::Template>& bodies = call_->files->bodies;
  if (call_->files->pick == plan::BodyFiles::Pick::kRandom) return &bodies[context.prng.below(bodies.size())];
  const plan::Template& body = bodies[next_file_ % bodies.size()];
  next_file_ += file_step_;
  return &body;
}

bool RequestMaker::make(const RequestChange* change, const RenderContext& context, http1::OriginTable& origins,
                        RequestText& text, http1::Request& out) const {
  const plan::HttpCall& call = *call_;
  if (!render_url(change, context, text.url)) return false;
  http1::UrlView url;
  if (http1::split_url(text.url, url) != Errc::kOk) return false;
  const Proxy* const proxy = proxy_to(url.tls, url.host);
  auto origin = origins.find(url.tls, url.host, url.port, *tls_settings_, proxy);
  if (!origin) return false;
  text.body.clear();
  const bool own_body = change != nullptr && change->body;
  const plan::Template* const body = own_body ? nullptr : next_body(context);
  if (own_body) {
    text.body = *change->body;
  } else if (body != nullptr && !render(*body, context, text.body)) {
    return false;
  }

  const std::string_view method = change != nullptr ? change->method : std::string_view(call.method);
  std::string& bytes = text.bytes;
  bytes.clear();
  bytes += method;
  bytes += ' ';
  const bool absolute = proxy != nullptr && !url.tls;
  if (absolute) {
    bytes += "http://";
    bytes += url.authority;
  }
  const std::size_t target_at = bytes.size();
  if (url.target.empty() || url.target.front() != '/') bytes += '/';
  bytes += url.target;
  const std::size_t target_size = bytes.size() - target_at;
  bytes += " HTTP/1.1\r\n";
  if (!has_header(call, change, "host")) append_field(bytes, "Host", url.authority);
  if (absolute && !proxy->authorization.empty()) append_field(bytes, "Proxy-Authorization", proxy->authorization);
  if (!put_fields(change, context, text)) return false;
  if (!has_header(call, change, "user-agent")) append_field(bytes, "User-Agent", kUserAgent);
  if (call.compressed && !has_header(call, change, "accept-encoding")) {
    append_field(bytes, "Accept-Encoding", "gzip, br, zstd");
  }
  const bool usually_has_body = method == "POST" || method == "PUT" || method == "PATCH";
  if ((own_body || body != nullptr || usually_has_body) && !has_header(call, change, "content-length")) {
    char length[24];
    const auto end = std::to_chars(length, length + sizeof length, text.body.size()).ptr;
    append_field(bytes, "Content-Length", {length, static_cast<std::size_t>(end - length)});
  }
  if (!call.keep_alive && !has_header(call, change, "connection")) append_field(bytes, "Connection", "close");
  const std::size_t head_size = bytes.size();
  if (!put_credentials(context, text, out)) return false;
  bytes += "\r\n";
  bytes += text.body;

  const std::string_view whole = bytes;
  out.origin = *origin;
  out.method = whole.substr(0, method.size());
  out.target = whole.substr(target_at, target_size);
  out.head = whole.substr(0, head_size);
  out.body = whole.substr(head_size + 2);
  out.whole = whole;
  out.fresh = !call.keep_alive;
  out.limits = limits_.get();
  out.proxies = call_->proxies.get();
  out.tls = tls_settings_.get();
  out.heads = heads_.get();
  return true;
}

Status override_hosts(const plan::Plan& plan, http1::OriginTable& origins) {
  std::vector<http1::HostOverride> hosts;
  for (const plan::HostPlace& one : plan.hosts) {
    BW_TRY(const auto address, runtime::IpAddress::parse(one.address));
    hosts.push_back({one.host, {address, one.port}});
  }
  origins.override_hosts(std::move(hosts));
  return {};
}

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
    const HostPort place{target.origin->next_hop(), target.origin->next_hop_port()};
    co_return fail(reached.error().code, "{}{} cannot be reached: {}", target.url, through,
                   without_place(place, reached.error().message));
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

namespace {

bool call_is_constant(const plan::HttpCall& call) {
  if (!call.url.constant() || (call.body && !call.body->constant())) return false;
  if (call.token || call.files != nullptr) return false;
  for (const plan::Header& header : call.headers) {
    if (!header.value.constant()) return false;
  }
  if (call.digest && (!call.digest->user.constant() || !call.digest->password.constant())) return false;
  return true;
}

}  // namespace

PreparedStep::PreparedStep(const plan::Step& step, bool measured, BodyReaders& readers)
    : step_(&step),
      call_(std::get_if<plan::HttpCall>(&step.work)),
      measured_(measured),
      is_bare_(!step.think && !step.repeat && !step.group),
      evaluator_(step, readers),
      conditions_(step.conditions) {}

Result<PreparedStep> PreparedStep::prepare(const plan::Step& step, bool measured, http1::OriginTable& origins,
                                           BodyReaders& readers) {
  PreparedStep prepared(step, measured, readers);
  if (prepared.call_ == nullptr) return prepared;
  const plan::HttpCall& call = *prepared.call_;
  prepared.maker_.emplace(call);

  if (call.url.constant()) {
    BW_TRY(auto url, http1::parse_url(call.url.text()));
    BW_RETURN_IF_ERROR(origins.find(url.tls, url.host, url.port, prepared.maker_->tls(),
                                    prepared.maker_->proxy_to(url.tls, url.host)));
  }
  if (call_is_constant(call)) {
    const Values none(0);
    Prng unused(0);
    const RenderContext context{none, 1, 0, {}, unused};
    prepared.constant_text_ = std::make_unique<RequestText>();
    if (!prepared.build(context, origins, *prepared.constant_text_, prepared.request_)) {
      return fail(Errc::kInvalid, "step '{}': the URL or a header holds characters that cannot be sent", step.name);
    }
    prepared.constant_ = true;
  }
  return prepared;
}

Status try_to_prepare(const plan::Workflow& workflow) {
  http1::OriginTable origins;
  BodyReaders readers;
  for (const plan::Step& step : workflow.steps) {
    BW_TRY([[maybe_unused]] const auto prepared, PreparedStep::prepare(step, true, origins, readers));
  }
  return {};
}

bool PreparedStep::build(const RenderContext& context, http1::OriginTable& origins, RequestText& text,
                         http1::Request& out) const {
  out.want_body = evaluator_.wants_body();
  return maker_->make(context, origins, text, out);
}

}  // namespace bellwether::vuser
