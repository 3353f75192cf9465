// Tests as text: each testdata/*.txt holds events, step by step, to be read and to be compared. After a deliberate
// change BW_UPDATE_GOLDEN=1 writes them; read them before the commit.
//
// A file of stories holds the acts, and behind each its results:
//
//   == an assignment runs until its stop
//   run 1
//   stop 1 at_once  -> noted; stop 1 how=at_once
//   wait 5s         -> at 5s: kill 1
//
// Each "==" begins anew, with the acts before the first of them. Lines that begin with "#" are for the reader. "16x
// offer 1" repeats it, and prints the last result.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace bellwether::transcript {

using Lines = std::vector<std::string>;

inline Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The first lines that differ, with those before them; of each of the first paragraphs that do.
inline std::string difference(const std::string& expected, const std::string& found) {
  constexpr std::ptrdiff_t kBefore = 3;
  constexpr std::ptrdiff_t kShown = 12;
  constexpr int kMaxShown = 8;
  const Lines old_lines = lines_of(expected);
  const Lines new_lines = lines_of(found);
  std::string out;
  auto old_at = old_lines.begin();
  auto new_at = new_lines.begin();
  for (int shown = 0; shown < kMaxShown && (old_at != old_lines.end() || new_at != new_lines.end()); ++shown) {
    const auto differ = std::mismatch(old_at, old_lines.end(), new_at, new_lines.end());
    if (differ.first == old_lines.end() && differ.second == new_lines.end()) break;
    const auto before = std::min(kBefore, differ.first - old_at);
    out += "line " + std::to_string(differ.first - old_lines.begin() + 1) + ":\n";
    for (auto line = differ.first - before; line != differ.first; ++line) out += "   " + *line + "\n";
    old_at = std::find(differ.first, old_lines.end(), "");
    new_at = std::find(differ.second, new_lines.end(), "");
    for (auto line = differ.first; line != old_at && line - differ.first < kShown; ++line) out += " - " + *line + "\n";
    for (auto line = differ.second; line != new_at && line - differ.second < kShown; ++line)
      out += " + " + *line + "\n";
  }
  return out;
}

inline std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void expect_transcript(const std::string& path, const std::string& text) {
  if (std::getenv("BW_UPDATE_GOLDEN") != nullptr) {  // NOLINT(concurrency-mt-unsafe): no thread sets it
    std::ofstream(path) << text;
    return;
  }
  const std::string expected = contents(path);
  EXPECT_TRUE(expected == text) << "it goes otherwise than " << path << " tells, from " << difference(expected, text)
                                << "If that is meant: BW_UPDATE_GOLDEN=1, and read what has changed";
}

// What is done, and what comes of it: in one line when it fits.
inline std::string step_text(const std::string& done, const Lines& effects) {
  constexpr std::size_t kColumns = 120;
  std::string line;
  for (const std::string& effect : effects) line += (line.empty() ? done + "  -> " : "; ") + effect;
  if (effects.empty()) return done + "\n";
  if (line.size() <= kColumns) return line + "\n";
  line = done + "\n";
  for (const std::string& effect : effects) line += "    -> " + effect + "\n";
  return line;
}

// The stories of a text as they go now: World() begins one, and its say(what is done) returns what comes of it.
template <class World>
std::string retold(const std::string& text) {
  std::unique_ptr<World> world;
  Lines beginning;
  std::string out;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(' ')) continue;
    const bool begins = line.starts_with("==");
    if (begins) {
      world = std::make_unique<World>();
      for (const std::string& done : beginning) world->say(done);
    }
    if (begins || line.empty() || line.starts_with('#') || world == nullptr) {
      if (!begins && !line.empty() && !line.starts_with('#')) beginning.push_back(line);
      out += line + "\n";
      continue;
    }
    const std::string done = line.substr(0, line.find("  -> "));
    const std::size_t times_end = std::min(done.find_first_not_of("0123456789"), done.size());
    const bool repeated = times_end > 0 && done.substr(times_end, 2) == "x ";
    for (int more = repeated ? std::stoi(done) - 1 : 0; more > 0; --more) world->say(done.substr(times_end + 2));
    out += step_text(done, world->say(repeated ? done.substr(times_end + 2) : done));
  }
  EXPECT_NE(world, nullptr) << "there is no story";
  return out;
}

template <class World>
void expect_stories(const std::string& path) {
  SCOPED_TRACE(path);
  expect_transcript(path, retold<World>(contents(path)));
}

// The words of a line; blanks between quotation marks do not part them.
inline Lines words_of(std::string_view line) {
  Lines out;
  bool quoted = false;
  bool inside = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    const bool part = c != ' ' || quoted;
    if (part && !inside) out.emplace_back();
    if (part && c != '"') out.back() += c;
    inside = part;
  }
  return out;
}

}  // namespace bellwether::transcript
