#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "scenario/names.h"
#include "scenario/parse.h"

namespace bellwether::scenario {
namespace {

constexpr std::array<std::string_view, 8> kMethods{"get", "post", "put", "patch", "delete", "head", "options", "trace"};
constexpr std::array<std::string_view, 23> kHttpKeys{"get",
                                                     "post",
                                                     "put",
                                                     "patch",
                                                     "delete",
                                                     "head",
                                                     "options",
                                                     "trace",
                                                     "method",
                                                     "url",
                                                     "query",
                                                     "headers",
                                                     "json",
                                                     "body",
                                                     "form",
                                                     "timeout",
                                                     "connect_timeout",
                                                     "tls_timeout",
                                                     "first_byte_timeout",
                                                     "redirects",
                                                     "compressed",
                                                     "tls",
                                                     "body_max"};
constexpr std::array<std::string_view, 4> kHttpLater{"cookies", "auth", "proxy", "retries"};
constexpr std::array<std::string_view, 10> kDefaultKeys{
    "base",      "headers",    "timeout", "connect_timeout", "tls_timeout", "first_byte_timeout",
    "redirects", "compressed", "tls",     "body_max"};

HttpOptions parse_options(const Section& http) {
  HttpOptions out;
  out.timeout = http.duration("timeout");
  out.connect_timeout = http.duration("connect_timeout");
  out.tls_timeout = http.duration("tls_timeout");
  out.first_byte_timeout = http.duration("first_byte_timeout");
  out.redirects = http.whole("redirects", {.low = 0, .high = 100});
  out.compressed = http.boolean("compressed");
  out.body_max = http.size("body_max");
  if (const Node* tls = http.find("tls")) {
    static constexpr std::array<std::string_view, 2> kKeys{"verify", "ca"};
    static constexpr std::array<std::string_view, 3> kLater{"cert", "key", "sni"};
    const Section section(*tls, "'tls' of " + http.where(), http.reading(), {kKeys, kLater});
    out.tls_verify = section.boolean("verify");
    out.tls_ca = section.constant("ca");
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
  std::vector<const Node*> given;
  for (const std::string_view method : kMethods) {
    if (const Node* node = section.find(method)) given.push_back(node);
  }
  if (const Node* node = section.find("method")) given.push_back(node);
  const Node* url = section.find("url");
  if (given.empty() || (given.front()->key == "method" && url == nullptr)) {
    section.report_missing(section.where() + " does not say what to request",
                           "a method with a URL such as 'get: /items', or 'method' and 'url'");
    return;
  }
  const bool is_short = given.front()->key != "method";
  const Node* second = given.size() > 1 ? given[1] : is_short ? url : nullptr;
  if (second != nullptr) {
    reading.diagnostics.add(second->place(),
                            {.message = section.what(*second) + " contradicts " + in_quotes(given.front()->key),
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

Body parse_body(const Section& section) {
  Reading& reading = section.reading();
  const Node* json = section.find("json");
  const Node* text = section.find("body");
  const Node* form = section.find("form");
  const int given = (json != nullptr) + (text != nullptr) + (form != nullptr);
  if (given > 1) {
    const Node* last = form != nullptr ? form : text;
    reading.diagnostics.add(
        last->place(), {.message = section.where() + " has more than one body", .expected = "one of json, body, form"});
    return {};
  }
  if (json != nullptr) return JsonBody{*json};
  if (form != nullptr) return FormBody{parse_pairs(*form, section.what(*form), reading)};
  if (text == nullptr) return {};
  if (!text->is_map()) {
    auto written = read_text(*text, section.what(*text), reading);
    return written ? Body(TextBody{std::move(*written)}) : Body();
  }
  static constexpr std::array<std::string_view, 2> kKeys{"file", "template"};
  const Section file(*text, "'body' of " + section.where(), reading, {kKeys});
  const bool is_template = file.boolean("template").value_or(false);
  auto path = file.constant("file");
  if (path) return FileBody{std::move(*path), is_template};
  if (file.find("file") == nullptr) file.report_missing(file.where() + " names no file", "a text, or {file: PATH}");
  return {};
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
    const std::string name = in_quotes(item.key) + " in " + what;
    for (Text& text : read_texts(item, name, reading)) out.push_back({{item.key, item.key_mark}, std::move(text)});
  }
  return out;
}

Http parse_http(const Node& node, const std::string& where, Reading& reading) {
  Http http;
  http.mark = node.place();
  const Section section(node, where, reading, {kHttpKeys, kHttpLater});
  if (!node.is_map()) return http;
  parse_method_and_url(section, http);
  if (const Node* query = section.find("query")) http.query = parse_pairs(*query, section.what(*query), reading);
  if (const Node* headers = section.find("headers")) {
    http.headers = parse_headers(*headers, section.what(*headers), reading);
  }
  http.body = parse_body(section);
  http.options = parse_options(section);
  return http;
}

HttpDefaults parse_http_defaults(const Node& node, Reading& reading) {
  HttpDefaults out;
  const Section section(node, "'http' of 'defaults'", reading, {kDefaultKeys, kHttpLater});
  if (!node.is_map()) return out;
  out.base = section.constant("base");
  if (const Node* headers = section.find("headers")) {
    out.headers = parse_headers(*headers, section.what(*headers), reading);
  }
  out.options = parse_options(section);
  return out;
}

}  // namespace bellwether::scenario
