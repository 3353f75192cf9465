// Recordings of browsers and proxies: HTTP Archive 1.2.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/http1/url.h"
#include "load/import/request.h"
#include "load/scenario/section.h"

namespace bellwether::imports {
namespace {

// Headers that belong to a connection, to a cache, or to the browser.
constexpr std::array<std::string_view, 19> kNoiseHeaders{"accept-encoding",
                                                         "cache-control",
                                                         "connection",
                                                         "content-length",
                                                         "cookie",
                                                         "dnt",
                                                         "host",
                                                         "keep-alive",
                                                         "pragma",
                                                         "priority",
                                                         "purpose",
                                                         "te",
                                                         "trailer",
                                                         "upgrade",
                                                         "x-client-data",
                                                         "upgrade-insecure-requests",
                                                         "transfer-encoding",
                                                         "proxy-authorization",
                                                         "proxy-connection"};
constexpr std::array<std::string_view, 2> kNoisePrefixes{"sec-", "if-"};

constexpr std::array<std::string_view, 5> kStaticTypes{"image/", "font/", "video/", "audio/", "text/css"};
constexpr std::array<std::string_view, 3> kStaticWords{"javascript", "font-", "wasm"};
constexpr std::array<std::string_view, 20> kStaticEndings{".js",  ".mjs", ".css",  ".map",  ".png",  ".jpg",  ".jpeg",
                                                          ".gif", ".svg", ".webp", ".ico",  ".avif", ".woff", ".woff2",
                                                          ".ttf", ".otf", ".mp4",  ".webm", ".mp3",  ".wasm"};

// Pauses that are shorter come from the browser, not from a person.
constexpr Duration kShortestPause = Duration::millis(500);
constexpr Duration kLongestPause = Duration::minutes(10);

bool skips_contents(std::string_view parent, std::string_view key) {
  return (parent == "content" && key == "text") || key == "_initiator" || key == "timings" || key == "cache";
}

std::string_view header_at(const Node* message, std::string_view name) {
  for (const Node& header : items_at(message, "headers")) {
    if (iequals(text_at(&header, "name"), name)) return text_at(&header, "value");
  }
  return {};
}

bool is_static(std::string_view url, const Node* response) {
  const std::string type = lower_case(text_at(find(response, "content"), "mimeType"));
  const auto begins = [&](std::string_view begin) { return type.starts_with(begin); };
  const auto has = [&](std::string_view word) { return type.find(word) != std::string::npos; };
  if (std::ranges::any_of(kStaticTypes, begins)) return true;
  if (std::ranges::any_of(kStaticWords, has)) return true;
  const std::string path = lower_case(url.substr(0, url.find_first_of("?#")));
  return std::ranges::any_of(kStaticEndings, [&](std::string_view ending) { return path.ends_with(ending); });
}

bool is_of_host(std::string_view host, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return true;
  return std::ranges::any_of(wanted, [&](const std::string& one) {
    if (host.size() <= one.size()) return iequals(host, one);
    const std::string_view end = host.substr(host.size() - one.size());
    return iequals(end, one) && host[host.size() - one.size() - 1] == '.';
  });
}

class HarReader {
 public:
  HarReader(Draft& draft, const Choices& choices) : draft_(draft), choices_(choices) {}

  void read(const Node& root) {
    const Node* const entries = find(find(&root, "log"), "entries");
    if (entries == nullptr || !entries->is_list()) {
      draft_.diagnostics.add({1, 1}, {.message = "this is no HAR file: it has no list 'entries' in 'log'",
                                      .hint = "save the recording of the browser's network panel as HAR"});
      return;
    }
    for (const Node& entry : entries->items) read_entry(entry);
    say_left_out();
  }

 private:
  void read_entry(const Node& entry) {
    const Node* const asked = find(&entry, "request");
    const Node* const response = find(&entry, "response");
    const std::string_view url = text_at(asked, "url");
    const std::string_view method = text_at(asked, "method");
    if (url.empty() || method.empty()) {
      draft_.diagnostics.add(entry.mark, {.message = "an entry has no 'request' with 'method' and 'url'"});
      return;
    }
    const std::string_view bare = url.substr(0, url.find('#'));
    if (!lower_case(bare.substr(0, 4)).starts_with("http")) {
      ++other_schemes_;
      return;
    }
    std::string address(bare);
    const std::size_t at = address.substr(0, address.find_first_of("/?", 8)).rfind('@');
    if (at != std::string::npos) address.erase(address.find("//") + 2, at - address.find("//") - 1);
    const auto absolute = http1::parse_url(address);
    if (!absolute) {
      // Browsers show some characters of a URL that no request can carry.
      draft_.warnings.push_back(fmt::format("{} is left out: {}", yaml::in_quotes(url), absolute.error().message));
      return;
    }
    const uint64_t status = parse_u64(text_at(response, "status")).value_or(0);
    if (is_followed(*absolute, status, response)) return;
    if (!is_wanted(*absolute, url, method, asked, response)) return;
    if (response != nullptr && (status == 0 || status > 999)) {
      ++unanswered_;
      return;
    }
    add_request(entry, *asked, status, *absolute, response);
  }

