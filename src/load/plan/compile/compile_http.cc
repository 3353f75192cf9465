// The requests of steps: URLs, headers, credentials and their tokens, TLS, proxies, retries.
#include <algorithm>
#include <array>
#include <memory>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/freed.h"
#include "core/base/host_port.h"
#include "load/plan/compile/compile.h"

namespace bellwether::plan {

namespace {

constexpr std::size_t kMaxExcept = 1'000;
constexpr std::string_view kHostMarks = ".-_:";  // in names of hosts, beside letters and digits
constexpr std::string_view kExpected = "http://HOST:PORT, http://USER:PASSWORD@HOST:PORT, none, or environment";

// An error names the problem and quotes nothing, because the text may contain a password.
Result<Proxy> parse_proxy(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    if (!iequals(text.substr(0, scheme), "http")) {
      return fail(Errc::kInvalid, "a proxy is spoken to by http");
    }
    text.remove_prefix(scheme + 3);
  }
  if (text.ends_with('/')) text.remove_suffix(1);
  Proxy out;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    std::string_view user = text.substr(0, at);
    const auto name = percent_decoded(take_until(user, ':'));
    const auto password = percent_decoded(user);
    if (!name || !password) return fail(Errc::kInvalid, "name or password are not percent-encoded as they should be");
    if (name->find(':') != std::string::npos) return fail(Errc::kInvalid, "the name has a colon, which ends it");
    out.authorization = "Basic ";
    append_base64(fmt::format("{}:{}", *name, *password), out.authorization);
    text.remove_prefix(at + 1);
  }
  const auto place = parse_host_port(text, 0);
  if (!place || place->port == 0 || !is_word_of(place->host, kHostMarks)) {
    return fail(Errc::kInvalid, "it has no host and port");
  }
  out.host = place->host;
  out.port = place->port;
  return out;
}

std::optional<std::string> variable(const std::string& name, Compiling& compiling) {
  for (const std::string& one : {name, lower_case(name)}) {
    auto value = compiling.sources.outside->env(one);
    if (value && !value->empty()) return value;
  }
  return std::nullopt;
}

std::vector<std::string> entries_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty() && out.size() < kMaxExcept) {
    std::string_view one = trim(take_until(text, ','));
    if (one.starts_with("*.")) one.remove_prefix(1);
    if (!one.empty()) out.push_back(lower_case(one));
  }
  return out;
}

std::shared_ptr<const Proxies> from_environment(const scenario::Text& proxy, Compiling& compiling) {
  Proxies out;
  const auto take = [&](const std::string& name, std::optional<Proxy>& into) {
    const auto value = variable(name, compiling);
    if (!value) return;
    auto parsed = parse_proxy(*value);
    if (parsed) {
      into = std::move(*parsed);
      return;
    }
    compiling.reading.diagnostics.add(
        proxy.mark,
        {.message = fmt::format("wrong value of the environment variable {}: {}", name, parsed.error().message),
         .expected = "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT"});
  };
  take("HTTP_PROXY", out.http);
  take("HTTPS_PROXY", out.https);
  if (const auto except = variable("NO_PROXY", compiling)) out.except = entries_of(*except);
  if (!out.http && !out.https) return nullptr;
  return std::make_shared<const Proxies>(std::move(out));
}

}  // namespace

using scenario::in_quotes;

std::optional<std::string> read_file(const scenario::Text& path, uint64_t bytes_max, Compiling& compiling) {
  auto content = compiling.sources.outside->read_file(path_of(path, compiling.reading), bytes_max);
  if (content) return std::move(*content);
  compiling.reading.diagnostics.add(
      path.mark,
      {.message = fmt::format("the file {} cannot be read: {}", in_quotes(path.text), content.error().message),
       .hint = "a relative path is relative to the folder of the scenario file"});
  return std::nullopt;
}

bool has_header(const HttpCall& call, std::string_view name) {
  return std::ranges::any_of(call.headers, [name](const Header& header) { return iequals(header.name, name); });
}

