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

// Hints for the most common syntax errors.
std::string hint_for(std::string_view text, Mark mark, std::string_view message) {
  for (int line = 1; line < mark.line && !text.empty(); ++line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  const std::string_view indentation = text.substr(0, text.find_first_not_of(" \t"));
  if (indentation.find('\t') != std::string_view::npos) return "indent with spaces, not with tabs";
  if (message.find("flow") != std::string_view::npos || message.find("map value") != std::string_view::npos) {
    return "inside [ ] and { }, put a text that contains any of [ ] { } , : # into quotes";
  }
  return {};
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
    diagnostics.add(mark, {.message = "this is not YAML: " + error.msg, .hint = hint_for(text, mark, error.msg)});
  }
  return std::nullopt;
}

}  // namespace bellwether::yaml
