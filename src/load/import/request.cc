#include "load/import/request.h"

#include <algorithm>
#include <set>
#include <simdjson.h>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "load/scenario/section.h"
#include "load/scenario/sources.h"

namespace bellwether::imports {
namespace {

namespace od = simdjson::ondemand;

// Copies a document of simdjson, which reads it once from front to back.
class JsonTree {
 public:
  JsonTree(const char* begin, Skip skip) : line_begin_(begin), at_(begin), skip_(skip) {}

  // The place of a byte. Bytes come in their order.
  yaml::Mark mark_of(const char* byte) {
    for (; at_ < byte; ++at_) {
      if (*at_ != '\n') continue;
      ++line_;
      line_begin_ = at_ + 1;
    }
    return {line_, static_cast<int>(byte - line_begin_) + 1};
  }

  bool copy(od::value from, Node& out, int depth) {
    const std::string_view token = from.raw_json_token();
    out.mark = mark_of(token.data());
    if (++nodes_ > kMaxJsonNodes) return refuse("the document has too many values");
    if (depth >= yaml::kMaxDepth) return refuse("the document is nested more than 64 levels deep");
    od::json_type type = od::json_type::null;
    if (failed(from.type().get(type))) return false;
    switch (type) {
      case od::json_type::object: return copy_object(from, out, depth);
      case od::json_type::array: return copy_array(from, out, depth);
      case od::json_type::string: {
        std::string_view text;
        if (failed(from.get_string().get(text))) return false;
        out.kind = Node::Kind::kScalar;
        out.is_quoted = true;
        out.text = text;
        return true;
      }
      case od::json_type::number: {
        double number = 0;
        out.kind = Node::Kind::kScalar;
        out.text = token.substr(0, token.find_first_of(" \t\r\n"));
        return !failed(from.get_double().get(number));
      }
      case od::json_type::boolean: {
        bool is_true = false;
        if (failed(from.get_bool().get(is_true))) return false;
        out.kind = Node::Kind::kScalar;
        out.text = is_true ? "true" : "false";
        return true;
      }
      case od::json_type::null: break;
    }
    return token.starts_with("null") || !failed(simdjson::N_ATOM_ERROR);
  }

  // Of the first failure.
  simdjson::error_code error() const { return error_; }
  const char* refusal() const { return refusal_; }

 private:
  bool failed(simdjson::error_code error) {
    if (error_ == simdjson::SUCCESS) error_ = error;
    return error != simdjson::SUCCESS;
  }
  bool refuse(const char* why) {
    if (refusal_ == nullptr) refusal_ = why;
    return false;
  }

  bool copy_object(od::value from, Node& out, int depth) {
    out.kind = Node::Kind::kMap;
    od::object object;
    if (failed(from.get_object().get(object))) return false;
    for (auto field : object) {
      Node item;
      od::raw_json_string raw;
      std::string_view key;
      od::value value;
      if (failed(field.key().get(raw)) || failed(field.unescaped_key().get(key))) return false;
      item.key_mark = mark_of(raw.raw() - 1);
      if (skip_ != nullptr && skip_(out.key, key)) continue;
      item.key = key;
      if (failed(field.value().get(value)) || !copy(value, item, depth + 1)) return false;
      out.items.push_back(std::move(item));
    }
    return true;
  }

  bool copy_array(od::value from, Node& out, int depth) {
    out.kind = Node::Kind::kList;
    od::array array;
    if (failed(from.get_array().get(array))) return false;
    for (auto element : array) {
      od::value value;
      Node item;
      if (failed(element.get(value)) || !copy(value, item, depth + 1)) return false;
      out.items.push_back(std::move(item));
    }
    return true;
  }

  int line_ = 1;
  const char* line_begin_;
  const char* at_;
  Skip skip_;
  std::size_t nodes_ = 0;
  simdjson::error_code error_ = simdjson::SUCCESS;
  const char* refusal_ = nullptr;
};

// Where a text that the parser refuses as a whole goes wrong: at its first bad byte, or at the quote that nothing
// closes.
const char* place_of_damage(std::string_view text, simdjson::error_code error) {
  if (error == simdjson::UTF8_ERROR) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      if (!is_utf8(text.substr(begin, end - begin))) return text.data() + begin;
      begin = end;
    }
  }
  const char* quote = nullptr;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != nullptr && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quote = quote == nullptr ? text.data() + i : nullptr;
    }
  }
  return quote != nullptr ? quote : text.data();
}

