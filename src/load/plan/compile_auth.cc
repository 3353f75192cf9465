// The credentials of requests.
#include <algorithm>

#include "load/plan/compile_step.h"
#include "load/plan/url.h"

namespace bellwether::plan {

using scenario::in_quotes;

namespace {

// What a server of tokens may answer with.
constexpr uint64_t kTokenBytesMax = 1u << 20;

Template literal(std::string_view text) {
  Template out;
  append_literal(out, text);
  return out;
}

bool is_same(const HttpCall& a, const HttpCall& b) {
  const auto text = [](const HttpCall& call) {
    std::string out = std::string(call.url.text()) + '\n' + std::string(call.body->text());
    for (const Header& header : call.headers) out += '\n' + header.name + ":" + std::string(header.value.text());
    return out;
  };
  return a.proxies == b.proxies && a.tls_ca == b.tls_ca && a.tls_verify == b.tls_verify && a.timeout == b.timeout &&
         a.connect_timeout == b.connect_timeout && a.tls_timeout == b.tls_timeout &&
         a.first_byte_timeout == b.first_byte_timeout && text(a) == text(b);
}

// The request for a token (RFC 6749, sections 4.4.2 and 2.3.1); the limits and the way there are those of `call`.
// Requests that are the same are one, and so is their token.
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
  if (from.in_body) body += "&client_id=" + id + "&client_secret=" + secret;
  token.headers.push_back({"Content-Type", literal("application/x-www-form-urlencoded")});
  token.headers.push_back({"Accept", literal("application/json")});
  if (!from.in_body) token.headers.push_back({"Authorization", literal(id + ":" + secret), true});
  token.body = literal(body);
  token.timeout = call.timeout;
  token.connect_timeout = call.connect_timeout;
  token.tls_timeout = call.tls_timeout;
  token.first_byte_timeout = call.first_byte_timeout;
  token.tls_verify = call.tls_verify;
  token.tls_ca = call.tls_ca;
  token.tls_ca_name = call.tls_ca_name;
  token.proxies = call.proxies;
  token.redirects_max = 0;
  token.body_bytes_max = kTokenBytesMax;
  std::vector<HttpCall>& known = compiling.tokens;
  const auto at = std::find_if(known.begin(), known.end(), [&](const HttpCall& one) { return is_same(one, token); });
  const auto index = static_cast<uint16_t>(at - known.begin());
  if (at == known.end()) known.push_back(std::move(token));
  return index;
}

}  // namespace

void add_credentials(const scenario::Http& http, TemplateMaker& templates, Compiling& compiling, HttpCall& call) {
  const std::optional<scenario::Auth>& auth = http.auth ? http.auth : compiling.source.http.auth;
  if (!auth) return;
  if (has_header(call, "Authorization")) {
    // A step that says its own header means that, whatever the defaults are.
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

}  // namespace bellwether::plan
