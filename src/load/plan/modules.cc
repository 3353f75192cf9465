#include "load/plan/modules.h"

#include <algorithm>
#include <optional>

#include "core/base/bytes.h"
#include "load/scenario/sources.h"

namespace bellwether::plan {
namespace {

constexpr uint64_t kMaxModuleBytes = 4u << 20;

bool is_word(char c) { return is_letter_or_digit(c) || c == '_'; }

// Goes over the text of a script and separates code from texts and comments.
class Scanner {
 public:
  Scanner(std::string_view text, std::string_view function) : text_(text), function_(function) {}

  std::vector<ConstantArgument> arguments() {
    std::vector<ConstantArgument> out;
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with("--")) {
        at_ += 2;
        if (!skip_long()) at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_[at_] == '"' || text_[at_] == '\'') {
        quoted();
      } else if (text_[at_] == '[') {
        if (!skip_long()) ++at_;
      } else if (!is_word(text_[at_])) {
        ++at_;
      } else if (auto text = text_after_word()) {
        if (std::ranges::find(out, *text, &ConstantArgument::text) != out.end()) continue;
        const std::string_view before = text_.substr(0, at_);
        out.push_back({std::move(*text), static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1});
      }
    }
    return out;
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  // A text in quotes, which begins here.
  std::string quoted() {
    const char quote = text_[at_++];
    std::string out;
    for (; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_];
    }
    if (at_ < text_.size()) ++at_;
    return out;
  }

  // [[ … ]] or [==[ … ]==], if one begins here.
  bool skip_long() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] == '=') ++end;
    if (at_ >= text_.size() || text_[at_] != '[' || end >= text_.size() || text_[end] != '[') return false;
    const std::string close = fmt::format("]{}]", std::string(end - at_ - 1, '='));
    const std::size_t found = text_.find(close, end);
    at_ = found == std::string_view::npos ? text_.size() : found + close.size();
    return true;
  }

  // Words with dots between them count as one.
  std::optional<std::string> text_after_word() {
    const char before = at_ == 0 ? ' ' : text_[at_ - 1];
    const std::size_t from = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) ++at_;
    if (text_.substr(from, at_ - from) != function_ || before == '.' || before == ':') return std::nullopt;
    skip_space();
    if (at_ < text_.size() && text_[at_] == '(') {
      ++at_;
      skip_space();
    }
    if (at_ >= text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) return std::nullopt;
    return quoted();
  }

  std::string_view text_;
  std::string_view function_;
  std::size_t at_ = 0;
};

// Words with dots between them.
bool is_module_name(std::string_view name) {
  if (name.empty() || name.size() > 200) return false;
  char before = '.';
  for (const char c : name) {
    if (c == '.' ? before == '.' : !is_word(c) && c != '-') return false;
    before = c;
  }
  return before != '.';
}

}  // namespace

std::vector<ConstantArgument> constant_arguments(std::string_view script, std::string_view function) {
  return Scanner(script, function).arguments();
}

std::vector<std::string> required_names(std::string_view script) {
  std::vector<std::string> out;
  for (ConstantArgument& one : constant_arguments(script, "require")) out.push_back(std::move(one.text));
  return out;
}

Result<std::vector<Module>> read_modules(std::string_view script, const std::string& folder,
                                         const scenario::Outside& outside) {
  std::vector<Module> out;
  std::vector<std::string> wanted = required_names(script);
  for (std::size_t next = 0; next < wanted.size(); ++next) {
    const std::string name = wanted[next];
    if (!is_module_name(name)) {
      return fail(Errc::kInvalid, "'{}' cannot be the name of a module: words with dots between them", name);
    }
    if (out.size() == kMaxModules) {
      return fail(Errc::kInvalid, "more than {} modules are required", kMaxModules);
    }
    std::string path = name;
    std::replace(path.begin(), path.end(), '.', '/');
    path += ".lua";
    auto text = outside.read_file(folder + path, kMaxModuleBytes);
    if (!text) return fail(text.error().code, "the module '{}': {}", name, text.error().message);
    for (std::string& inner : required_names(*text)) {
      if (std::find(wanted.begin(), wanted.end(), inner) == wanted.end()) wanted.push_back(std::move(inner));
    }
    out.push_back({name, std::move(path), std::make_shared<const std::string>(std::move(*text))});
  }
  return out;
}

}  // namespace bellwether::plan
