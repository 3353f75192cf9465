#include "load/plan/compile/template.h"

#include <memory>

#include "core/base/bytes.h"
#include "core/base/encoding.h"

namespace bellwether::plan {
namespace {

// Numbers exactly as JSON writes them: -1.5e3 is one, 007 and 0x1F are texts.
bool is_json_number(std::string_view text) {
  const auto digits = [&text] {
    std::size_t n = 0;
    while (n < text.size() && is_digit(text[n])) ++n;
    text.remove_prefix(n);
    return n;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool leading_zero = text.starts_with('0');
  const std::size_t whole = digits();
  if (whole == 0 || (leading_zero && whole > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return text.empty();
}

Escape escape_of(Place place) {
  switch (place) {
    case Place::kText: return Escape::kNone;
    case Place::kJsonString: return Escape::kJson;
    case Place::kJsonValue: return Escape::kJsonValue;
    case Place::kUrl:
    case Place::kQuery: return Escape::kUrl;
    case Place::kHeader: return Escape::kHeader;
    case Place::kFormName: return Escape::kFormName;
  }
  return Escape::kNone;
}

// A list of texts to choose from, escaped for its place.
std::shared_ptr<const GivenList> escaped(const GivenList& choices, Escape escape) {
  auto list = std::make_shared<GivenList>();
  for (const auto& element : choices.elements) list->elements.push_back(plan::escaped(*element, escape));
  return list;
}

std::string escape_form_name(std::string_view text) {
  std::string out;
  append_form_name(text, out);
  return out;
}

// The constant text in a function of values.
std::size_t bytes_in(const Template& source) {
  std::size_t bytes = 0;
  for (const Piece& piece : source.pieces) {
    bytes += piece.literal.size();
    if (piece.derived != nullptr) bytes += bytes_in(piece.derived->key) + bytes_in(piece.derived->value);
  }
  return bytes;
}

// Text that the user wrote, in its place. The value of an `env` name counts as written: it may be a whole URL.
std::string written(std::string_view text, Place place) {
  switch (place) {
    case Place::kJsonString: return escape_json(text);
    case Place::kQuery: return escape_url(text);
    case Place::kFormName: return escape_form_name(text);
    case Place::kText:
    case Place::kJsonValue:
    case Place::kUrl:
    case Place::kHeader: break;
  }
  return std::string(text);
}

// The EXPRESSION of "json(EXPRESSION)", which asks for a value with its type.
std::optional<std::string> typed(std::string_view expression) {
  constexpr std::string_view kBegin = "json(";
  if (!expression.starts_with(kBegin) || !expression.ends_with(')')) return std::nullopt;
  return std::string(expression.substr(kBegin.size(), expression.size() - kBegin.size() - 1));
}

}  // namespace

std::optional<std::string> escaped(const std::string& text, Escape escape) {
  switch (escape) {
    case Escape::kNone:
    case Escape::kLink: return text;  // append_link() escapes it behind its base
    case Escape::kJson: return escape_json(text);
    case Escape::kUrl: return escape_url(text);
    case Escape::kHeader:
      if (text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) return std::nullopt;
      return text;
    case Escape::kJsonValue: return is_json_value(text) ? std::optional(text) : std::nullopt;
    case Escape::kFormName: return escape_form_name(text);
  }
  return std::nullopt;
}

bool is_json_value(std::string_view text) {
  return text == "true" || text == "false" || text == "null" || text.starts_with('{') || text.starts_with('[') ||
         is_json_number(text);
}

void append_form_name(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (c == '"' || c == '\r' || c == '\n') {
      append_percent_encoded({&c, 1}, out);
    } else {
      out += c;
    }
  }
}

std::string escape_json(std::string_view text) {
  std::string out;
  append_json_text(text, out);
  return out;
}

std::string escape_url(std::string_view text) {
  std::string out;
  append_percent_encoded(text, out);
  return out;
}

void append_literal(Template& out, std::string_view text) {
  if (text.empty()) return;
  if (out.pieces.empty() || out.pieces.back().kind != Piece::Kind::kLiteral) out.pieces.emplace_back();
  out.pieces.back().literal += text;
}

void append_piece(Template& out, Piece piece, Place place) {
  if (piece.kind == Piece::Kind::kLiteral) {
    append_literal(out, written(piece.literal, place));
    return;
  }
  piece.escape = escape_of(place);
  out.pieces.push_back(std::move(piece));
}

Template TemplateMaker::make(const scenario::Text& text, Place place) {
  Template out;
  append(out, text, place);
  return out;
}

Template TemplateMaker::make_raw(const scenario::Text& text) {
  Template out;
  count(text.text.size(), text.mark);
  append_literal(out, text.text);
  return out;
}

void TemplateMaker::append(Template& out, const scenario::Text& text, Place place) {
  const auto parts = scenario::split_template(text.text);
  if (!parts) {
    reading_.diagnostics.add(text.mark, {.message = parts.error().message,
                                         .found = scenario::in_quotes(text.text),
                                         .hint = "write $${ for a literal ${",
                                         .is_independent = true});
    return;
  }
  append_parts(out, *parts, text.mark, place);
}

void TemplateMaker::append_parts(Template& out, const std::vector<scenario::TemplatePart>& parts, scenario::Mark mark,
                                 Place place) {
  for (const scenario::TemplatePart& part : parts) {
    if (bytes_ > kMaxPlanBytes || reading_.diagnostics.full()) return;
    Piece piece;
    if (!part.is_expression) {
      piece.literal = part.text;
    } else if (typed(part.text)) {
      reading_.diagnostics.add(mark, {.message = "a value keeps its type only where it is a whole value of a JSON body",
                                      .found = scenario::in_quotes(fmt::format("${{{}}}", part.text)),
                                      .expected = "json: {NAME: \"${json(VALUE)}\"}, with nothing beside it"});
      continue;
    } else if (auto resolved = scope_.resolve(part.text, at_)) {
      piece = std::move(*resolved);
      if (piece.kind == Piece::Kind::kList) {
        piece.list = escaped(*piece.list, escape_of(place));
        std::size_t bytes = 0;
        for (const auto& element : piece.list->elements) bytes += sizeof element + (element ? element->size() : 0);
        count(bytes, mark);
      }
    } else {
      reading_.diagnostics.add(mark, resolved.error());
      continue;
    }
    if (place == Place::kJsonValue && piece.kind == Piece::Kind::kLiteral && !is_json_value(piece.literal)) {
      reading_.diagnostics.add(mark, {.message = scenario::in_quotes(part.text) + " is no JSON value",
                                      .found = scenario::in_quotes(piece.literal),
                                      .expected = "a number, true, false, null, an object or an array"});
      continue;
    }
    count(piece.literal.size(), mark);
    if (piece.derived != nullptr) count(bytes_in(piece.derived->key) + bytes_in(piece.derived->value), mark);
    append_piece(out, std::move(piece), place);
  }
}

void TemplateMaker::count(std::size_t bytes, scenario::Mark mark) {
  bytes_ += bytes;
  if (bytes_ <= kMaxPlanBytes) return;
  reading_.diagnostics.add(mark, {.message = "the texts of the scenario, names replaced and files read, are too long",
                                  .expected = fmt::format("at most {} MiB together", kMaxPlanBytes >> 20)});
}

Template TemplateMaker::make_json(const scenario::Node& node) {
  Template out;
  append_json(out, node);
  return out;
}

void TemplateMaker::append_json(Template& out, const scenario::Node& node) {
  using Kind = scenario::Node::Kind;
  if (node.kind == Kind::kNull) {
    append_literal(out, "null");
  } else if (node.kind == Kind::kScalar) {
    const std::string& text = node.text;
    if (!node.is_quoted && (text == "true" || text == "false" || is_json_number(text))) {
      append_literal(out, text);
      return;
    }
    const auto parts = scenario::split_template(text);
    if (parts && parts->size() == 1 && parts->front().is_expression) {
      if (auto inner = typed(parts->front().text)) {
        return append_parts(out, {{.is_expression = true, .text = std::move(*inner)}}, node.mark, Place::kJsonValue);
      }
    }
    append_literal(out, "\"");
    append(out, {text, node.mark}, Place::kJsonString);
    append_literal(out, "\"");
  } else {
    const bool is_map = node.kind == Kind::kMap;
    append_literal(out, is_map ? "{" : "[");
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (i > 0) append_literal(out, ",");
      if (is_map) {
        append_literal(out, "\"");
        append(out, {node.items[i].key, node.items[i].key_mark}, Place::kJsonString);
        append_literal(out, "\":");
      }
      append_json(out, node.items[i]);
    }
    append_literal(out, is_map ? "}" : "]");
  }
}

}  // namespace bellwether::plan
