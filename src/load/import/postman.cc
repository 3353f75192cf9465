// Collections of Postman, versions 2.0 and 2.1: a step for each request, with its folder as group.
#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "load/import/request.h"
#include "load/scenario/builtins.h"
#include "load/scenario/section.h"

namespace bellwether::imports {
namespace {

constexpr int kMaxFolderDepth = 20;
constexpr std::size_t kMaxGroupBytes = 200;  // as of a scenario

// Postman's own variables, and the functions of templates that make the same.
constexpr std::pair<std::string_view, std::string_view> kDynamic[] = {
    {"$guid", "uuid"},
    {"$randomUUID", "uuid"},
    {"$timestamp", "now_s"},
    {"$isoTimestamp", "now"},
    {"$randomInt", "random(0, 1000)"},
    {"$randomFirstName", "fake.first_name"},
    {"$randomLastName", "fake.last_name"},
    {"$randomFullName", "fake.name"},
    {"$randomUserName", "fake.user_name"},
    {"$randomEmail", "fake.email"},
    {"$randomPhoneNumber", "fake.phone"},
    {"$randomStreetAddress", "fake.street"},
    {"$randomCity", "fake.city"},
    {"$randomCountry", "fake.country"},
    {"$randomCompanyName", "fake.company"},
    {"$randomJobTitle", "fake.job"},
    {"$randomProductName", "fake.product"},
    {"$randomColor", "fake.color"},
    {"$randomWord", "fake.word"},
    {"$randomLoremSentence", "fake.sentence(6)"},
    {"$randomUrl", "fake.url"},
    {"$randomDomainName", "fake.domain"},
    {"$randomIP", "fake.ipv4"},
    {"$randomIPV6", "fake.ipv6"},
    {"$randomAlphaNumeric", "random_string(1)"},
    {"$randomBoolean", "random_choice(true, false)"},
};

bool is_disabled(const Node& node) { return text_at(&node, "disabled") == "true"; }

class PostmanReader {
 public:
  PostmanReader(Draft& draft, const Choices& choices) : draft_(draft), choices_(choices) {}

  void read(const Node& root) {
    const Node* const items = find(&root, "item");
    if (items == nullptr || !items->is_list() || find(&root, "info") == nullptr) {
      draft_.diagnostics.add({1, 1}, {.message = "this is no collection of Postman: it has no 'info' and list 'item'",
                                      .hint = "export the collection as 'Collection v2.1'"});
      return;
    }
    for (const Node& variable : items_at(&root, "variable")) read_variable(variable);
    note_scripts(root);
    read_items(*items, "", find(&root, "auth"), 0);
    if (scripts_ > 0) {
      draft_.warnings.push_back(fmt::format("{} left out: write 'check', 'extract' or a step in Lua instead",
                                            format_count(scripts_, "script")));
    }
  }

 private:
  void read_variable(const Node& variable) {
    const std::string_view key = text_at(&variable, "key");
    if (key.empty() || is_disabled(variable)) return;
    const std::string value(text_at(&variable, "value"));
    const bool is_hidden = !choices_.keep_secrets && (is_secret(key) || text_at(&variable, "type") == "secret");
    if (value.empty() || is_hidden) {
      draft_.need(name_of(key), std::nullopt, "a variable of the collection");
    } else {
      // Only entries above may be mentioned there, so a value with variables comes from the user.
      const bool has_variables = value.find("{{") != std::string::npos;
      draft_.need(name_of(key), has_variables ? std::nullopt : std::optional(literal(value)),
                  has_variables ? "in the collection: " + value : "");
    }
  }

  void note_scripts(const Node& holder) {
    for (const Node& event : items_at(&holder, "event")) {
      const Node* const lines = find(find(&event, "script"), "exec");
      const bool is_empty =
          lines == nullptr || (lines->is_scalar() && lines->text.empty()) ||
          (lines->is_list() && std::ranges::all_of(lines->items, [](const Node& line) { return line.text.empty(); }));
      if (!is_empty) ++scripts_;
    }
  }

  void read_items(const Node& items, const std::string& folder, const Node* auth, int depth) {
    if (depth > kMaxFolderDepth) return;
    for (const Node& item : items.items) {
      note_scripts(item);
      const std::string name(text_at(&item, "name"));
      const Node* const own = find(&item, "auth");
      const Node* const request = find(&item, "request");
      if (const Node* const inner = find(&item, "item")) {
        read_items(*inner, folder.empty() ? name : folder + "/" + name, own != nullptr ? own : auth, depth + 1);
      } else if (request != nullptr) {
        read_request(name, folder, *request, auth);
      } else {
        draft_.diagnostics.add(item.mark, {.message = "an item has neither 'request' nor 'item'"});
      }
    }
  }

