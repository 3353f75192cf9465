#include "load/import/shell.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "load/import/request.h"
#include "load/scenario/section.h"

namespace bellwether::imports {
namespace {

void append_utf8(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr std::array<uint32_t, 4> kLeads{0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kLeads[static_cast<std::size_t>(more)] | (code >> (6U * static_cast<unsigned>(more))));
  for (int i = more - 1; i >= 0; --i) {
    out += static_cast<char>(0x80U | ((code >> (6U * static_cast<unsigned>(i))) & 0x3fU));
  }
}

class ShellReader {
 public:
  ShellReader(std::string_view text, yaml::Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  Commands read() {
    while (at_ < text_.size() && !failed_) {
      const char c = text_[at_];
      if (c == '\n' || c == ';' || c == '&' || c == '|') {
        end_word();
        end_line();
        next();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        end_word();
        next();
      } else if (c == '#' && !in_word_) {
        while (at_ < text_.size() && text_[at_] != '\n') next();
      } else if (c == '>' || c == '<') {
        // "2>file": the number belongs to the redirection.
        if (in_word_ && literal_.size() == 1 && word_.text.empty()) in_word_ = false;
        end_word();
        while (at_ < text_.size() && (text_[at_] == c || text_[at_] == '&')) next();
        leaves_out_ = true;
      } else {
        begin_word();
        part();
      }
    }
    if (!failed_) end_word();
    end_line();
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  char next() {
    const char c = text_[at_++];
    ++column_;
    if (c == '\n') {
      ++line_;
      column_ = 1;
    }
    return c;
  }

  void refuse(yaml::Mark mark, std::string message, std::string hint) {
    if (!failed_) diagnostics_.add(mark, {.message = std::move(message), .hint = std::move(hint)});
    failed_ = true;
  }

  void begin_word() {
    if (in_word_) return;
    in_word_ = true;
    word_ = {{}, {line_, column_}};
    literal_.clear();
  }

  void end_literal() {
    word_.text += literal(literal_);
    literal_.clear();
  }

  void end_word() {
    if (in_word_) {
      end_literal();
      if (!leaves_out_) words_.push_back(std::move(word_));
      leaves_out_ = false;
    }
    in_word_ = false;
    literal_.clear();
    word_ = {};
  }

  void end_line() {
    leaves_out_ = false;
    if (!words_.empty()) out_.lines.push_back(std::move(words_));
    words_.clear();
  }

  void part() {
    const yaml::Mark mark{line_, column_};
    const char c = next();
    if (c == '\'') {
      while (at_ < text_.size() && peek() != '\'') literal_ += next();
      close(mark);
    } else if (c == '"') {
      while (at_ < text_.size() && peek() != '"' && !failed_) in_double_quotes();
      close(mark);
    } else if (c == '$' && peek() == '\'') {
      next();
      while (at_ < text_.size() && peek() != '\'') {
        const char in = next();
        if (in == '\\' && at_ < text_.size()) {
          ansi_escape();
        } else {
          literal_ += in;
        }
      }
      close(mark);
    } else if (c == '$' && peek() == '"') {
      return;  // a text to translate: its quotes follow
    } else if (c == '\\') {
      escaped_end();
    } else {
      unquoted(c, mark);
    }
  }

  void close(yaml::Mark mark) {
    if (at_ < text_.size()) {
      next();
      return;
    }
    refuse(mark, "a quote is not closed",
           text_.find("^\"") == std::string_view::npos ? "" : "copy the command for bash, not for cmd");
  }

  // Behind a backslash outside of quotes. A line end is left out: the line goes on.
  void escaped_end() {
    if (peek() == '\r' && peek(1) == '\n') next();
    if (at_ == text_.size()) return;
    const char c = next();
    if (c != '\n') literal_ += c;
    // A backslash at the end of a line, between words, begins none.
    if (c == '\n' && literal_.empty() && word_.text.empty()) in_word_ = false;
  }

  void in_double_quotes() {
    const yaml::Mark mark{line_, column_};
    const char c = next();
    if (c != '\\') return unquoted(c, mark);
    const char escaped = peek();
    if (escaped == '\n') {
      next();
    } else if (escaped == '"' || escaped == '\\' || escaped == '$' || escaped == '`') {
      literal_ += next();
    } else {
      literal_ += c;
    }
  }

  // A character that no single quote protects.
  void unquoted(char c, yaml::Mark mark) {
    const bool is_command = c == '`' || (c == '$' && peek() == '(');
    if (is_command) return refuse(mark, "the output of a command cannot be imported", "write its value, or a $NAME");
    if (c == '$' && variable(mark)) return;
    literal_ += c;
  }

  // $NAME and ${NAME}. Otherwise the dollar stands for itself.
  bool variable(yaml::Mark mark) {
    const bool has_braces = peek() == '{';
    std::size_t end = at_ + (has_braces ? 1 : 0);
    const std::size_t begin = end;
    while (end < text_.size() && scenario::is_value_name(text_.substr(begin, end + 1 - begin))) ++end;
    const std::string name(text_.substr(begin, end - begin));
    if (name.empty() && !has_braces) return false;
    if (name.empty() || (has_braces && (end == text_.size() || text_[end] != '}'))) {
      refuse(mark, "this expansion of the shell cannot be imported",
             "write $NAME or ${NAME}, or put it in single quotes");
      return true;
    }
    while (at_ < end + (has_braces ? 1 : 0)) next();
    end_literal();
    word_.text += fmt::format("${{{}}}", name);
    if (std::find(out_.variables.begin(), out_.variables.end(), name) == out_.variables.end()) {
      out_.variables.push_back(name);
    }
    return true;
  }

  // At most `most` digits of this base.
  uint32_t number(int base, int most) {
    uint32_t value = 0;
    for (int i = 0; i < most && hex_digit(peek()) >= 0 && hex_digit(peek()) < base; ++i) {
      value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(hex_digit(next()));
    }
    return value;
  }

  // Behind a backslash in $'…'.
  void ansi_escape() {
    static constexpr std::string_view kLetters = "abefnrtvE";
    static constexpr std::string_view kMeanings = "\a\b\x1b\f\n\r\t\v\x1b";
    const char c = peek();
    if (c >= '0' && c <= '7') {
      literal_ += static_cast<char>(number(8, 3));
      return;
    }
    next();
    const std::size_t known = kLetters.find(c);
    if (known != std::string_view::npos) {
      literal_ += kMeanings[known];
    } else if (c == 'x' && hex_digit(peek()) >= 0) {
      literal_ += static_cast<char>(number(16, 2));
    } else if ((c == 'u' || c == 'U') && hex_digit(peek()) >= 0) {
      append_utf8(std::min(number(16, c == 'u' ? 4 : 8), 0x10ffffU), literal_);
    } else {
      if (c != '\\' && c != '\'' && c != '"' && c != '?') literal_ += '\\';
      literal_ += c;
    }
  }

  std::string_view text_;
  yaml::Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  bool failed_ = false;
  bool in_word_ = false;
  bool leaves_out_ = false;  // the next word: it is the file of a redirection
  Word word_;
  std::string literal_;  // the end of word_ so far, not yet a template
  std::vector<Word> words_;
  Commands out_;
};

}  // namespace

Commands split_commands(std::string_view text, yaml::Diagnostics& diagnostics) {
  return ShellReader(text, diagnostics).read();
}

}  // namespace bellwether::imports