namespace {

constexpr uint64_t kMaxPemFileBytes = 4u << 20;
constexpr std::size_t kMaxServerName = 253;

template <class T>
void apply(T& out, const std::optional<T>& of_step, const std::optional<T>& of_defaults) {
  if (of_step || of_defaults) out = of_step ? *of_step : *of_defaults;
}

// Each file once: steps that name the same one share it.
std::shared_ptr<const std::string> pem_of(const scenario::Text& path, bool is_key, Compiling& compiling) {
  const std::string place = path_of(path, compiling.reading);
  const auto [known, is_new] = (is_key ? compiling.keys : compiling.certificates).try_emplace(place);
  if (!is_new) return known->second;
  auto pem = read_file(path, kMaxPemFileBytes, compiling);
  if (!pem) return nullptr;
  if (!(is_key ? holds_plain_key(*pem) : holds_certificate(*pem))) {
    scenario::Diagnostics::Problem problem{fmt::format("the file {} holds no certificate", in_quotes(path.text)),
                                           {},
                                           "PEM, from -----BEGIN CERTIFICATE----- on"};
    if (is_key) {
      problem = {.message = fmt::format("the file {} holds no private key that can be used", in_quotes(path.text)),
                 .expected = "PEM, from -----BEGIN PRIVATE KEY----- on, without a passphrase",
                 .hint = "`openssl pkey -in FILE -out PLAIN_FILE` removes a passphrase"};
    }
    compiling.reading.diagnostics.add(path.mark, std::move(problem));
    return nullptr;
  }
  return known->second = std::make_shared<const std::string>(std::move(*pem));
}

void apply_tls(const scenario::TlsOptions& step, const scenario::TlsOptions& defaults, Compiling& compiling, Tls& out) {
  apply(out.verify, step.verify, defaults.verify);
  apply(out.resume, step.resume, defaults.resume);
  const auto apply_pem = [&](PemFile& file, const std::optional<scenario::Text>& own,
                             const std::optional<scenario::Text>& common, bool is_key) {
    const std::optional<scenario::Text>& path = own ? own : common;
    if (!path) return;
    file = {pem_of(*path, is_key, compiling),
            scenario::beside(compiling.sources.file_name, path_of(*path, compiling.reading))};
  };
  apply_pem(out.ca, step.ca, defaults.ca, false);
  apply_pem(out.certificate, step.certificate, defaults.certificate, false);
  apply_pem(out.key, step.key, defaults.key, true);
  const auto& key = step.key ? step.key : defaults.key;
  if (out.certificate.text && out.key.text && compiling.pairs.emplace(out.certificate.text, out.key.text).second) {
    const Status good = check_pair(*out.certificate.text, *out.key.text);
    if (!good) {
      compiling.reading.diagnostics.add(
          key->mark,
          {.message = fmt::format("the certificate {} and the key {} cannot be used: {}",
                                  in_quotes(out.certificate.name), in_quotes(key->text), good.error().message),
           .expected = "a certificate and its own private key, both in PEM"});
    }
  }
  const std::optional<scenario::Text>& name = step.server_name ? step.server_name : defaults.server_name;
  if (name) {
    out.server_name = name->text;
    if (!is_word_of(name->text, kHostMarks, kMaxServerName)) {
      compiling.reading.diagnostics.add(name->mark, {.message = "wrong value of 'server_name'",
                                                     .found = in_quotes(name->text),
                                                     .expected = "the name of a host, such as shop.example"});
    }
  }
  const auto apply_version = [](TlsVersion& version, const std::optional<std::size_t>& own,
                                const std::optional<std::size_t>& common) {
    if (own || common) version = static_cast<TlsVersion>(own ? *own : *common);
  };
  apply_version(out.min_version, step.min_version, defaults.min_version);
  apply_version(out.max_version, step.max_version, defaults.max_version);
  if (out.min_version > out.max_version) {
    const bool is_of_step = step.min_version || step.max_version;
    compiling.reading.diagnostics.add(
        is_of_step ? step.mark : defaults.mark,
        {.message = "'min_version' of 'tls' is higher than 'max_version'", .hint = "allow one version at least"});
  }
}

void apply_options(const scenario::HttpOptions& step, Compiling& compiling, HttpCall& call) {
  const scenario::HttpOptions& defaults = compiling.source.http.options;
  apply(call.timeout, step.timeout, defaults.timeout);
  apply(call.connect_timeout, step.connect_timeout, defaults.connect_timeout);
  apply(call.tls_timeout, step.tls_timeout, defaults.tls_timeout);
  apply(call.first_byte_timeout, step.first_byte_timeout, defaults.first_byte_timeout);
  apply(call.compressed, step.compressed, defaults.compressed);
  apply(call.keep_alive, step.keep_alive, defaults.keep_alive);
  apply(call.body_bytes_max, step.body_max, defaults.body_max);
  call.expected = step.expected.empty() ? defaults.expected : step.expected;
  uint64_t redirects = call.redirects_max;
  apply(redirects, step.redirects, defaults.redirects);
  call.redirects_max = static_cast<uint16_t>(redirects);
  apply_tls(step.tls, defaults.tls, compiling, call.tls);
  const std::optional<scenario::Text>& proxy = step.proxy ? step.proxy : defaults.proxy;
  if (proxy) call.proxies = proxies_of(*proxy, compiling);
}

void add_headers(const scenario::Http& http, TemplateMaker& templates, Compiling& compiling, HttpCall& call) {
  const auto add = [&](const scenario::Pair& pair) {
    if (iequals(pair.name.text, "transfer-encoding")) {
      compiling.reading.diagnostics.add(
          pair.name.mark, {.message = fmt::format("the header {} cannot be set", in_quotes(pair.name.text)),
                           .hint = "a body is always sent in one piece, with its Content-Length"});
    }
    Template value = templates.make(pair.value, Place::kHeader);
    for (const Piece& piece : value.pieces) {
      if (piece.literal.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos) continue;
      compiling.reading.diagnostics.add(
          pair.value.mark,
          {.message = fmt::format("the value of header {} contains a line break or a NUL", in_quotes(pair.name.text))});
    }
    call.headers.push_back({pair.name.text, std::move(value)});
  };
  for (const scenario::Pair& pair : compiling.source.http.headers) {
    const auto is_same = [&](const scenario::Pair& own) { return iequals(own.name.text, pair.name.text); };
    if (std::ranges::none_of(http.headers, is_same)) add(pair);
  }
  for (auto pair = http.headers.begin(); pair != http.headers.end(); ++pair) {
    const bool again = std::any_of(http.headers.begin(), pair, [&](const scenario::Pair& before) {
      return iequals(before.name.text, pair->name.text);
    });
    if (again) {
      compiling.reading.diagnostics.add(
          pair->name.mark, {.message = fmt::format("the header {} is given twice", in_quotes(pair->name.text)),
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

// The URL with its constants put in, to show the effect of a wrong value of --set or of the environment. Values that
// only a run knows are shown as ${…}.
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
  const std::size_t problems = compiling.reading.diagnostics.reported();
  call.url = templates.make(http.url, Place::kUrl);
  const std::string meant = with_constants(call.url);
  const bool is_whole = compiling.reading.diagnostics.reported() == problems;
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

namespace {

// The most bytes of a token server's answer.
constexpr uint64_t kMaxTokenBytes = 1u << 20;

Template literal(std::string_view text) {
  Template out;
  append_literal(out, text);
  return out;
}

bool is_same(const HttpCall& a, const HttpCall& b) {
  const auto text = [](const HttpCall& call) {
    std::string out = fmt::format("{}\n{}", call.url.text(), call.body->text());
    for (const Header& header : call.headers) out += fmt::format("\n{}:{}", header.name, header.value.text());
    return out;
  };
  return a.proxies == b.proxies && a.tls == b.tls && a.timeout == b.timeout && a.connect_timeout == b.connect_timeout &&
         a.tls_timeout == b.tls_timeout && a.first_byte_timeout == b.first_byte_timeout && text(a) == text(b);
}

// The request for a token (RFC 6749, sections 4.4.2 and 2.3.1), with the limits and the proxies of `call`. Equal
// requests are one, and so is their token.
std::optional<uint16_t> token_of(const scenario::OAuth2& from, const HttpCall& call, Compiling& compiling) {
  HttpCall token;
  token.method = "POST";
  append_literal(token.url, from.token_url.text);
  if (const Status completed = complete_url(token.url, {}); !completed) {
    compiling.reading.diagnostics.add(
        from.token_url.mark, {.message = "wrong URL: " + completed.error().message,
                              .found = in_quotes(from.token_url.text),
                              .expected = "https://HOST/PATH or http://HOST/PATH, where tokens are asked for"});
    return std::nullopt;
  }
  std::string body = "grant_type=client_credentials";
  if (from.scope) body += "&scope=" + escape_url(from.scope->text);
  if (from.audience) body += "&audience=" + escape_url(from.audience->text);
  const std::string id = escape_url(from.client_id.text);
  const std::string secret = escape_url(from.client_secret.text);
  if (from.in_body) body += fmt::format("&client_id={}&client_secret={}", id, secret);
  token.headers.push_back({"Content-Type", literal("application/x-www-form-urlencoded")});
  token.headers.push_back({"Accept", literal("application/json")});
  if (!from.in_body) token.headers.push_back({"Authorization", literal(fmt::format("{}:{}", id, secret)), true});
  token.body = literal(body);
  token.timeout = call.timeout;
  token.connect_timeout = call.connect_timeout;
  token.tls_timeout = call.tls_timeout;
  token.first_byte_timeout = call.first_byte_timeout;
  token.tls = call.tls;
  token.tls.server_name.clear();  // it is that of the step's server
  token.proxies = call.proxies;
  token.redirects_max = 0;
  token.body_bytes_max = kMaxTokenBytes;
  std::vector<HttpCall>& known = compiling.tokens;
  const auto at = std::ranges::find_if(known, [&](const HttpCall& one) { return is_same(one, token); });
  const auto index = static_cast<uint16_t>(at - known.begin());
  if (at == known.end()) known.push_back(std::move(token));
  return index;
}

}  // namespace

void add_credentials(const scenario::Http& http, TemplateMaker& templates, Compiling& compiling, HttpCall& call) {
  const std::optional<scenario::Auth>& auth = http.auth ? http.auth : compiling.source.http.auth;
  if (!auth) return;
  if (has_header(call, "Authorization")) {
    // A step's own header wins over any default.
    if (!http.auth) return;
    compiling.reading.diagnostics.add(
        auth->mark, {.message = "'auth' contradicts the header 'Authorization'", .hint = "remove one of them"});
    return;
  }
  if (auth->oauth2) {
    call.token = token_of(*auth->oauth2, call, compiling);
    return;
  }
  Header header{"Authorization", {}};
  if (auth->is_digest) {
    call.digest.emplace();
    templates.append(call.digest->user, auth->user, Place::kText);
    templates.append(call.digest->password, auth->password, Place::kText);
    return;
  }
  if (auth->bearer) {
    append_literal(header.value, "Bearer ");
    templates.append(header.value, *auth->bearer, Place::kHeader);
  } else {
    if (auth->user.text.find(':') != std::string::npos && auth->user.text.find('$') == std::string::npos) {
      compiling.reading.diagnostics.add(auth->user.mark,
                                        {.message = "the user's name in 'auth' has a colon, which ends it"});
    }
    header.is_basic = true;
    templates.append(header.value, auth->user, Place::kText);
    append_literal(header.value, ":");
    templates.append(header.value, auth->password, Place::kText);
  }
  call.headers.push_back(std::move(header));
}

std::shared_ptr<const Proxies> proxies_of(const scenario::Text& proxy, Compiling& compiling) {
  if (proxy.text == "none") return nullptr;
  const auto known = compiling.proxies.find(proxy.text);
  if (known != compiling.proxies.end()) return known->second;
  std::shared_ptr<const Proxies>& made = compiling.proxies[proxy.text];
  if (proxy.text == "environment") return made = from_environment(proxy, compiling);
  auto parsed = parse_proxy(proxy.text);
  if (parsed) return made = std::make_shared<const Proxies>(Proxies{*parsed, *parsed, {}});
  compiling.reading.diagnostics.add(
      proxy.mark, {.message = "wrong value of 'proxy': " + parsed.error().message, .expected = std::string(kExpected)});
  return nullptr;
}

bool holds_certificate(std::string_view pem) {
  static constexpr std::array<std::string_view, 3> kBeginnings{
      "-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----", "-----BEGIN X509 CERTIFICATE-----"};
  return std::ranges::any_of(kBeginnings,
                             [pem](std::string_view begin) { return pem.find(begin) != std::string_view::npos; });
}

bool holds_plain_key(std::string_view pem) {
  const std::size_t end = pem.find("PRIVATE KEY-----");
  return end != std::string_view::npos && !pem.substr(0, end).ends_with("ENCRYPTED ") &&
         pem.find("Proc-Type: 4,ENCRYPTED") == std::string_view::npos;
}

Status check_pair(std::string_view certificate_pem, std::string_view key_pem) {
  using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
  const auto memory = [](std::string_view pem) {
    return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  };
  // An encrypted key is an error. OpenSSL's own function would ask for the passphrase on the terminal.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  const Bio certificate_text = memory(certificate_pem);
  const std::unique_ptr<X509, Freed<X509_free>> certificate(
      PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const Bio key_text = memory(key_pem);
  const std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, no_passphrase, nullptr));
  const bool fits = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!certificate) return fail(Errc::kInvalid, "the certificate is damaged");
  if (!key) return fail(Errc::kInvalid, "the key is damaged");
  if (!fits) return fail(Errc::kInvalid, "the key belongs to another certificate");
  return {};
}

}  // namespace bellwether::plan