  // Whether the client makes this request by itself: it is the target of a redirect before.
  bool is_followed(const http1::Url& url, uint64_t status, const Node* response) {
    const auto target = redirects_.find(text_of(url));
    if (target == redirects_.end()) return false;
    const std::size_t origin = target->second;
    redirects_.erase(target);
    note_cookies(response);
    draft_.requests[origin].status = fmt::format("{}", status == 304 ? 200 : status);
    note_redirect(url, status, response, origin);
    return true;
  }

  static std::string text_of(const http1::Url& url) {
    return fmt::format("{} {}{}", url.tls ? "https" : "http", url.authority, url.path_and_query);
  }

  void note_redirect(const http1::Url& url, uint64_t status, const Node* response, std::size_t origin) {
    static constexpr std::array<uint64_t, 5> kRedirects{301, 302, 303, 307, 308};
    if (std::find(kRedirects.begin(), kRedirects.end(), status) == kRedirects.end()) return;
    std::string_view location = text_at(response, "redirectURL");
    if (location.empty()) location = header_at(response, "location");
    if (location.empty()) return;
    if (const auto target = http1::resolve(url, location)) redirects_[text_of(*target)] = origin;
  }

  bool is_wanted(const http1::Url& absolute, std::string_view url, std::string_view method, const Node* asked,
                 const Node* response) {
    if (!is_of_host(absolute.host, choices_.hosts)) {
      ++other_hosts_;
      return false;
    }
    if (choices_.all) return true;
    const bool is_preflight = method == "OPTIONS" && !header_at(asked, "access-control-request-method").empty();
    if (!is_preflight && !is_static(url, response)) return true;
    ++static_;
    return false;
  }

  void add_request(const Node& entry, const Node& asked, uint64_t status, const http1::Url& absolute,
                   const Node* response) {
    Request request;
    request.method = text_at(&asked, "method");
    if (!scenario::is_http_token(request.method) || iequals(request.method, "connect")) {
      draft_.diagnostics.add(asked.mark,
                             {.message = "the method cannot be imported", .found = yaml::in_quotes(request.method)});
      return;
    }
    request.url = literal(text_at(&asked, "url"));
    clean_url(request);
    read_headers(asked, request);
    read_body(asked, request);
    // The browser asks whether its copy is fresh; a request without that gets the whole.
    if (status > 0) request.status = fmt::format("{}", status == 304 ? 200 : status);
    note_cookies(response);
    read_pause(entry);
    draft_.requests.push_back(std::move(request));
    note_redirect(absolute, status, response, draft_.requests.size() - 1);
  }

  void read_headers(const Node& asked, Request& request) {
    for (const Node& header : items_at(&asked, "headers")) {
      const std::string name = lower_case(text_at(&header, "name"));
      const std::string_view value = text_at(&header, "value");
      if (name == "cookie") note_sent(value);
      if (name == "accept-encoding" && value.find("gzip") != std::string_view::npos) {
        request.options = {{"compressed", "true"}};
      }
      const auto begins = [&](std::string_view begin) { return name.starts_with(begin); };
      const bool is_noise = name.starts_with(':') ||
                            std::find(kNoiseHeaders.begin(), kNoiseHeaders.end(), name) != kNoiseHeaders.end() ||
                            std::ranges::any_of(kNoisePrefixes, begins);
      if (!is_noise && can_send(draft_, name)) add_header(request, text_at(&header, "name"), literal(value));
    }
  }

  void read_body(const Node& asked, Request& request) {
    const Node* const data = find(&asked, "postData");
    if (data == nullptr) return;
    const std::string_view type = text_at(data, "mimeType");
    if (header_of(request, "content-type") == nullptr && !type.empty()) {
      add_header(request, "Content-Type", literal(type));
    }
    std::string text(text_at(data, "text"));
    if (text_at(data, "encoding") == "base64") text = bytes_of_base64(text);
    const Node* const params = find(data, "params");
    if (!is_utf8(text)) {
      draft_.warnings.push_back(fmt::format("the body of {} is left out: it is no text", yaml::in_quotes(request.url)));
    } else if (!text.empty()) {
      set_body(request, literal(text));
    } else if (params != nullptr && !params->items.empty()) {
      read_params(*params, request);
    }
  }

