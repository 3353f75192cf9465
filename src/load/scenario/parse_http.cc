// The credentials of requests.

#include "core/base/bytes.h"
#include "load/scenario/parse.h"
#include "load/scenario/section.h"

namespace bellwether::scenario {

namespace {

std::vector<StatusRange> parse_expected(const Section& http) {
  const Node* node = http.find("expected_statuses");
  if (node == nullptr) return {};
  Reading& reading = http.reading();
  std::vector<StatusRange> out;
  const std::span<const Node> items = node->is_list() ? std::span(node->items) : std::span(node, 1);
  if (items.empty() || items.size() > kMaxStatusRanges) {
    report_wrong(*node, http.what(*node), fmt::format("1 to {} statuses and ranges", kMaxStatusRanges), reading);
    return out;
  }
  for (const Node& item : items) {
    const auto text = read_constant(item, http.what(*node), reading);
    if (!text) continue;
    if (const auto range = parse_statuses(text->text)) {
      out.push_back(*range);
    } else {
      reading.diagnostics.add(text->mark, {.message = "wrong value in " + http.what(*node),
                                           .found = in_quotes(text->text),
                                           .expected = std::string(kStatusForms)});
    }
  }
  return out;
}

TlsOptions parse_tls(const Section& tls) {
  TlsOptions out;
  out.mark = tls.node().place();
  out.verify = tls.boolean("verify");
  out.ca = tls.constant("ca");
  out.certificate = tls.constant("certificate");
  out.key = tls.constant("key");
  if (tls.find("certificate") != nullptr || tls.find("key") != nullptr) {
    for (const auto* key : {"certificate", "key"}) tls.need(key, "{certificate: FILE, key: FILE}, both in PEM");
  }
  out.server_name = tls.constant("server_name");
  out.min_version = tls.choice("min_version");
  out.max_version = tls.choice("max_version");
  out.resume = tls.boolean("resume");
  return out;
}

HttpOptions parse_options(const Section& http) {
  HttpOptions out;
  out.timeout = http.duration("timeout");
  out.connect_timeout = http.duration("connect_timeout");
  out.tls_timeout = http.duration("tls_timeout");
  out.first_byte_timeout = http.duration("first_byte_timeout");
  out.redirects = http.whole("redirects");
  out.compressed = http.boolean("compressed");
  out.keep_alive = http.boolean("keep_alive");
  out.body_max = http.size("body_max");
  out.proxy = http.constant("proxy");
  out.expected = parse_expected(http);
  if (const Node* tls = http.find("tls")) {
    out.tls = parse_tls(Section(*tls, "'tls' of " + http.where(), http.reading(), maps::kTls));
  }
  return out;
}

std::vector<Pair> parse_headers(const Node& node, const std::string& what, Reading& reading) {
  std::vector<Pair> headers = parse_pairs(node, what, reading);
  for (const Pair& header : headers) {
    if (is_http_token(header.name.text)) continue;
    reading.diagnostics.add(header.name.mark,
                            {.message = in_quotes(header.name.text) + " cannot be the name of a header",
                             .expected = "letters, digits and any of !#$%&'*+-.^_`|~"});
  }
  return headers;
}

void read_retry_reasons(const Node& node, const std::string& what, Retry& retry, Reading& reading) {
  retry.on_error = false;
  for (const Text& reason : read_texts(node, what, reading)) {
    const auto status = parse_u64(reason.text);
    if (reason.text == "error") {
      retry.on_error = true;
    } else if (status && *status >= 100 && *status <= 999) {
      retry.statuses.push_back(static_cast<uint16_t>(*status));
    } else {
      reading.diagnostics.add(reason.mark, {.message = "wrong value in " + what,
                                            .found = in_quotes(reason.text),
                                            .expected = "statuses, and 'error' for no response: [error, 502, 503]"});
    }
  }
}

// A number, or {times: 2, wait: 100ms, on: [error, 503]}.
std::optional<Retry> parse_retries(const Section& http) {
  const Node* node = http.find("retries");
  if (node == nullptr) return std::nullopt;
  Retry retry;
  if (!node->is_map()) {
    const auto times = http.whole("retries");
    retry.times = times.value_or(0);
    return retry;
  }
  const Section section(*node, "'retries' of " + http.where(), http.reading(), maps::kRetries);
  section.need("times", "how often, such as 2");
  retry.times = section.whole("times").value_or(0);
  retry.wait = section.duration("wait").value_or(Duration::zero());
  if (const Node* on = section.find("on")) read_retry_reasons(*on, section.what(*on), retry, http.reading());
  return retry;
}

std::string read_method(const Section& section) {
  const auto method = section.constant("method");
  if (!method) return {};
  if (!is_http_token(method->text) || iequals(method->text, "connect")) {
    section.reading().diagnostics.add(method->mark,
                                      {.message = in_quotes(method->text) + " is no method that a request can have",
                                       .expected = "letters and digits, and not CONNECT"});
  }
  return method->text;
}

// A method is a key that holds the URL (`get: /items`), or `method` beside `url`.
void parse_method_and_url(const Section& section, Http& http) {
  Reading& reading = section.reading();
  const std::vector<const Node*> given = section.given(maps::kHttp.exactly_one);
  const Node* url = section.find("url");
  if (given.empty() || (given.front()->key == "method" && url == nullptr)) {
    section.report_missing(section.where() + " does not say what to request",
                           "a method with a URL such as 'get: /items', or 'method' and 'url'");
    return;
  }
  const bool is_short = given.front()->key != "method";
  const Node* second = given.size() > 1 ? given[1] : is_short ? url : nullptr;
  if (second != nullptr) {
    reading.diagnostics.add(second->place(), {.message = fmt::format("{} contradicts {}", section.what(*second),
                                                                     in_quotes(given.front()->key)),
                                              .hint = "a step makes one request: remove one of them"});
    return;
  }
  http.method = is_short ? given.front()->key : read_method(section);
  for (char& c : http.method) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  const Node& target = is_short ? *given.front() : *url;
  if (auto text = read_text(target, section.what(target), reading)) http.url = std::move(*text);
}

// {file: PATH}, or {directory: PATH} and {glob: PATTERN}; each request takes one of the files.
Body parse_files(const Section& section) {
  const bool is_template = section.boolean("template").value_or(false);
  auto file = section.constant("file");
  auto folder = section.constant("directory");
  auto glob = section.constant("glob");
  const Node* const pick = section.find("pick");
  const auto picked = section.choice("pick");
  const Names sources = maps::kFileBody.exactly_one;
  const std::vector<const Node*> given = section.given(sources);
  Reading& reading = section.reading();
  if (given.empty()) {
    section.report_missing(section.where() + " names no file", "a text, {file: PATH}, {directory: PATH} or {glob: …}");
    return {};
  }
  const Node& last = *given.back();
  if (given.size() > 1) {
    reading.diagnostics.add(
        last.place(), {.message = section.where() + " names files in more than one way", .expected = one_of(sources)});
    return {};
  }
  if (file && file->text.empty()) report_wrong(last, section.what(last), "the path of a file", reading);
  if (file) {
    if (pick != nullptr) section.report_useless(*pick, "it is one file", "'pick' is for 'directory' and 'glob'");
    return FileBody{std::move(*file), is_template};
  }
  if (!folder && !glob) return {};
  return FilesBody{.path = glob ? std::move(*glob) : std::move(*folder),
                   .is_glob = glob.has_value(),
                   .random = picked.value_or(0) == 1,
                   .is_template = is_template};
}

// One part of a form: a text, {text: …, …} or {file: PATH, …}.
std::optional<FormPart> parse_part(const Node& node, const Text& name, const std::string& what, Reading& reading) {
  FormPart out;
  out.name = name;
  if (!node.is_map()) {
    auto text = read_text(node, what, reading);
    if (!text) return std::nullopt;
    out.content = std::move(*text);
    return out;
  }
  const Section section(node, what, reading, maps::kFormPart);
  const Node* const text = section.find("text");
  const Node* const is_template = section.find("template");
  out.is_file = section.find("file") != nullptr;
  if (out.is_file == (text != nullptr)) {
    section.report_missing(what + (out.is_file ? " has two contents" : " has no content"), "one of text, file");
    return std::nullopt;
  }
  if (!out.is_file && is_template != nullptr) {
    reading.diagnostics.add(is_template->place(), {.message = section.what(*is_template) + " has no effect on a text",
                                                   .hint = "a text is always a template"});
  }
  if (out.is_file) out.is_template = section.boolean("template").value_or(false);
  out.filename = section.text("filename");
  out.type = section.text("type");
  auto content = out.is_file ? section.constant("file") : section.text("text");
  if (!content) return std::nullopt;
  if (out.is_file && content->text.empty()) {
    report_wrong(*section.find("file"), section.what(*section.find("file")), "the path of a file", reading);
  }
  out.content = std::move(*content);
  return out;
}

MultipartBody parse_multipart(const Node& node, const Section& http) {
  MultipartBody out;
  Reading& reading = http.reading();
  if (!node.is_map() || node.items.empty()) {
    report_wrong(node, http.what(node), "a map of names, texts and files: {title: TEXT, photo: {file: PATH}}", reading);
    return out;
  }
  for (const Node& item : node.items) {
    const std::string what = fmt::format("{} in {}", in_quotes(item.key), http.what(node));
    const std::span<const Node> parts = item.is_list() ? std::span(item.items) : std::span(&item, 1);
    for (const Node& part : parts) {
      if (auto made = parse_part(part, {item.key, item.key_mark}, what, reading)) out.parts.push_back(std::move(*made));
    }
  }
  return out;
}

Body parse_body(const Section& section) {
  Reading& reading = section.reading();
  static constexpr std::string_view kBodies[] = {"json", "body", "form", "multipart"};
  const std::vector<const Node*> given = section.given(kBodies);
  if (given.empty()) return {};
  const Node& body = *given.back();
  if (given.size() > 1) {
    reading.diagnostics.add(body.place(),
                            {.message = section.where() + " has more than one body", .expected = one_of(kBodies)});
    return {};
  }
  if (body.key == "multipart") {
    const Node* headers = section.find("headers");
    for (const Node& header : headers != nullptr ? headers->items : std::vector<Node>()) {
      if (!iequals(header.key, "content-type")) continue;
      reading.diagnostics.add(header.place(), {.message = section.what(body) + " has its own Content-Type",
                                               .hint = "take this header away"});
    }
    return parse_multipart(body, section);
  }
  if (body.key == "json") return JsonBody{body};
  if (body.key == "form") return FormBody{parse_pairs(body, section.what(body), reading)};
  if (body.is_map()) return parse_files(Section(body, "'body' of " + section.where(), reading, maps::kFileBody));
  auto text = read_text(body, section.what(body), reading);
  return text ? Body(TextBody{std::move(*text)}) : Body();
}

// {token_url: …, client_id: …, client_secret: …}, all constants: the token is requested before any iteration begins.
std::optional<OAuth2> parse_oauth2(const Node& node, const Section& auth) {
  const Section section(node, "'oauth2' of " + auth.where(), auth.reading(), maps::kOAuth2);
  if (!node.is_map()) return std::nullopt;
  OAuth2 out;
  bool whole = true;
  const auto take = [&](std::string_view key, Text& into) {
    section.need(key, "{token_url: URL, client_id: NAME, client_secret: SECRET}");
    auto text = section.constant(key);
    whole = whole && text.has_value();
    if (text) into = std::move(*text);
  };
  take("token_url", out.token_url);
  take("client_id", out.client_id);
  take("client_secret", out.client_secret);
  out.scope = section.constant("scope");
  out.audience = section.constant("audience");
  out.in_body = section.choice("auth_style").value_or(0) == 1;
  return whole ? std::optional(out) : std::nullopt;
}

}  // namespace

// A list as value gives the name several times.
std::vector<Pair> parse_pairs(const Node& node, const std::string& what, Reading& reading) {
  std::vector<Pair> out;
  if (!node.is_map()) {
    report_wrong(node, what, "a map of names and texts", reading);
    return out;
  }
  for (const Node& item : node.items) {
    const std::string name = fmt::format("{} in {}", in_quotes(item.key), what);
    for (Text& text : read_texts(item, name, reading)) out.push_back({{item.key, item.key_mark}, std::move(text)});
  }
  return out;
}

Http parse_http(const Node& node, const std::string& where, Reading& reading) {
  Http http;
  http.mark = node.place();
  const Section section(node, where, reading, maps::kHttp);
  if (!node.is_map()) return http;
  parse_method_and_url(section, http);
  if (const Node* query = section.find("query")) http.query = parse_pairs(*query, section.what(*query), reading);
  if (const Node* headers = section.find("headers")) {
    http.headers = parse_headers(*headers, section.what(*headers), reading);
  }
  http.body = parse_body(section);
  http.options = parse_options(section);
  http.auth = parse_auth(section);
  http.retry = parse_retries(section);
  return http;
}

namespace {

std::optional<uint64_t> parse_connections(const Node& node, const std::string& what, Reading& reading) {
  const auto text = read_constant(node, what, reading);
  if (!text || text->text == "per_user") return std::nullopt;
  if (text->text == "shared") return 0;
  const auto most = parse_u64(text->text);
  if (most && *most >= 1 && *most <= kMaxConnections) return most;
  report_wrong(node, what,
               fmt::format("per_user, shared, or the most to each server on each core: 1 to {}", kMaxConnections),
               reading);
  return std::nullopt;
}

}  // namespace

HttpDefaults parse_http_defaults(const Node& node, Reading& reading) {
  HttpDefaults out;
  const Section section(node, "'http' of 'defaults'", reading, maps::kHttpDefaults);
  if (!node.is_map()) return out;
  out.base = section.constant("base");
  if (const Node* hosts = section.find("hosts")) {
    for (const Node& item : hosts->items) {
      auto place = read_constant(item, fmt::format("{} in {}", in_quotes(item.key), section.what(*hosts)), reading);
      if (place) out.hosts.push_back({{item.key, item.key_mark}, std::move(*place)});
    }
    if (!hosts->is_map()) report_wrong(*hosts, section.what(*hosts), "a map such as {shop.example: 10.0.0.7}", reading);
    if (out.hosts.size() > kMaxHosts) {
      report_wrong(*hosts, section.what(*hosts), fmt::format("at most {} hosts", kMaxHosts), reading);
    }
  }
  if (const Node* from = section.find("local_ips")) {
    const std::string what = section.what(*from);
    const auto read = [&](const Node& node) {
      if (auto text = read_constant(node, what, reading)) out.local_ips.push_back(std::move(*text));
    };
    if (from->is_list()) {
      for (const Node& item : from->items) read(item);
      if (from->items.empty() || from->items.size() > kMaxLocalIps) {
        report_wrong(*from, what, fmt::format("1 to {} addresses or ranges", kMaxLocalIps), reading);
      }
    } else {
      read(*from);
    }
  }
  if (const Node* whose = section.find("connections")) {
    out.connections = parse_connections(*whose, section.what(*whose), reading);
  }
  if (const Node* headers = section.find("headers")) {
    out.headers = parse_headers(*headers, section.what(*headers), reading);
  }
  out.options = parse_options(section);
  out.auth = parse_auth(section);
  out.retry = parse_retries(section);
  return out;
}

// {basic: {user: …, password: …}}, the same with digest, {bearer: TOKEN}, or {oauth2: {…}}.
std::optional<Auth> parse_auth(const Section& http) {
  const Names schemes = maps::kAuth.exactly_one;
  const Node* node = http.find("auth");
  if (node == nullptr) return std::nullopt;
  Reading& reading = http.reading();
  const Section section(*node, "'auth' of " + http.where(), reading, maps::kAuth);
  if (!node->is_map()) return std::nullopt;
  Auth auth{.mark = node->place(), .is_digest = false, .bearer = {}, .user = {}, .password = {}, .oauth2 = {}};
  const std::vector<const Node*> given = section.given(schemes);
  if (given.empty()) {
    if (node->items.empty()) section.report_missing(section.where() + " names no scheme", one_of(schemes));
    return std::nullopt;
  }
  const Node& scheme = *given.back();
  if (given.size() > 1) {
    reading.diagnostics.add(scheme.place(),
                            {.message = section.where() + " has more than one scheme", .expected = one_of(schemes)});
    return std::nullopt;
  }
  if (scheme.key == "bearer") {
    auth.bearer = section.text("bearer");
    return auth.bearer ? std::optional(auth) : std::nullopt;
  }
  if (scheme.key == "oauth2") {
    auth.oauth2 = parse_oauth2(scheme, section);
    return auth.oauth2 ? std::optional(auth) : std::nullopt;
  }
  auth.is_digest = scheme.key == "digest";
  const Section credentials(scheme, fmt::format("{} of {}", in_quotes(scheme.key), section.where()), reading,
                            auth.is_digest ? maps::kDigest : maps::kBasic);
  if (!scheme.is_map()) return std::nullopt;
  bool whole = true;
  for (const std::string_view key : {"user", "password"}) {
    credentials.need(key, "{user: NAME, password: SECRET}");
    auto text = credentials.text(key);
    whole = whole && text.has_value();
    if (text) (key == "user" ? auth.user : auth.password) = std::move(*text);
  }
  return whole ? std::optional(auth) : std::nullopt;
}

}  // namespace bellwether::scenario
