#include "vuser/prepared_step.h"

#include <charconv>

#include "base/base64.h"
#include "base/bytes.h"
#include "protocol/http1/url.h"

namespace bellwether::vuser {
namespace {

constexpr std::string_view kUserAgent = "bellwether/0.1";

bool has_header(const plan::HttpCall& call, std::string_view name) {
  for (const plan::Header& header : call.headers) {
    if (iequals(header.name, name)) return true;
  }
  return false;
}

bool call_is_constant(const plan::HttpCall& call) {
  if (!call.url.constant() || (call.body && !call.body->constant())) return false;
  for (const plan::Header& header : call.headers) {
    if (!header.value.constant()) return false;
  }
  if (call.digest && (!call.digest->user.constant() || !call.digest->password.constant())) return false;
  return true;
}

bool call_mentions_time(const plan::HttpCall& call) {
  if (mentions_time(call.url) || (call.body && mentions_time(*call.body))) return true;
  for (const plan::Header& header : call.headers) {
    if (mentions_time(header.value)) return true;
  }
  return false;
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

}  // namespace

PreparedStep::PreparedStep(const plan::Step& step, bool open_model, BodyReaders& readers)
    : step_(&step),
      call_(std::get_if<plan::HttpCall>(&step.work)),
      open_model_(open_model),
      evaluator_(step, readers) {}

Result<PreparedStep> PreparedStep::prepare(const plan::Step& step, bool open_model, http1::OriginTable& origins,
                                           BodyReaders& readers) {
  PreparedStep prepared(step, open_model, readers);
  if (prepared.call_ == nullptr) return prepared;
  const plan::HttpCall& call = *prepared.call_;
  prepared.heads_ = std::make_unique<http1::HeadMemory>();
  prepared.limits_ = std::make_unique<http1::CallLimits>();
  *prepared.limits_ = {.timeout = call.timeout,
                       .connect_timeout = call.connect_timeout,
                       .tls_timeout = call.tls_timeout,
                       .first_byte_timeout = call.first_byte_timeout,
                       .body_bytes_max = call.body_bytes_max,
                       .redirects_max = call.redirects_max};
  prepared.tls_settings_ = {call.tls_verify, call.tls_ca, call.tls_ca_name};
  prepared.mentions_time_ = call_mentions_time(call);

  if (call.url.constant()) {
    auto url = http1::parse_url(call.url.text());
    if (!url) return tl::unexpected(url.error());
    auto origin = origins.find(url->tls, url->host, url->port, prepared.tls_settings_);
    if (!origin) return tl::unexpected(origin.error());
  }
  if (call_is_constant(call)) {
    const Values none(0);
    Prng unused(0);
    const RenderContext context{none, 1, 0, {}, unused};
    prepared.constant_text_ = std::make_unique<RequestText>();
    if (!prepared.build(context, origins, *prepared.constant_text_, prepared.request_)) {
      return fail(Errc::kInvalid, "step '" + step.name + "': the URL or a header holds characters that cannot be sent");
    }
    prepared.constant_ = true;
  }
  return prepared;
}

Status try_to_prepare(const plan::Workflow& workflow) {
  http1::OriginTable origins;
  BodyReaders readers;
  for (const plan::Step& step : workflow.steps) {
    const auto prepared = PreparedStep::prepare(step, false, origins, readers);
    if (!prepared) return tl::unexpected(prepared.error());
  }
  return {};
}

bool PreparedStep::build(const RenderContext& context, http1::OriginTable& origins, RequestText& text,
                         http1::Request& out) const {
  const plan::HttpCall& call = *call_;
  text.url.clear();
  if (!render(call.url, context, text.url)) return false;
  http1::UrlView url;
  if (http1::split_url(text.url, url) != Errc::kOk) return false;
  auto origin = origins.find(url.tls, url.host, url.port, tls_settings_);
  if (!origin) return false;
  text.body.clear();
  if (call.body && !render(*call.body, context, text.body)) return false;

  std::string& bytes = text.bytes;
  bytes.clear();
  bytes += call.method;
  bytes += ' ';
  const std::size_t target_at = bytes.size();
  if (url.target.empty() || url.target.front() != '/') bytes += '/';
  bytes += url.target;
  const std::size_t target_size = bytes.size() - target_at;
  bytes += " HTTP/1.1\r\n";
  if (!has_header(call, "host")) append_field(bytes, "Host", url.authority);
  for (const plan::Header& header : call.headers) {
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
  if (!has_header(call, "user-agent")) append_field(bytes, "User-Agent", kUserAgent);
  if (call.compressed && !has_header(call, "accept-encoding")) append_field(bytes, "Accept-Encoding", "gzip, br, zstd");
  const bool usually_has_body = call.method == "POST" || call.method == "PUT" || call.method == "PATCH";
  if ((call.body || usually_has_body) && !has_header(call, "content-length")) {
    char length[24];
    const auto end = std::to_chars(length, length + sizeof length, text.body.size()).ptr;
    append_field(bytes, "Content-Length", {length, static_cast<std::size_t>(end - length)});
  }
  out.digest = nullptr;
  if (call.digest) {
    text.credentials.clear();
    text.password.clear();
    if (!render(call.digest->user, context, text.credentials)) return false;
    if (!render(call.digest->password, context, text.password)) return false;
    text.digest = {text.credentials, text.password};
    out.digest = &text.digest;
  }
  const std::size_t head_size = bytes.size();
  bytes += "\r\n";
  bytes += text.body;

  const std::string_view whole = bytes;
  out.origin = *origin;
  out.method = call.method;
  out.target = whole.substr(target_at, target_size);
  out.head = whole.substr(0, head_size);
  out.body = whole.substr(head_size + 2);
  out.whole = whole;
  out.limits = limits_.get();
  out.heads = heads_.get();
  out.want_body = evaluator_.wants_body();
  return true;
}

}  // namespace bellwether::vuser