  // Some recorders give the fields of a form and not its text, percent-encoded or not.
  void read_params(const Node& params, Request& request) {
    const Field* const type = header_of(request, "content-type");
    if (type != nullptr && type->value.starts_with("multipart/form-data")) return read_parts(params, request);
    if (type == nullptr || !type->value.starts_with("application/x-www-form-urlencoded")) {
      draft_.warnings.push_back(fmt::format("the body of {} is left out: the recording has only the names of its parts",
                                            yaml::in_quotes(request.url)));
      return;
    }
    std::string text;
    for (const Node& param : params.items) {
      const std::string name(text_at(&param, "name"));
      const std::string value(text_at(&param, "value"));
      text += text.empty() ? "" : "&";
      append_percent_encoded(percent_decoded(name).value_or(name), text);
      text += '=';
      append_percent_encoded(percent_decoded(value).value_or(value), text);
    }
    set_body(request, std::move(text));
  }

  void read_parts(const Node& params, Request& request) {
    std::vector<Part> parts;
    for (const Node& param : params.items) {
      const std::string_view filename = text_at(&param, "fileName");
      const std::string_view content = text_at(&param, "value");
      if (!filename.empty() && content.empty()) {
        draft_.warnings.push_back(fmt::format("the recording has no content of the file {}: put it beside the scenario",
                                              yaml::in_quotes(filename)));
      }
      const bool is_file = !filename.empty() && content.empty();
      parts.push_back({.field = {literal(text_at(&param, "name")), literal(is_file ? filename : content)},
                       .is_file = is_file,
                       .filename = is_file ? std::string() : literal(filename),
                       .type = literal(text_at(&param, "contentType"))});
    }
    set_parts(request, std::move(parts));
  }

  void note_sent(std::string_view cookies) {
    while (!cookies.empty()) {
      const std::string_view pair = trim(take_until(cookies, ';'));
      const std::string name(pair.substr(0, pair.find('=')));
      if (!name.empty() && !received_.contains(name)) foreign_.insert(name);
    }
  }

  void note_cookies(const Node* response) {
    for (const Node& cookie : items_at(response, "cookies")) received_.emplace(text_at(&cookie, "name"));
    for (const Node& header : items_at(response, "headers")) {
      if (!iequals(text_at(&header, "name"), "set-cookie")) continue;
      // Several cookies stand in lines.
      std::string_view value = text_at(&header, "value");
      while (!value.empty()) {
        received_.emplace(trim(value.substr(0, value.find_first_of("=\n"))));
        value.remove_prefix(std::min(value.find('\n'), value.size() - 1) + 1);
      }
    }
  }

  // The time between the end of the request before and the begin of this one.
  void read_pause(const Node& entry) {
    const auto begin = parse_wall(text_at(&entry, "startedDateTime"));
    const double took = parse_double(text_at(&entry, "time")).value_or(0);
    if (choices_.pauses && begin && ended_ && !draft_.requests.empty()) {
      const Duration pause = std::min(Duration::nanos(begin->unix_ns - *ended_), kLongestPause);
      if (pause >= kShortestPause) draft_.requests.back().think = Duration::millis((pause.ms() + 50) / 100 * 100);
    }
    if (begin && took >= 0 && took < 1e9) {
      const int64_t end = begin->unix_ns + Duration::millis(static_cast<int64_t>(took)).ns();
      ended_ = std::max(ended_.value_or(end), end);
    }
  }

  void say_left_out() {
    const auto say = [&](std::size_t count, std::string_view why) {
      if (count > 0) draft_.warnings.push_back(fmt::format("{} left out: {}", format_count(count, "request"), why));
    };
    say(static_, "static content and preflight requests; --all keeps them");
    say(other_hosts_, "of other hosts");
    say(other_schemes_, "neither http nor https");
    say(unanswered_, "without a response");
    if (foreign_.empty()) return;
    const std::vector<std::string_view> names(foreign_.begin(), foreign_.end());
    draft_.warnings.push_back(
        fmt::format("cookies of before the recording are left out: {}; record the login too, or add a header Cookie",
                    yaml::join(std::span(names).first(std::min<std::size_t>(names.size(), 10)))));
  }

  Draft& draft_;
  const Choices& choices_;
  std::map<std::string, std::size_t> redirects_;  // targets that the client will follow to, and the request that leads
  std::set<std::string> received_;                // names of cookies that responses have set
  std::set<std::string> foreign_;                 // of those sent before any response has set them
  std::optional<int64_t> ended_;                  // the last response so far: nanoseconds since 1970
  std::size_t static_ = 0;
  std::size_t other_hosts_ = 0;
  std::size_t other_schemes_ = 0;
  std::size_t unanswered_ = 0;
};

}  // namespace

Import from_har(const Source& source, const Choices& choices) {
  Draft draft(source);
  if (const auto root = parse_json(source.text, draft.diagnostics, skips_contents)) {
    HarReader(draft, choices).read(*root);
  }
  return finish(draft, choices);
}

}  // namespace bellwether::imports
