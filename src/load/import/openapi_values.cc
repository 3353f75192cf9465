#include "load/import/openapi_values.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/encoding.h"

namespace bellwether::imports {
namespace {

constexpr int kMaxSchemaDepth = 12;
// Of the whole document: references can make a small document name any number of values.
constexpr std::size_t kMaxSchemaValues = 50'000;
constexpr int kMaxRefs = 20;
constexpr std::size_t kInventedTextBytes = 1'000;

Node text_node(std::string text) {
  Node out;
  out.kind = Node::Kind::kScalar;
  out.is_quoted = true;
  out.text = std::move(text);
  return out;
}

Node number_node(std::string text) {
  Node out = text_node(std::move(text));
  out.is_quoted = false;
  return out;
}

// A copy of an example: its texts stand for themselves. YAML also has numbers that JSON does not; these become texts.
Node example_of(const Node& from) {
  Node out = from;
  out.key = literal(out.key);
  if (out.is_scalar()) {
    out.is_quoted = out.is_quoted || (out.text != "true" && out.text != "false" && !parse_double(out.text));
    out.text = literal(out.text);
  }
  for (Node& item : out.items) item = example_of(item);
  return out;
}

// "#/components/schemas/a~1b": the steps of a JSON pointer (RFC 6901), as a fragment of a URL.
const Node* follow(const Node& document, std::string_view pointer) {
  const Node* at = &document;
  while (at != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    const std::string_view step = pointer.substr(0, end);
    std::string key;
    for (std::size_t i = 0; i < step.size(); ++i) {
      const bool is_escape = step[i] == '~' && i + 1 < step.size();
      key += is_escape ? (step[++i] == '1' ? '/' : '~') : step[i];
    }
    at = find(at, percent_decoded(key).value_or(key));
    pointer.remove_prefix(end);
  }
  return at;
}

std::string_view type_of(const Node& schema) {
  const Node* const type = find(&schema, "type");
  if (type != nullptr && type->is_list()) {
    for (const Node& one : type->items) {
      if (one.text != "null") return one.text;
    }
  }
  if (type != nullptr && type->is_scalar()) return type->text;
  if (find(&schema, "properties") != nullptr || find(&schema, "allOf") != nullptr) return "object";
  return find(&schema, "items") != nullptr ? "array" : "";
}

}  // namespace

const Node* SchemaValues::resolve(const Node* node) {
  for (int i = 0; node != nullptr && i < kMaxRefs; ++i) {
    const std::string_view ref = text_at(node, "$ref");
    if (ref.empty()) return node;
    node = ref.starts_with("#/") || ref == "#" ? follow(document_, ref.substr(1)) : nullptr;
    if (node == nullptr) {
      draft_.warnings.push_back(fmt::format("{} is left out: the document has no such part", yaml::in_quotes(ref)));
    }
  }
  return nullptr;
}

Node SchemaValues::value_of(const Node& holder, std::string_view name) {
  if (const Node* const example = find(&holder, "example")) return example_of(*example);
  const Node* const examples = find(&holder, "examples");
  if (examples != nullptr && examples->is_map() && !examples->items.empty()) {
    const Node* const value = find(resolve(&examples->items.front()), "value");
    if (value != nullptr) return example_of(*value);
  }
  return make(find(&holder, "schema"), std::string(name), 0);
}

Node SchemaValues::make(const Node* schema, const std::string& name, int depth) {
  schema = resolve(schema);
  const bool is_open = std::find(open_.begin(), open_.end(), schema) != open_.end();
  if (schema == nullptr || !schema->is_map() || is_open || depth > kMaxSchemaDepth) return {};
  if (++made_ == kMaxSchemaValues) draft_.warnings.emplace_back("the schemas are too large: values are missing");
  if (made_ > kMaxSchemaValues) return {};
  for (const char* key : {"example", "default", "const"}) {
    if (const Node* const value = find(schema, key)) return example_of(*value);
  }
  for (const char* key : {"examples", "enum"}) {
    const Node* const values = find(schema, key);
    if (values != nullptr && values->is_list() && !values->items.empty()) return example_of(values->items.front());
  }
  open_.push_back(schema);
  Node out;
  const Node* choice = find(schema, "oneOf");
  if (choice == nullptr) choice = find(schema, "anyOf");
  const std::string_view type = type_of(*schema);
  if (choice != nullptr && !choice->items.empty() && type != "object") {
    out = make(&choice->items.front(), name, depth + 1);
  } else if (type == "object") {
    out = make_object(*schema, name, depth);
  } else if (type == "array") {
    out = make_array(*schema, name, depth);
  } else {
    out = invent(*schema, type, name);
  }
  open_.pop_back();
  return out;
}

Node SchemaValues::make_object(const Node& schema, const std::string& name, int depth) {
  Node out;
  out.kind = Node::Kind::kMap;
  add_properties(schema, name, depth, out);
  return out;
}

// Those of the schema, of all its parts, and of the first of its alternatives. Members that only responses have, and
// those that would contain themselves, are left out.
void SchemaValues::add_properties(const Node& schema, const std::string& name, int depth, Node& out) {
  const auto add_parts = [&](const char* key, bool all) {
    const std::span<const Node> parts = items_at(&schema, key);
    for (const Node& one : parts.first(all ? parts.size() : std::min<std::size_t>(parts.size(), 1))) {
      const Node* const part = resolve(&one);
      if (part == nullptr || depth > kMaxSchemaDepth || ++made_ > kMaxSchemaValues) continue;
      if (std::find(open_.begin(), open_.end(), part) != open_.end()) continue;
      open_.push_back(part);
      add_properties(*part, name, depth + 1, out);
      open_.pop_back();
    }
  };
  add_parts("allOf", true);
  add_parts("oneOf", false);
  add_parts("anyOf", false);
  for (const Node& property : items_at(&schema, "properties")) {
    const Node* const known = resolve(&property);
    if (known == nullptr || text_at(known, "readOnly") == "true") continue;
    Node value = make(known, name.empty() ? property.key : name + "." + property.key, depth + 1);
    if (value.is_null()) continue;
    value.key = literal(property.key);
    const auto same = std::ranges::find_if(out.items, [&](const Node& item) { return item.key == value.key; });
    if (same == out.items.end()) {
      out.items.push_back(std::move(value));
    } else {
      *same = std::move(value);
    }
  }
}

Node SchemaValues::make_array(const Node& schema, const std::string& name, int depth) {
  Node out;
  out.kind = Node::Kind::kList;
  Node element = make(find(&schema, "items"), name, depth + 1);
  if (element.is_null()) return out;
  const uint64_t least = parse_u64(text_at(&schema, "minItems")).value_or(1);
  for (uint64_t i = 0; i < std::clamp<uint64_t>(least, 1, 10); ++i) out.items.push_back(element);
  return out;
}

Node SchemaValues::invent(const Node& schema, std::string_view type, const std::string& name) {
  if (std::find(invented_.begin(), invented_.end(), name) == invented_.end()) invented_.push_back(name);
  if (type == "boolean") return number_node("true");
  if (type == "integer" || type == "number") {
    const std::string_view least = text_at(&schema, "minimum");
    const double most = parse_double(text_at(&schema, "maximum")).value_or(1);
    if (parse_double(least)) return number_node(std::string(least));
    return number_node(most < 1 ? std::string(text_at(&schema, "maximum")) : "1");
  }
  if (type == "null") return {};
  static constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
      {"uuid", "${uuid}"},      {"date", "${date}"},
      {"date-time", "${now}"},  {"email", "${fake.email}"},
      {"uri", "${fake.url}"},   {"hostname", "${fake.domain}"},
      {"ipv4", "${fake.ipv4}"}, {"ipv6", "${fake.ipv6}"},
      {"byte", "dGV4dA=="},     {"password", "${random_string(12)}"}};
  const std::string_view format = text_at(&schema, "format");
  for (const auto& [known, value] : kFormats) {
    if (known == format) return text_node(std::string(value));
  }
  std::string text = "text";
  const uint64_t least = parse_u64(text_at(&schema, "minLength")).value_or(0);
  const uint64_t most = parse_u64(text_at(&schema, "maxLength")).value_or(kInventedTextBytes);
  text.resize(std::max<uint64_t>(std::min<uint64_t>(least, kInventedTextBytes), text.size()), 'x');
  text.resize(std::min<uint64_t>(most, text.size()));
  return text_node(std::move(text));
}

void append_texts(const Node& value, std::vector<std::string>& out) {
  if (value.is_scalar()) out.push_back(value.text);
  if (!value.is_list()) return;
  for (const Node& item : value.items) {
    if (item.is_scalar()) out.push_back(item.text);
  }
}

void append_json(const Node& value, std::string& out) {
  const auto append_quoted = [&out](const std::string& text) {
    out += '"';
    append_json_text(text, out);
    out += '"';
  };
  if (value.is_null()) out += "null";
  if (value.is_scalar() && value.is_quoted) append_quoted(value.text);
  if (value.is_scalar() && !value.is_quoted) out += value.text;
  if (!value.is_map() && !value.is_list()) return;
  out += value.is_map() ? '{' : '[';
  for (const Node& item : value.items) {
    if (&item != &value.items.front()) out += ',';
    if (value.is_map()) {
      append_quoted(item.key);
      out += ':';
    }
    append_json(item, out);
  }
  out += value.is_map() ? '}' : ']';
}

}  // namespace bellwether::imports