// Of names and trees that are written as YAML; deeper or longer ones stay texts.
constexpr std::size_t kMaxNameBytes = 200;
constexpr int kMaxJsonDepth = 40;

// Whether YAML can carry the tree: names are unique and short. Texts become literals unless they are templates.
bool adopt(Node& node, bool are_templates, int depth) {
  if (depth > kMaxJsonDepth) return false;
  std::set<std::string_view> names;
  for (Node& item : node.items) {
    if (!are_templates) item.key = literal(item.key);
    if (node.is_map() && (item.key.size() > kMaxNameBytes || !names.insert(item.key).second)) return false;
    if (!adopt(item, are_templates, depth + 1)) return false;
  }
  if (node.is_scalar() && !are_templates) node.text = literal(node.text);
  return true;
}

std::optional<Node> json_of(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || (text[first] != '{' && text[first] != '[')) return std::nullopt;
  const auto written = plain(text);
  yaml::Diagnostics unused("");
  auto tree = parse_json(written ? *written : text, unused);
  if (!tree || !adopt(*tree, !written, 0)) return std::nullopt;
  return tree;
}

std::optional<std::string> decoded_component(std::string_view text) {
  const auto written = plain(text);
  if (!written) {
    const bool is_as_written = text.find_first_of("%+") == std::string_view::npos;
    return is_as_written ? std::optional(std::string(text)) : std::nullopt;
  }
  std::string spaced = *written;
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  const auto decoded = percent_decoded(spaced);
  if (!decoded || !is_utf8(*decoded)) return std::nullopt;
  return literal(*decoded);
}

}  // namespace

std::optional<Node> parse_json(std::string_view text, yaml::Diagnostics& diagnostics, Skip skip) {
  const simdjson::padded_string padded(text);
  const std::string_view whole(padded);
  JsonTree tree(whole.data(), skip);
  od::parser parser;
  od::document document;
  od::value root;
  Node out;
  simdjson::error_code error = parser.iterate(padded).get(document);
  const char* at = error == simdjson::SUCCESS ? nullptr : place_of_damage(whole, error);
  if (error == simdjson::SUCCESS) {
    error = document.get_value().get(root);
    if (error == simdjson::SUCCESS && !tree.copy(root, out, 0)) error = tree.error();
    if (error == simdjson::SUCCESS && tree.refusal() == nullptr) {
      if (document.current_location().get(at) == simdjson::OUT_OF_BOUNDS) return out;
      error = simdjson::TRAILING_CONTENT;
    }
    if (document.current_location().get(at) != simdjson::SUCCESS) at = whole.data() + whole.size();
  }
  if (tree.refusal() != nullptr) {
    diagnostics.add(tree.mark_of(at), {.message = tree.refusal()});
  } else {
    JsonTree from_begin(whole.data(), nullptr);
    diagnostics.add(from_begin.mark_of(at),
                    {.message = std::string("this is not JSON: ") + (error == simdjson::SCALAR_DOCUMENT_AS_VALUE
                                                                         ? "it is neither an object nor an array"
                                                                         : simdjson::error_message(error)),
                     .hint = "look at the commas, quotes and brackets just before this place"});
  }
  return std::nullopt;
}

const Node* find(const Node* node, std::string_view key) {
  if (node == nullptr || !node->is_map()) return nullptr;
  const auto found = std::ranges::find_if(node->items, [key](const Node& item) { return item.key == key; });
  return found == node->items.end() ? nullptr : &*found;
}

std::span<const Node> items_at(const Node* node, std::string_view key) {
  const Node* member = find(node, key);
  return member == nullptr ? std::span<const Node>() : member->items;
}

std::string_view text_at(const Node* node, std::string_view key) {
  const Node* member = find(node, key);
  return member != nullptr && member->is_scalar() ? std::string_view(member->text) : std::string_view();
}

void Draft::need(const std::string& wanted, std::optional<std::string> value, std::string comment) {
  const auto is_it = [&](const Variable& one) { return one.name == wanted; };
  if (std::ranges::any_of(variables, is_it)) return;
  variables.push_back({wanted, std::move(value), std::move(comment)});
}

std::string literal(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("${")) out += '$';
    out += text[i];
  }
  return out;
}

std::optional<std::string> plain(std::string_view text) {
  const auto parts = scenario::split_template(text);
  if (!parts) return std::nullopt;
  std::string out;
  for (const scenario::TemplatePart& part : *parts) {
    if (part.is_expression) return std::nullopt;
    out += part.text;
  }
  return out;
}

