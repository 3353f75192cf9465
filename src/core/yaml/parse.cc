#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "core/yaml/node.h"

namespace bellwether::yaml {
namespace {

// Thrown through yaml-cpp, which has no other way to be stopped early; caught in parse_yaml.
struct Refused {
  Mark mark;
  Diagnostics::Problem problem;
};

int height(const Node& node) {
  int tallest = 0;
  for (const Node& item : node.items) tallest = std::max(tallest, height(item));
  return tallest + 1;
}

// Builds the tree from the parser's events, within the limits.
class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, Diagnostics& diagnostics, uint16_t file)
      : text_(text), diagnostics_(diagnostics), file_(file) {
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1)) {
      lines_.push_back(end + 1);
    }
  }

  Node take_root() { return std::move(root_); }
  Mark mark_of(const YAML::Mark& mark) const { return {mark.line + 1, mark.column + 1, file_}; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.mark = mark_of(mark);
    close(std::move(node), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.kind = Node::Kind::kScalar;
    node.mark = mark_of(mark);
    node.is_quoted = tag != "?";
    node.text = value;
    if (tag != "?" && tag != "!") refuse_tag(mark, tag);
    if (node.is_quoted && is_unclosed(mark)) {
      throw Refused{node.mark, {.message = "this is not YAML: a text in quotes is not closed"}};
    }
    close(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { end(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      throw Refused{mark_of(mark), {.message = "an alias refers to the value that contains it"}};
    }
    Node copy = found->second;
    check_depth(mark_of(mark), height(copy) - 1);
    count(copy);
    place(std::move(copy));
  }

 private:
  // An open list or map.
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;  // of a map: the key was read, its value comes next
    std::string key;
    Mark key_mark;
    std::set<std::string> keys;
  };

  // Whether a quote stands there that no other closes, which the parser takes for closed at the end of the file.
  bool is_unclosed(const YAML::Mark& mark) const {
    std::size_t at = lines_[static_cast<std::size_t>(mark.line)] + static_cast<std::size_t>(mark.column);
    const char quote = at < text_.size() ? text_[at] : '\0';
    if (quote != '"' && quote != '\'') return false;
    for (++at; at < text_.size(); ++at) {
      const bool escapes = quote == '"' ? text_[at] == '\\' : text_.substr(at).starts_with("''");
      if (!escapes && text_[at] == quote) return false;
      if (escapes) ++at;
    }
    return true;
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    throw Refused{mark_of(mark), {.message = "YAML tags are not supported", .found = in_quotes(tag)}};
  }

  void check_depth(Mark mark, int below) {
    if (static_cast<int>(open_.size()) + below >= kMaxDepth) {
      throw Refused{mark, {.message = fmt::format("nested more than {} levels deep", kMaxDepth)}};
    }
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (tag != "?" && !tag.empty()) refuse_tag(mark, tag);
    check_depth(mark_of(mark), 0);
    Open frame;
    frame.node.kind = kind;
    frame.node.mark = mark_of(mark);
    frame.anchor = anchor;
    open_.push_back(std::move(frame));
  }

  void end() {
    Open frame = std::move(open_.back());
    open_.pop_back();
    close(std::move(frame.node), frame.anchor);
  }

  // A node is complete: from here on it can be the target of an alias.
  void close(Node node, YAML::anchor_t anchor) {
    count_one(node);
    if (anchor != 0) {
      count(node);
      anchored_[anchor] = node;
    }
    place(std::move(node));
  }

  void count(const Node& node) {
    count_one(node);
    for (const Node& item : node.items) count(item);
  }

  void count_one(const Node& node) {
    ++nodes_;
    text_bytes_ += node.text.size() + node.key.size();
    if (nodes_ > kMaxNodes || text_bytes_ > kMaxTextBytes) {
      throw Refused{node.mark,
                    {.message = "the document is too large",
                     .expected = fmt::format("at most {} values and {} MiB of text, copies by aliases included",
                                             kMaxNodes, kMaxTextBytes >> 20)}};
    }
  }

  void place(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is_list()) {
      node.key.clear();
      node.key_mark = {};
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      take_key(parent, node);
    } else {
      node.key = std::move(parent.key);
      node.key_mark = parent.key_mark;
      parent.has_key = false;
      parent.node.items.push_back(std::move(node));
    }
  }

  void take_key(Open& map, Node& key) {
    if (!key.is_scalar()) {
      throw Refused{key.mark, {.message = "a key must be a text", .found = describe(key)}};
    }
    if (!map.keys.insert(key.text).second) {
      diagnostics_.add(key.mark, {.message = fmt::format("the key {} is given twice", in_quotes(key.text))});
    }
    map.has_key = true;
    map.key = std::move(key.text);
    map.key_mark = key.mark;
  }

  std::string_view text_;
  std::vector<std::size_t> lines_{0};  // where each begins
  Diagnostics& diagnostics_;
  uint16_t file_;
  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchored_;
  std::size_t nodes_ = 0;
  std::size_t text_bytes_ = 0;
};

