#include <algorithm>
#include <array>
#include <charconv>

#include "core/yaml/node.h"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 64
// Some of its assertions do not hold for wrong documents, which the code behind them refuses in order: `[{a]`. With
// NDEBUG they would become promises to the compiler.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>

namespace bellwether::yaml {
namespace {

static_assert(TOML_MAX_NESTED_VALUES == kMaxDepth);
// The parser bounds the nesting of brackets, but not the levels of a key such as a.b.c. With this limit on the dots of
// a whole file, no tree of them exhausts the stack. Settings have far fewer.
constexpr std::ptrdiff_t kMaxDots = 4096;

Mark mark_of(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

template <class Number>
std::string text_of(Number value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

class Converter {
 public:
  explicit Converter(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // nullptr: it is not.
  const char* too_large() const { return too_large_; }

  Node convert(const toml::node& from, int depth = 0) {
    Node out;
    out.mark = mark_of(from.source());
    if (++nodes_ > kMaxNodes) too_large_ = "has more than 100000 values";
    if (depth > kMaxDepth) too_large_ = "is nested more than 64 levels deep";
    if (too_large_ != nullptr) return out;
    if (const toml::table* table = from.as_table()) {
      out.kind = Node::Kind::kMap;
      for (const auto& [key, value] : *table) {
        Node item = convert(value, depth + 1);
        item.key = std::string(key.str());
        item.key_mark = mark_of(key.source());
        out.items.push_back(std::move(item));
      }
      // A table is in the order of its keys.
      std::ranges::stable_sort(out.items, [](const Node& a, const Node& b) {
        return std::pair(a.place().line, a.place().column) < std::pair(b.place().line, b.place().column);
      });
      return out;
    }
    if (const toml::array* array = from.as_array()) {
      out.kind = Node::Kind::kList;
      for (const toml::node& value : *array) out.items.push_back(convert(value, depth + 1));
      return out;
    }
    out.kind = Node::Kind::kScalar;
    if (const auto* text = from.as_string()) {
      out.text = text->get();
      out.is_quoted = true;
    } else if (const auto* whole = from.as_integer()) {
      out.text = text_of(whole->get());
    } else if (const auto* real = from.as_floating_point()) {
      out.text = text_of(real->get());
    } else if (const auto* flag = from.as_boolean()) {
      out.text = flag->get() ? "true" : "false";
    } else {
      diagnostics_.add(out.mark,
                       {.message = "a date or a time of TOML is not supported", .hint = "put it into quotes"});
    }
    return out;
  }

 private:
  Diagnostics& diagnostics_;
  std::size_t nodes_ = 0;
  const char* too_large_ = nullptr;
};
static_assert(kMaxNodes == 100'000 && kMaxDepth == 64, "as the messages say");

}  // namespace

std::optional<Node> parse_toml(std::string_view text, Diagnostics& diagnostics) {
  if (text.size() > kMaxFileBytes) {
    diagnostics.add({}, {.message = "the file is too large",
                         .found = fmt::format("{} bytes", text.size()),
                         .expected = fmt::format("at most {}", kMaxFileBytes)});
    return std::nullopt;
  }
  if (std::count(text.begin(), text.end(), '.') > kMaxDots) {
    diagnostics.add({}, {.message = "the file has more than 4096 dots: keys of so many levels are not read"});
    return std::nullopt;
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    diagnostics.add(mark_of(parsed.error().source()),
                    {.message = "this is not TOML: " + std::string(parsed.error().description()),
                     .hint = "put each text into quotes, and close each '[' and '{'"});
    return std::nullopt;
  }
  Converter converter(diagnostics);
  Node root = converter.convert(parsed.table());
  if (converter.too_large() != nullptr) {
    diagnostics.add({}, {.message = std::string("the document ") + converter.too_large()});
    return std::nullopt;
  }
  return root;
}

}  // namespace bellwether::yaml
