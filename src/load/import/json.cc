#include "load/import/json.h"

#include <algorithm>
#include <simdjson.h>

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

}  // namespace

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

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
                    {.message = std::string("this is not JSON: ") + simdjson::error_message(error),
                     .hint = "look at the commas, quotes and brackets just before this place"});
  }
  return std::nullopt;
}

const Node* find(const Node* node, std::string_view key) {
  if (node == nullptr || !node->is_map()) return nullptr;
  const auto found =
      std::find_if(node->items.begin(), node->items.end(), [key](const Node& item) { return item.key == key; });
  return found == node->items.end() ? nullptr : &*found;
}

std::string_view text_at(const Node* node, std::string_view key) {
  const Node* member = find(node, key);
  return member != nullptr && member->is_scalar() ? std::string_view(member->text) : std::string_view();
}

}  // namespace bellwether::imports