// A syntax error: the beginning of the parser's words, our words, and the remedy.
struct SyntaxError {
  std::string_view parser;
  std::string_view message;
  std::string_view hint;
};

constexpr std::string_view kFlowHint = "inside [ ] and { }, put a text that contains any of [ ] { } , : # into quotes";
constexpr std::string_view kIndentHint = "indent all keys of a map equally, and all items of a list";
constexpr std::string_view kTabHint = "indent with spaces, not with tabs";

constexpr std::array kSyntaxErrors{
    SyntaxError{"end of sequence flow not found", "a list has '[' without ']'", kFlowHint},
    SyntaxError{"end of map flow not found", "a map has '{' without '}'", kFlowHint},
    SyntaxError{"illegal flow end", "']' or '}' has no '[' or '{' before it", kFlowHint},
    SyntaxError{"end of sequence not found", "this line is not indented like the items of the list", kIndentHint},
    SyntaxError{"end of map not found", "this line is not indented like the keys of the map", kIndentHint},
    SyntaxError{"illegal map value", "a key and ':' cannot stand here",
                "put a text that contains ': ' into quotes; indent all keys of a map equally"},
    SyntaxError{"illegal map key", "a key cannot stand here", kIndentHint},
    SyntaxError{"illegal block entry", "an item of a list ('-') cannot stand here",
                "begin a line with each item, and indent all items of a list equally"},
    SyntaxError{"illegal tab when looking for indentation", "a tab indents this line", kTabHint},
    SyntaxError{"unknown token", "no value begins with this character",
                "put a text that begins with @, ` or % into quotes"},
    SyntaxError{"the referenced anchor is not defined", "an alias (*NAME) has no anchor (&NAME) above it",
                "define the anchor first; put a text that begins with * into quotes"},
    SyntaxError{"unknown escape character: ", "unknown escape sequence after a backslash",
                "in double quotes, write \\\\ for a backslash, or use single quotes"},
    SyntaxError{"invalid unicode: ", "an escape in double quotes is no character",
                "write the character itself, or one \\U0001F600 in place of a pair such as \\ud83d\\ude00"}};

// An error of the parser. Without a row in the table it keeps the parser's words.
Diagnostics::Problem syntax_problem(std::string_view text, Mark mark, std::string_view words) {
  for (int line = 1; line < mark.line && !text.empty(); ++line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  const bool has_tab = text.substr(0, text.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
  std::string_view hint = has_tab ? kTabHint : std::string_view();
  for (const SyntaxError& each : kSyntaxErrors) {
    if (!words.starts_with(each.parser)) continue;
    words = each.message;
    if (!has_tab) hint = each.hint;
    break;
  }
  return {.message = fmt::format("this is not YAML: {}", words), .hint = std::string(hint)};
}

}  // namespace

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kScalar: return in_quotes(node.text);
    case Node::Kind::kList: return "a list";
    case Node::Kind::kMap: return "a map";
  }
  return {};
}

std::optional<Node> parse_yaml(std::string_view text, Diagnostics& diagnostics, std::string hint_when_too_large,
                               uint16_t file) {
  if (text.size() > kMaxFileBytes) {
    diagnostics.add({0, 0, file}, {.message = fmt::format("the file is larger than {} MiB", kMaxFileBytes >> 20),
                                   .hint = std::move(hint_when_too_large)});
    return std::nullopt;
  }
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    const std::size_t before = zero == 0 ? std::string_view::npos : text.rfind('\n', zero - 1);
    const std::size_t column = before == std::string_view::npos ? zero + 1 : zero - before;
    diagnostics.add({static_cast<int>(line) + 1, static_cast<int>(column), file},
                    {.message = "this is no text: it has a byte that is zero", .expected = "text in UTF-8"});
    return std::nullopt;
  }
  Builder builder(text, diagnostics, file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return Node{};
    Node root = builder.take_root();
    Builder rest(text, diagnostics, file);
    if (parser.HandleNextDocument(rest)) {
      diagnostics.add(rest.take_root().mark,
                      {.message = "a second document begins here", .expected = "one document in a file"});
    }
    return root;
  } catch (const Refused& refused) {
    diagnostics.add(refused.mark, refused.problem);
  } catch (const YAML::Exception& error) {
    const Mark mark = error.mark.is_null() ? Mark{1, 1, file} : builder.mark_of(error.mark);
    diagnostics.add(mark, syntax_problem(text, mark, error.msg));
  }
  return std::nullopt;
}

}  // namespace bellwether::yaml
