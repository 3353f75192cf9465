#include "core/yaml/diagnostic.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/units.h"

namespace bellwether::yaml {

std::string format(const Diagnostic& diagnostic) {
  std::string out = diagnostic.file;
  if (diagnostic.line > 0) {
    out += fmt::format(":{}", diagnostic.line);
    if (diagnostic.column > 0) out += fmt::format(":{}", diagnostic.column);
  }
  out += ": " + diagnostic.message;
  if (!diagnostic.found.empty() && diagnostic.message.find(diagnostic.found) == std::string::npos) {
    out += "\n  found: " + diagnostic.found;
  }
  if (!diagnostic.expected.empty()) out += "\n  expected: " + diagnostic.expected;
  if (!diagnostic.hint.empty()) out += "\n  " + diagnostic.hint;
  constexpr std::size_t kShown = 5;
  const std::size_t count = diagnostic.also.size();
  for (std::size_t i = 0; i < std::min(count, kShown); ++i)
    out += (i == 0 ? "\n  also at " : ", ") + diagnostic.also[i];
  if (count > kShown) out += fmt::format(", and {} more", format_count(count - kShown, "place"));
  return out;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += '?';
    } else {
      out += c;
    }
  }
  return out + (text.size() > kShown ? "…'" : "'");
}

std::string join(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out;
}

std::string one_of(std::span<const std::string_view> words) {
  constexpr std::size_t kShown = 30;
  const std::string shown = join(words.first(std::min(words.size(), kShown)));
  return (words.size() > 1 ? "one of " : "") + shown + (words.size() > kShown ? ", …" : "");
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestName = 64;  // the edit distance of longer texts costs more than it helps
  if (word.size() > kLongestName) return {};
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string() : fmt::format("did you mean '{}'?", near);
}

void Diagnostics::add(Mark mark, Problem problem) {
  const bool was_full = full();
  ++reported_;
  if (was_full || (independent_only_ && !problem.is_independent)) return;
  if (const auto same = std::find(subjects_.begin(), subjects_.end(), problem.subject);
      same != subjects_.end() && !problem.subject.empty()) {
    places_[static_cast<std::size_t>(same - subjects_.begin())].push_back(mark);
    return;
  }
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const Mark& other = places_[i].front();
    const bool is_there = std::tie(other.file, other.line, other.column) == std::tie(mark.file, mark.line, mark.column);
    // Of a text that several parts have.
    if (is_there && list_[i].message == problem.message && list_[i].found == problem.found) return;
  }
  problem.complete(problem);
  places_.push_back({mark});
  subjects_.push_back(std::move(problem.subject));
  list_.push_back({.file = {},
                   .line = 0,
                   .column = 0,
                   .found = std::move(problem.found),
                   .expected = std::move(problem.expected),
                   .message = std::move(problem.message),
                   .hint = std::move(problem.hint)});
}

uint16_t Diagnostics::add_file(std::string name) {
  check(files_.size() < UINT16_MAX, "the limits on what is read keep the files countable");
  files_.push_back(std::move(name));
  return static_cast<uint16_t>(files_.size() - 1);
}

std::string Diagnostics::place_of(Mark mark) const {
  return fmt::format("{}:{}:{}", files_[mark.file], mark.line, mark.column);
}

std::vector<Diagnostic> Diagnostics::take() {
  const auto key = [](const Mark& mark) { return std::tuple(mark.file, mark.line, mark.column); };
  for (std::size_t i = 0; i < list_.size(); ++i) {
    std::vector<Mark>& places = places_[i];
    std::ranges::stable_sort(places, [&](const Mark& a, const Mark& b) { return key(a) < key(b); });
    list_[i].file = files_[places.front().file];
    list_[i].line = places.front().line;
    list_[i].column = places.front().column;
    for (std::size_t p = 1; p < places.size(); ++p) {
      if (key(places[p]) != key(places[p - 1])) list_[i].also.push_back(place_of(places[p]));
    }
  }
  std::vector<std::size_t> order(list_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto first = [&](std::size_t i) { return key(places_[i].front()); };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return first(a) < first(b); });
  std::vector<Diagnostic> out;
  for (const std::size_t i : order) out.push_back(std::move(list_[i]));
  list_.clear();
  subjects_.clear();
  places_.clear();
  reported_ = 0;
  return out;
}

}  // namespace bellwether::yaml
