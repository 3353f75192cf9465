// OpenAPI documents, versions 3.0 and 3.1: a step for each operation.
#include <algorithm>
#include <array>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "load/import/openapi_values.h"
#include "load/import/request.h"
#include "load/scenario/section.h"

namespace bellwether::imports {
namespace {

constexpr std::array<std::string_view, 8> kOperations{"get",     "put",  "post",  "delete",
                                                      "options", "head", "patch", "trace"};

class OpenApiReader {
 public:
  OpenApiReader(const Node& document, Draft& draft) : document_(document), draft_(draft), values_(document, draft) {}

  void read() {
    const std::string_view version = text_at(&document_, "openapi");
    if (!version.starts_with("3.0") && !version.starts_with("3.1")) {
      const bool is_old = find(&document_, "swagger") != nullptr;
      draft_.diagnostics.add({1, 1},
                             {.message = "this is no OpenAPI document of version 3.0 or 3.1",
                              .found = version.empty() ? std::string() : yaml::in_quotes(version),
                              .expected = "'openapi: 3.0.x' or 'openapi: 3.1.x'",
                              .hint = is_old ? "it is Swagger 2.0: convert it, for example with swagger2openapi" : ""});
      return;
    }
    const Node* const paths = find(&document_, "paths");
    if (paths == nullptr || !paths->is_map()) {
      draft_.diagnostics.add(document_.mark, {.message = "the document has no map 'paths'"});
      return;
    }
    read_server();
    for (const Node& path : paths->items) {
      const Node* const item = values_.resolve(&path);
      if (item == nullptr || !path.key.starts_with('/')) continue;
      for (const Node& operation : item->items) {
        const bool is_one = std::find(kOperations.begin(), kOperations.end(), operation.key) != kOperations.end();
        if (is_one && operation.is_map()) read_operation(path.key, *item, operation);
      }
    }
  }

 private:
  // The first server is the base. Its variables get their defaults.
  void read_server() {
    const std::span<const Node> servers = items_at(&document_, "servers");
    const Node* const server = servers.empty() ? nullptr : &servers.front();
    std::string url(text_at(server, "url"));
    for (const Node& variable : items_at(server, "variables")) {
      const std::string name = fmt::format("{{{}}}", variable.key);
      const std::size_t at = url.find(name);
      if (at != std::string::npos) url.replace(at, name.size(), text_at(&variable, "default"));
    }
    while (url.ends_with('/')) url.pop_back();
    draft_.base = "${BASE}";
    if (url.starts_with("http://") || url.starts_with("https://")) {
      draft_.need("BASE", literal(url), "");
    } else {
      draft_.need("BASE", std::nullopt, "the document names no server with http:// or https://");
      if (!url.empty()) draft_.base += literal(url.starts_with('/') ? url : "/" + url);
    }
  }

  void read_operation(const std::string& path, const Node& item, const Node& operation) {
    Request request;
    for (const char c : operation.key) request.method += static_cast<char>(c - 'a' + 'A');
    request.method.erase(0, 3);  // of the default
    request.name = text_at(&operation, "operationId");
    if (request.name.empty()) request.name = fmt::format("{} {}", operation.key, path);
    if (const std::string_view summary = text_at(&operation, "summary"); !summary.empty()) {
      request.comments.emplace_back(summary);
    }
    // Those of the operation replace those of the path.
    std::vector<const Node*> parameters;
    for (const Node* const holder : {&operation, &item}) {
      for (const Node& one : items_at(holder, "parameters")) {
        const Node* const parameter = values_.resolve(&one);
        const auto is_same = [&](const Node* known) {
          return text_at(known, "name") == text_at(parameter, "name") &&
                 text_at(known, "in") == text_at(parameter, "in");
        };
        if (parameter == nullptr || std::ranges::any_of(parameters, is_same)) continue;
        parameters.push_back(parameter);
      }
    }
    request.url = url_of(path, parameters);
    for (const Node* const parameter : parameters) read_parameter(*parameter, request);
    read_request_body(values_.resolve(find(&operation, "requestBody")), request);
    const Node* const own = find(&operation, "security");
    read_security(own != nullptr ? own : find(&document_, "security"), request);
    read_responses(items_at(&operation, "responses"), request);
    std::string invented;
    for (const std::string& name : values_.take_invented()) invented += (invented.empty() ? "" : ", ") + name;
    if (!invented.empty()) request.comments.push_back("no example: " + invented);
    draft_.requests.push_back(std::move(request));
  }