Field* header_of(Request& request, std::string_view name) {
  const auto found =
      std::ranges::find_if(request.headers, [name](const Field& header) { return iequals(header.name, name); });
  return found == request.headers.end() ? nullptr : &*found;
}

void add_header(Request& request, std::string_view name, std::string value) {
  for (char& c : value) {
    if (c == '\r' || c == '\n' || c == '\0') c = ' ';
  }
  Field* const known = header_of(request, name);
  if (known == nullptr) {
    request.headers.push_back({std::string(name), std::move(value)});
  } else {
    known->value += (iequals(name, "cookie") ? "; " : ", ") + value;
  }
}

bool can_send(Draft& draft, std::string_view name) {
  if (iequals(name, "content-length")) return false;  // it follows from the body
  const bool is_set_here = iequals(name, "transfer-encoding");
  if (scenario::is_http_token(name) && !is_set_here) return true;
  draft.warnings.push_back(fmt::format("the header {} is left out: a request cannot set it", yaml::in_quotes(name)));
  return false;
}

void set_body(Request& request, std::string text) {
  if (text.empty()) return;
  const Field* const type = header_of(request, "content-type");
  const std::string kind = type == nullptr ? std::string() : lower_case(type->value);
  std::string_view implied;
  if (kind.find("json") != std::string::npos) {
    if (auto tree = json_of(text)) {
      request.body.kind = Body::Kind::kJson;
      request.body.json = std::move(*tree);
      implied = "application/json";
    }
  } else if (kind.starts_with("application/x-www-form-urlencoded")) {
    if (auto fields = split_form(text)) {
      request.body.kind = Body::Kind::kForm;
      request.body.form = std::move(*fields);
      implied = "application/x-www-form-urlencoded";
    }
  }
  if (request.body.kind == Body::Kind::kNone) {
    request.body.kind = Body::Kind::kText;
    request.body.text = std::move(text);
  }
  if (!implied.empty() && kind == implied) {
    std::erase_if(request.headers, [](const Field& header) { return iequals(header.name, "content-type"); });
  }
}

void set_parts(Request& request, std::vector<Part> parts) {
  request.body.kind = Body::Kind::kMultipart;
  request.body.parts = std::move(parts);
  std::erase_if(request.headers, [](const Field& header) { return iequals(header.name, "content-type"); });
}

std::optional<Fields> split_form(std::string_view text) {
  Fields out;
  while (!text.empty()) {
    const std::string_view pair = take_until(text, '&');
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    auto name = decoded_component(pair.substr(0, equals));
    auto value = decoded_component(pair.substr(equals + 1));
    if (!name || !value || name->size() > kMaxNameBytes) return std::nullopt;
    // A scenario has the values of a name together.
    const auto is_same = [&](const Field& field) { return field.name == *name; };
    const bool is_apart = !out.empty() && out.back().name != *name && std::ranges::any_of(out, is_same);
    if (is_apart) return std::nullopt;
    out.push_back({std::move(*name), std::move(*value)});
  }
  return out;
}

void clean_url(Request& request) {
  std::string& url = request.url;
  url.resize(std::min(url.find('#'), url.size()));
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos || scheme > url.find_first_of("/?$")) return;
  const std::size_t begin = scheme + 3;
  std::size_t end = std::min(url.find_first_of("/?", begin), url.size());
  const std::size_t at = url.substr(0, end).rfind('@');
  if (at != std::string::npos && at >= begin) {
    std::string_view password = std::string_view(url).substr(begin, at - begin);
    const std::string_view user = take_until(password, ':');
    const auto part = [](std::string_view text) {
      const auto written = percent_decoded(text);
      return written && is_utf8(*written) ? literal(*written) : std::string(text);
    };
    if (!request.auth) request.auth = Auth{"basic", part(user), part(password)};
    url.erase(begin, at + 1 - begin);
    end -= at + 1 - begin;
  }
  if (end == url.size() || url[end] == '?') url.insert(end, "/");
}

std::string variable_name(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool is_lower = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool begins_word = is_upper && i > 0 && ascii_lower(name[i - 1]) == name[i - 1] && !out.ends_with('_');
    if (begins_word) out += '_';
    if (is_lower && c >= 'a') {
      out += static_cast<char>(c - 'a' + 'A');
    } else if (is_lower || is_upper) {
      out += c;
    } else if (!out.empty() && !out.ends_with('_')) {
      out += '_';
    }
  }
  while (out.ends_with('_')) out.pop_back();
  if (out.empty() || is_digit(out.front())) out.insert(0, "V_");
  return out.substr(0, kMaxNameBytes);
}

}  // namespace bellwether::imports
