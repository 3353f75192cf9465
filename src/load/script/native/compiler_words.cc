#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "core/base/bytes.h"
#include "load/script/native/build.h"

namespace bellwether::script::native {
namespace {

// "FILE:12:7: error: text"
struct Line {
  std::string_view file;
  uint32_t line = 0;
  uint32_t column = 0;
  bool error = false;
  std::string_view text;
};

// "FILE:12:7", or its known part.
void put_place(std::string_view place, Line& out) {
  for (uint32_t* number : {&out.column, &out.line}) {
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) break;
    const auto value = parse_u64(place.substr(colon + 1));
    if (!value || *value > 100'000'000) break;
    *number = static_cast<uint32_t>(*value);
    place = place.substr(0, colon);
  }
  out.file = place;
}

std::optional<Line> parse(std::string_view said) {
  Line out;
  std::size_t mark = std::string_view::npos;
  for (const std::string_view kind : {": fatal error: ", ": error: ", ": note: ", ": warning: "}) {
    const std::size_t at = said.find(kind);
    if (at >= mark) continue;
    mark = at;
    out.error = kind.find("error") != std::string_view::npos;
    out.text = said.substr(at + kind.size());
  }
  if (mark == std::string_view::npos) return std::nullopt;
  put_place(said.substr(0, mark), out);
  return out;
}

std::string_view line_of(std::string_view source, uint32_t number) {
  for (; number > 1 && !source.empty(); --number) {
    const std::size_t end = source.find('\n');
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
  }
  return source.substr(0, source.find('\n'));
}

constexpr std::size_t kMaxText = 300;
constexpr std::size_t kMaxSaid = 2000;

struct Problem {
  Line error;
  std::optional<Line> place;  // in the user's file
  std::string_view raw;
};

}  // namespace

std::string first_errors(std::string_view said, std::string_view file, std::string_view source, std::size_t most) {
  std::vector<Problem> problems;
  std::optional<Line> context;  // gcc first names the line of the user's file through which it came
  for (std::string_view rest = said; !rest.empty();) {
    const std::string_view raw = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), raw.size() + 1));
    const auto line = parse(raw);
    if (!line) {
      const std::size_t required = raw.find(":   required from");
      if (required != std::string_view::npos && raw.starts_with(file)) {
        context.emplace();
        put_place(raw.substr(0, required), *context);
      }
      continue;
    }
    if (line->error) {
      problems.push_back({*line, line->file == file ? line : context, raw});
      context.reset();
    } else if (!problems.empty() && !problems.back().place && line->file == file) {
      problems.back().place = *line;
    }
  }
  std::string out;
  std::size_t shown = 0;
  std::set<std::pair<uint32_t, std::string_view>> told;
  for (const Problem& problem : problems) {
    if (!told.emplace(problem.place ? problem.place->line : 0, problem.error.text).second) continue;
    if (shown == most) {
      out += "\nand more";
      break;
    }
    if (shown++ > 0) out += '\n';
    if (!problem.place) {
      out += problem.raw.substr(0, kMaxText);
      continue;
    }
    out += fmt::format("{}:{}:{}: {}", file, problem.place->line, problem.place->column,
                       problem.error.text.substr(0, kMaxText));
    const std::string_view text = line_of(source, problem.place->line);
    if (!trim(text).empty()) out += "\n    " + std::string(trim(text).substr(0, 110));
  }
  if (shown > 0) return out;
  out = said.substr(0, kMaxSaid);
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace bellwether::script::native
