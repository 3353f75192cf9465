#include <algorithm>

#include "core/base/bytes.h"
#include "load/plan/certificates.h"
#include "load/plan/compile_step.h"
#include "load/plan/url.h"

namespace bellwether::plan {

using scenario::in_quotes;

std::optional<std::string> read_file(const scenario::Text& path, uint64_t bytes_max, Compiling& compiling) {
  auto content = compiling.sources.outside->read_file(path_of(path, compiling.reading), bytes_max);
  if (content) return std::move(*content);
  compiling.reading.diagnostics.add(
      path.mark, {.message = "the file " + in_quotes(path.text) + " cannot be read: " + content.error().message,
                  .hint = "a relative path is relative to the folder of the scenario file"});
  return std::nullopt;
}

bool has_header(const HttpCall& call, std::string_view name) {
  return std::any_of(call.headers.begin(), call.headers.end(),
                     [name](const Header& header) { return iequals(header.name, name); });
}

namespace {

constexpr uint64_t kCaFileBytesMax = 4u << 20;

template <class T>
void apply(T& out, const std::optional<T>& of_step, const std::optional<T>& of_defaults) {
  if (of_step || of_defaults) out = of_step ? *of_step : *of_defaults;
}

// Each file once: steps that trust the same certificates share them.
std::shared_ptr<const std::string> certificates_of(const scenario::Text& path, Compiling& compiling) {
  const std::string place = path_of(path, compiling.reading);
  const auto known = compiling.certificates.find(place);
  if (known != compiling.certificates.end()) return known->second;
  std::shared_ptr<const std::string>& made = compiling.certificates[place];
  auto pem = read_file(path, kCaFileBytesMax, compiling);
  if (!pem) return nullptr;
  if (!holds_certificate(*pem)) {
    compiling.reading.diagnostics.add(path.mark,
                                      {.message = "the file " + in_quotes(path.text) + " holds no certificate",
                                       .expected = "PEM, from -----BEGIN CERTIFICATE----- on"});
    return nullptr;
  }
  made = std::make_shared<const std::string>(std::move(*pem));
  return made;
}

void apply_options(const scenario::HttpOptions& step, Compiling& compiling, HttpCall& call) {
  const scenario::HttpOptions& defaults = compiling.source.http.options;
  apply(call.timeout, step.timeout, defaults.timeout);
  apply(call.connect_timeout, step.connect_timeout, defaults.connect_timeout);
  apply(call.tls_timeout, step.tls_timeout, defaults.tls_timeout);
  apply(call.first_byte_timeout, step.first_byte_timeout, defaults.first_byte_timeout);
  apply(call.compressed, step.compressed, defaults.compressed);
  apply(call.tls_verify, step.tls_verify, defaults.tls_verify);
  apply(call.body_bytes_max, step.body_max, defaults.body_max);
  uint64_t redirects = call.redirects_max;
  apply(redirects, step.redirects, defaults.redirects);
  call.redirects_max = static_cast<uint16_t>(redirects);
  const std::optional<scenario::Text>& ca = step.tls_ca ? step.tls_ca : defaults.tls_ca;
  if (ca) {
    call.tls_ca = certificates_of(*ca, compiling);
    call.tls_ca_name = scenario::beside(compiling.sources.file_name, path_of(*ca, compiling.reading));
  }
  const std::optional<scenario::Text>& proxy = step.proxy ? step.proxy : defaults.proxy;
  if (proxy) call.proxies = proxies_of(*proxy, compiling);
}

void add_headers(const scenario::Http& http, TemplateMaker& templates, Compiling& compiling, HttpCall& call) {
  const auto add = [&](const scenario::Pair& pair) {
    if (iequals(pair.name.text, "transfer-encoding")) {
      compiling.reading.diagnostics.add(pair.name.mark,
                                        {.message = "the header " + in_quotes(pair.name.text) + " cannot be set",
                                         .hint = "a body is always sent in one piece, with its Content-Length"});
    }
    Template value = templates.make(pair.value, Place::kHeader);
    for (const Piece& piece : value.pieces) {
      if (piece.literal.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos) continue;
      compiling.reading.diagnostics.add(
          pair.value.mark,
          {.message = "the value of header " + in_quotes(pair.name.text) + " contains a line break or a NUL"});
    }
    call.headers.push_back({pair.name.text, std::move(value)});
  };
  for (const scenario::Pair& pair : compiling.source.http.headers) {
    const auto is_same = [&](const scenario::Pair& own) { return iequals(own.name.text, pair.name.text); };
    if (std::none_of(http.headers.begin(), http.headers.end(), is_same)) add(pair);
  }
  for (auto pair = http.headers.begin(); pair != http.headers.end(); ++pair) {
    const bool again = std::any_of(http.headers.begin(), pair, [&](const scenario::Pair& before) {
      return iequals(before.name.text, pair->name.text);
    });
    if (again) {
      compiling.reading.diagnostics.add(pair->name.mark,
                                        {.message = "the header " + in_quotes(pair->name.text) + " is given twice",
                                         .hint = "upper and lower case make no difference in the name of a header"});
    }
    add(*pair);
  }
}

void apply_retry(const scenario::Http& http, const Compiling& compiling, HttpCall& call) {
  const std::optional<scenario::Retry>& retry = http.retry ? http.retry : compiling.source.http.retry;
  if (!retry) return;
  call.retry.times = static_cast<uint16_t>(retry->times);
  call.retry.wait = retry->wait;
  call.retry.on_error = retry->on_error.value_or(true);
  call.retry.on_any_status = !retry->on_error;
  call.retry.statuses = retry->statuses;
}

// The URL with its constants put in: what a wrong value of --set or of the environment made of it. Values that only a
// run knows are shown as ${…}.
std::string with_constants(const Template& url) {
  std::string text;
  for (const Piece& piece : url.pieces) text += piece.kind == Piece::Kind::kLiteral ? piece.literal : "${…}";
  return text;
}

}  // namespace

HttpCall compile_base_call(TemplateMaker& templates, Compiling& compiling) {
  HttpCall call;
  call.method = "GET";
  if (compiling.source.http.base) {
    append_literal(call.url, compiling.source.http.base->text);
    // A wrong one was reported.
    if (!complete_url(call.url, {})) call.url = {};
  }
  const scenario::Http plain;
  apply_options(plain.options, compiling, call);
  add_headers(plain, templates, compiling, call);
  add_credentials(plain, templates, compiling, call);
  return call;
}

HttpCall compile_http(const scenario::Http& http, TemplateMaker& templates, Compiling& compiling) {
  HttpCall call;
  call.method = http.method;
  const std::size_t problems = compiling.reading.diagnostics.size();
  call.url = templates.make(http.url, Place::kUrl);
  const std::string meant = with_constants(call.url);
  const bool is_whole = compiling.reading.diagnostics.size() == problems;
  const std::optional<scenario::Text>& base = compiling.source.http.base;
  const Status completed = complete_url(call.url, base ? std::string_view(base->text) : std::string_view());
  if (!completed && is_whole) {
    std::string found = in_quotes(http.url.text);
    if (meant != http.url.text) found += ", which is " + in_quotes(meant);
    compiling.reading.diagnostics.add(
        http.url.mark, {.message = "wrong URL: " + completed.error().message,
                        .found = std::move(found),
                        .expected = base ? std::string() : "http://HOST/PATH, or a PATH with 'base' in defaults.http"});
  }
  for (const scenario::Pair& pair : http.query) {
    append_query(call.url, templates.make(pair.name, Place::kQuery), templates.make(pair.value, Place::kQuery));
  }
  apply_options(http.options, compiling, call);
  add_headers(http, templates, compiling, call);
  add_credentials(http, templates, compiling, call);
  apply_retry(http, compiling, call);
  add_body(http.body, templates, compiling, call);
  return call;
}

}  // namespace bellwether::plan
