#include "plan/builtin.h"

#include <array>
#include <charconv>
#include <vector>

#include "base/bytes.h"

namespace bellwether::plan {
namespace {

struct Entry {
  std::string_view name;
  Builtin builtin;
  std::size_t arguments;
};
constexpr std::array<Entry, 7> kEntries{{{"vu", Builtin::kVu, 0},
                                         {"iteration", Builtin::kIteration, 0},
                                         {"now", Builtin::kNow, 0},
                                         {"now_ms", Builtin::kNowMs, 0},
                                         {"uuid", Builtin::kUuid, 0},
                                         {"random", Builtin::kRandomInt, 2},
                                         {"random_hex", Builtin::kRandomHex, 1}}};
constexpr int64_t kHexBytesMax = 1024;

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The numbers of "(1, 10)"; nothing when that is not what `text` is.
std::optional<std::vector<int64_t>> parse_arguments(std::string_view text) {
  std::vector<int64_t> out;
  if (text.empty()) return out;
  if (text.front() != '(' || text.back() != ')') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  while (true) {
    const std::size_t comma = text.find(',');
    const auto number = parse_int(trim(text.substr(0, comma)));
    if (!number) return std::nullopt;
    out.push_back(*number);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

Result<Piece> make(const Entry& entry, std::string_view arguments_text) {
  const auto arguments = parse_arguments(arguments_text);
  if (!arguments || arguments->size() != entry.arguments) {
    static constexpr std::array<std::string_view, 3> kForms{"}", "(8)}", "(1, 10)}"};
    return fail(Errc::kInvalid, "'" + std::string(entry.name) + "' is written ${" + std::string(entry.name) +
                                    std::string(kForms[entry.arguments]));
  }
  Piece piece;
  piece.kind = Piece::Kind::kBuiltin;
  piece.builtin = entry.builtin;
  if (entry.arguments > 0) piece.low = arguments->front();
  if (entry.arguments > 1) piece.high = arguments->back();
  if (entry.builtin == Builtin::kRandomInt && piece.low > piece.high) {
    return fail(Errc::kInvalid, "the first number of 'random' is the lowest: random(" + std::to_string(piece.high) +
                                    ", " + std::to_string(piece.low) + ")");
  }
  if (entry.builtin == Builtin::kRandomHex && (piece.low < 1 || piece.low > kHexBytesMax)) {
    return fail(Errc::kInvalid, "'random_hex' makes 1 to " + std::to_string(kHexBytesMax) + " bytes");
  }
  return piece;
}

}  // namespace

std::optional<Result<Piece>> parse_builtin(std::string_view expression) {
  const std::string_view name = trim(expression.substr(0, expression.find('(')));
  const std::string_view arguments = expression.substr(std::min(expression.find('('), expression.size()));
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return make(entry, arguments);
  }
  return std::nullopt;
}

}  // namespace bellwether::plan