  void read_request(const std::string& name, const std::string& folder, const Node& from, const Node* auth) {
    Request request;
    request.name = name;
    for (const char c : folder) request.group += c == ',' || c == '{' || c == '}' ? ' ' : c;
    if (request.group.size() > kMaxGroupBytes) request.group.clear();
    if (from.is_scalar()) {
      request.url = text(from.text);
    } else {
      if (const std::string_view method = text_at(&from, "method"); !method.empty()) request.method = method;
      read_url(find(&from, "url"), request);
    }
    if (!scenario::is_http_token(request.method) || iequals(request.method, "connect") || request.url.empty()) {
      draft_.diagnostics.add(from.mark, {.message = fmt::format("the request {} has no URL, or a method that cannot be "
                                                                "imported",
                                                                yaml::in_quotes(name))});
      return;
    }
    const bool has_scheme = request.url.find("://") < request.url.find_first_of("/?") || request.url.starts_with("${");
    if (!has_scheme) request.url.insert(0, "http://");
    clean_url(request);
    if (const Node* const headers = find(&from, "header")) read_headers(*headers, request);
    const Node* const own = find(&from, "auth");
    read_auth(own != nullptr ? own : auth, request);
    if (const Node* const body = find(&from, "body")) read_body(*body, request);
    draft_.requests.push_back(std::move(request));
  }

  // A list, or a text of lines.
  void read_headers(const Node& headers, Request& request) {
    const auto add = [&](std::string_view key, std::string_view value) {
      if (!key.empty() && can_send(draft_, key)) add_header(request, key, text(value));
    };
    for (const Node& header : headers.items) {
      if (!is_disabled(header)) add(text_at(&header, "key"), text_at(&header, "value"));
    }
    for (std::string_view lines = headers.text; !lines.empty();) {
      const std::string_view line = lines.substr(0, lines.find_first_of("\r\n"));
      lines.remove_prefix(std::min(line.size() + 1, lines.size()));
      const std::size_t colon = std::min(line.find(':'), line.size());
      add(trim(line.substr(0, colon)), trim(line.substr(std::min(colon + 1, line.size()))));
    }
  }

  // The parts of a host or path, which are a text or a list.
  static std::string joined_parts(const Node* parts, std::string_view separator) {
    if (parts == nullptr) return {};
    std::string out = parts->text;
    for (const Node& part : parts->items) {
      out += (&part == &parts->items.front() ? std::string_view() : separator);
      out += part.is_map() ? text_at(&part, "value") : std::string_view(part.text);
    }
    return out;
  }

  static std::string composed_url(const Node& url) {
    const std::string_view protocol = text_at(&url, "protocol");
    const std::string_view port = text_at(&url, "port");
    std::string out =
        fmt::format("{}://{}{}{}/{}", protocol.empty() ? "http" : protocol, joined_parts(find(&url, "host"), "."),
                    port.empty() ? "" : ":", port, joined_parts(find(&url, "path"), "/"));
    const Node* const query = find(&url, "query");
    for (std::size_t i = 0; query != nullptr && i < query->items.size(); ++i) {
      out += fmt::format("{}{}={}", i == 0 ? "?" : "&", text_at(&query->items[i], "key"),
                         text_at(&query->items[i], "value"));
    }
    return out;
  }

  // A text, or {raw: …, query: […], variable: […]}. Without `raw`, the parts give the URL.
  void read_url(const Node* url, Request& request) {
    if (url == nullptr) return;
    std::string raw(url->is_scalar() ? std::string_view(url->text) : text_at(url, "raw"));
    if (raw.empty() && find(url, "host") != nullptr) raw = composed_url(*url);
    // ":id" in the path.
    for (const Node& variable : items_at(url, "variable")) {
      const std::string name = fmt::format("/:{}", text_at(&variable, "key"));
      const std::size_t at = raw.find(name);
      if (name.size() == 2 || at == std::string::npos) continue;
      const std::string_view value = text_at(&variable, "value");
      raw.replace(at, name.size(), fmt::format("/{}", value.empty() ? std::string_view("1") : value));
    }
    const Node* const query = find(url, "query");
    const bool has_disabled = query != nullptr && std::ranges::any_of(query->items, is_disabled);
    if (has_disabled) {
      raw.resize(std::min(raw.find('?'), raw.size()));
      for (const Node& one : query->items) {
        if (!is_disabled(one)) request.query.push_back({text(text_at(&one, "key")), text(text_at(&one, "value"))});
      }
    }
    request.url = text(raw);
  }

  void read_auth(const Node* auth, Request& request) {
    const std::string_view type = text_at(auth, "type");
    if (type.empty() || type == "noauth" || header_of(request, "authorization") != nullptr) return;
    const Node* const values = find(auth, type);
    if (type == "basic" || type == "digest") {
      request.auth = Auth{std::string(type), auth_value(values, "username"), auth_value(values, "password")};
    } else if (type == "bearer") {
      request.auth = Auth{"bearer", {}, auth_value(values, "token")};
    } else if (type == "oauth2") {
      draft_.need("TOKEN", std::nullopt, "the access token of OAuth 2.0");
      request.auth = Auth{"bearer", {}, "${TOKEN}"};
    } else if (type == "apikey" && auth_value(values, "in") == "query") {
      request.query.push_back({auth_value(values, "key"), auth_value(values, "value")});
      request.secrets.push_back(request.query.back().name);
    } else if (type == "apikey") {
      const std::string key = auth_value(values, "key");
      request.secrets.push_back(key);
      if (can_send(draft_, key)) add_header(request, key, auth_value(values, "value"));
    } else {
      draft_.warnings.push_back(fmt::format("the authorization {} is left out", yaml::in_quotes(type)));
    }
  }