  // "/items/{id}" with a value for each name in braces.
  std::string url_of(std::string_view path, const std::vector<const Node*>& parameters) {
    std::string url;
    for (;;) {
      const std::size_t open = std::min(path.find('{'), path.size());
      const std::size_t close = path.find('}', open);
      url += literal(path.substr(0, open));
      if (close == std::string_view::npos) return url + literal(path.substr(open));
      const std::string_view name = path.substr(open + 1, close - open - 1);
      const auto is_it = [name](const Node* one) {
        return text_at(one, "in") == "path" && text_at(one, "name") == name;
      };
      const auto known = std::ranges::find_if(parameters, is_it);
      url += known == parameters.end() ? "1" : path_text(joined(texts_of(**known, name)));
      path.remove_prefix(close + 1);
    }
  }

  std::vector<std::string> texts_of(const Node& parameter, std::string_view name) {
    const Node* const content = find(&parameter, "content");
    const bool has_content = content != nullptr && content->is_map() && !content->items.empty();
    std::vector<std::string> texts;
    append_texts(values_.value_of(has_content ? content->items.front() : parameter, name), texts);
    if (texts.empty()) texts.emplace_back("text");
    return texts;
  }

  static std::string joined(const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& text : texts) out += (out.empty() ? "" : ",") + text;
    return out;
  }

  void read_parameter(const Node& parameter, Request& request) {
    const std::string name(text_at(&parameter, "name"));
    const std::string_view in = text_at(&parameter, "in");
    if (name.empty() || in == "path" || text_at(&parameter, "required") != "true") return;
    const std::vector<std::string> texts = texts_of(parameter, name);
    if (in == "query" && text_at(&parameter, "explode") == "false") {
      request.query.push_back({literal(name), joined(texts)});
    } else if (in == "query") {
      for (const std::string& text : texts) request.query.push_back({literal(name), text});
    } else if (in == "cookie") {
      add_header(request, "Cookie", fmt::format("{}={}", literal(name), joined(texts)));
    } else if (in == "header") {
      // These follow from the rest of the document.
      const bool is_set_elsewhere =
          iequals(name, "accept") || iequals(name, "content-type") || iequals(name, "authorization");
      if (!is_set_elsewhere && can_send(draft_, name)) add_header(request, name, joined(texts));
    }
  }

  static std::string path_text(const std::string& text) {
    const auto written = plain(text);
    if (!written) return text;  // the value of an expression is escaped by the run
    std::string out;
    append_percent_encoded(*written, out);
    return out;
  }

  void read_request_body(const Node* body, Request& request) {
    const std::span<const Node> content = items_at(body, "content");
    if (content.empty()) return;
    const auto has = [&](std::string_view word) {
      return std::ranges::find_if(content,
                                  [word](const Node& media) { return media.key.find(word) != std::string::npos; });
    };
    auto media = has("json");
    if (media == content.end()) media = has("x-www-form-urlencoded");
    if (media == content.end()) media = content.begin();
    const bool is_json = media->key.find("json") != std::string::npos;
    Node value = values_.value_of(*media, is_json ? "" : "body");
    if (is_json && (value.is_map() || value.is_list())) {
      request.body.kind = Body::Kind::kJson;
      value.key.clear();
      request.body.json = std::move(value);
      if (media->key != "application/json") add_header(request, "Content-Type", literal(media->key));
    } else if (media->key.find("x-www-form-urlencoded") != std::string::npos && value.is_map()) {
      request.body.kind = Body::Kind::kForm;
      for (const Node& item : value.items) {
        std::vector<std::string> texts;
        append_texts(item, texts);
        for (std::string& text : texts) request.body.form.push_back({item.key, std::move(text)});
      }
    } else if (media->key.starts_with("multipart/form-data") && value.is_map()) {
      set_parts(request, parts_of(value, *media));
    } else if (value.is_scalar() && !is_json) {
      add_header(request, "Content-Type", literal(media->key));
      request.body.kind = Body::Kind::kText;
      request.body.text = std::move(value.text);
    } else {
      draft_.warnings.push_back(fmt::format("the body of {} {} is left out: its type is {}", request.method,
                                            yaml::in_quotes(request.url), yaml::in_quotes(media->key)));
    }
  }