  // Version 2.1 has a list of keys and values, 2.0 a map.
  std::string auth_value(const Node* values, std::string_view key) {
    if (values == nullptr) return {};
    if (values->is_map()) return text(text_at(values, key));
    for (const Node& one : values->items) {
      if (text_at(&one, "key") == key) return text(text_at(&one, "value"));
    }
    return {};
  }

  void read_body(const Node& body, Request& request) {
    const std::string_view mode = text_at(&body, "mode");
    const Node* const fields = find(&body, mode);
    const bool has_type = header_of(request, "content-type") != nullptr;
    if (is_disabled(body) || mode.empty() || fields == nullptr) return;
    if (mode == "raw") {
      const std::string_view language = text_at(find(find(&body, "options"), "raw"), "language");
      if (!has_type && language == "json") add_header(request, "Content-Type", "application/json");
      if (!has_type && language == "xml") add_header(request, "Content-Type", "application/xml");
      if (!has_type && language == "html") add_header(request, "Content-Type", "text/html");
      set_body(request, text(fields->text));
    } else if (mode == "urlencoded") {
      request.body.kind = Body::Kind::kForm;
      for (const Node& field : fields->items) {
        if (is_disabled(field)) continue;
        request.body.form.push_back({text(text_at(&field, "key")), text(text_at(&field, "value"))});
      }
    } else if (mode == "formdata") {
      std::vector<Part> parts;
      for (const Node& field : fields->items) {
        if (is_disabled(field)) continue;
        const bool is_file = text_at(&field, "type") == "file";
        const std::string_view content = text_at(&field, is_file ? "src" : "value");
        parts.push_back({.field = {text(text_at(&field, "key")), is_file ? literal(content) : text(content)},
                         .is_file = is_file,
                         .filename = {},
                         .type = text(text_at(&field, "contentType"))});
      }
      set_parts(request, std::move(parts));
    } else if (mode == "graphql") {
      std::string json = "{\"query\":\"";
      append_json_text(text_at(fields, "query"), json);
      const std::string_view variables = text_at(fields, "variables");
      json += fmt::format("\",\"variables\":{}}}", variables.empty() ? "{}" : variables);
      if (!has_type) add_header(request, "Content-Type", "application/json");
      set_body(request, text(json));
    } else if (mode == "file") {
      request.body.kind = Body::Kind::kFile;
      request.body.text = literal(text_at(fields, "src"));
    } else {
      draft_.warnings.push_back(fmt::format("the body of {} is left out: its kind is {}", yaml::in_quotes(request.name),
                                            yaml::in_quotes(mode)));
    }
  }

  // The name in `env` of a variable.
  static std::string name_of(std::string_view key) {
    std::string name;
    for (const char c : key) name += is_letter_or_digit(c) ? c : '_';
    const auto& reserved = scenario::kBuiltinNames;
    const bool is_taken = std::find(reserved.begin(), reserved.end(), name) != reserved.end();
    if (is_taken || !scenario::is_value_name(name)) name.insert(0, "v_");
    return name;
  }

  // The template of a text with {{variables}}.
  std::string text(std::string_view from) {
    std::string out;
    for (;;) {
      const std::size_t open = std::min(from.find("{{"), from.size());
      const std::size_t close = from.find("}}", open);
      if (close == std::string_view::npos) return out + literal(from);
      const std::string_view key = trim(from.substr(open + 2, close - open - 2));
      // Braces of JSON stand in pairs too.
      const bool is_name = !key.empty() && key.find_first_of("{}\"\n:,") == std::string_view::npos;
      if (!is_name) {
        out += literal(from.substr(0, open + 2));
        from.remove_prefix(open + 2);
        continue;
      }
      out += literal(from.substr(0, open)) + fmt::format("${{{}}}", expression_of(key));
      from.remove_prefix(close + 2);
    }
  }

  std::string expression_of(std::string_view key) {
    for (const auto& [known, function] : kDynamic) {
      if (known == key) return std::string(function);
    }
    std::string name = name_of(key);
    draft_.need(name, std::nullopt, fmt::format("the variable {}, which the collection does not have", key));
    return name;
  }

  Draft& draft_;
  const Choices& choices_;
  std::size_t scripts_ = 0;
};

}  // namespace

Import from_postman(const Source& source, const Choices& choices) {
  Draft draft(source);
  if (const auto root = parse_json(source.text, draft.diagnostics)) PostmanReader(draft, choices).read(*root);
  return finish(draft, choices);
}

}  // namespace bellwether::imports