  // A part for each property, and one for each element of a list. A file has an invented content.
  std::vector<Part> parts_of(const Node& value, const Node& media) {
    const Node* const properties = find(values_.resolve(find(&media, "schema")), "properties");
    std::vector<Part> parts;
    for (const Node& item : value.items) {
      const Node* property = values_.resolve(find(properties, item.key));
      if (const Node* const element = find(property, "items")) property = values_.resolve(element);
      Part part{.field = {item.key, {}}};
      if (text_at(property, "format") == "binary" || find(property, "contentMediaType") != nullptr) {
        part.filename = item.key;
        part.type = find(property, "contentMediaType") != nullptr ? literal(text_at(property, "contentMediaType"))
                                                                  : "application/octet-stream";
      }
      const std::string_view types = text_at(find(find(&media, "encoding"), item.key), "contentType");
      const std::string_view type = trim(types.substr(0, types.find(',')));
      if (!type.empty() && !type.ends_with('*')) part.type = literal(type);
      std::vector<std::string> texts;
      append_texts(item, texts);
      if (texts.empty() && !item.is_null()) {
        append_json(item, texts.emplace_back());
        if (part.type.empty()) part.type = "application/json";
      }
      for (std::string& text : texts) {
        part.field.value = std::move(text);
        parts.push_back(part);
      }
    }
    return parts;
  }

  // The first alternative that the document gives.
  void read_security(const Node* security, Request& request) {
    if (security == nullptr || !security->is_list() || security->items.empty()) return;
    const Node* const schemes = find(find(&document_, "components"), "securitySchemes");
    for (const Node& wanted : security->items.front().items) {
      const Node* const scheme = values_.resolve(find(schemes, wanted.key));
      const std::string_view type = text_at(scheme, "type");
      const std::string_view name = text_at(scheme, "name");
      if (type == "http" && iequals(text_at(scheme, "scheme"), "basic")) {
        request.auth = Auth{"basic", need("AUTH_USER", wanted.key), need("AUTH_PASSWORD", wanted.key)};
      } else if (type == "http" && iequals(text_at(scheme, "scheme"), "digest")) {
        request.auth = Auth{"digest", need("AUTH_USER", wanted.key), need("AUTH_PASSWORD", wanted.key)};
      } else if (type == "http" || type == "oauth2" || type == "openIdConnect") {
        request.auth = Auth{"bearer", {}, need("TOKEN", wanted.key)};
      } else if (type == "apiKey" && !name.empty()) {
        const std::string_view in = text_at(scheme, "in");
        const std::string value = need(variable_name(name), wanted.key);
        if (in == "header" && can_send(draft_, name)) add_header(request, name, value);
        if (in == "query") request.query.push_back({literal(name), value});
        if (in == "cookie") add_header(request, "Cookie", fmt::format("{}={}", literal(name), value));
      } else {
        draft_.warnings.push_back(fmt::format("the security scheme {} is left out", yaml::in_quotes(wanted.key)));
      }
    }
  }

  std::string need(const std::string& variable, std::string_view scheme) {
    draft_.need(variable, std::nullopt, fmt::format("the security scheme {}", scheme));
    return fmt::format("${{{}}}", variable);
  }

  // The statuses of success that the document lists.
  static void read_responses(std::span<const Node> responses, Request& request) {
    std::string statuses;
    for (const Node& response : responses) {
      if (iequals(response.key, "2xx")) {
        request.status = "{gte: 200, lt: 300}";
        return;
      }
      const auto status = parse_u64(response.key);
      if (status && *status >= 200 && *status < 300) statuses += (statuses.empty() ? "" : ", ") + response.key;
    }
    const bool has_several = statuses.find(',') != std::string::npos;
    request.status = has_several ? fmt::format("[{}]", statuses) : statuses;
  }

  const Node& document_;
  Draft& draft_;
  SchemaValues values_;
};

}  // namespace

Import from_openapi(const Source& source, const Choices& choices) {
  Draft draft(source);
  draft.is_public = true;
  const auto first = source.text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && source.text[first] == '{';
  const auto document = is_json ? parse_json(source.text, draft.diagnostics)
                                : yaml::parse_yaml(source.text, draft.diagnostics, "convert the document to JSON");
  if (document && draft.diagnostics.empty()) OpenApiReader(*document, draft).read();
  return finish(draft, choices);
}

}  // namespace bellwether::imports
