#include "load/console/grid.h"

#include <algorithm>
#include <array>

namespace bellwether::console {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// After Unicode's EastAsianWidth (W and F) and general categories Mn, Me and Cf, by blocks: a few characters more or
// less than the terminal's own table cost a column of one name.
constexpr std::array<Range, 10> kWide{{{0x1100, 0x115F},
                                       {0x2E80, 0x303E},
                                       {0x3041, 0xA4CF},
                                       {0xAC00, 0xD7A3},
                                       {0xF900, 0xFAFF},
                                       {0xFE30, 0xFE6F},
                                       {0xFF00, 0xFF60},
                                       {0xFFE0, 0xFFE6},
                                       {0x1F300, 0x1FAFF},
                                       {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 9> kNone{{{0x00AD, 0x00AD},
                                      {0x0300, 0x036F},
                                      {0x1AB0, 0x1AFF},
                                      {0x200B, 0x200F},
                                      {0x202A, 0x202E},
                                      {0x2060, 0x206F},
                                      {0x20D0, 0x20FF},
                                      {0xFE00, 0xFE0F},
                                      {0xFEFF, 0xFEFF}}};

template <std::size_t N>
bool within(const std::array<Range, N>& ranges, char32_t character) {
  return std::ranges::any_of(ranges,
                             [=](const Range& range) { return character >= range.first && character <= range.last; });
}

// Takes one character off the front; '?' for invalid bytes.
char32_t take_character(std::string_view& text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  std::size_t more = 0;
  char32_t character = first;
  if (first >= 0xF0 && first < 0xF8) {
    more = 3;
    character = first & 0x07U;
  } else if (first >= 0xE0) {
    more = 2;
    character = first & 0x0FU;
  } else if (first >= 0xC0) {
    more = 1;
    character = first & 0x1FU;
  }
  bool valid = (first < 0x80 || more > 0) && first < 0xF8 && text.size() > more;
  std::size_t taken = 1;
  for (; valid && taken <= more; ++taken) {
    if ((byte(taken) & 0xC0U) != 0x80U) {
      valid = false;
      break;
    }
    character = (character << 6U) | (byte(taken) & 0x3FU);
  }
  text.remove_prefix(valid ? more + 1 : taken);
  const bool control = character < 0x20 || (character >= 0x7F && character < 0xA0);
  const bool surrogate = character >= 0xD800 && character < 0xE000;
  return valid && !control && !surrogate && character <= 0x10FFFF ? character : U'?';
}

}  // namespace

int columns_of(char32_t character) {
  if (character < 0x00AD) return 1;
  if (within(kNone, character)) return 0;
  return within(kWide, character) ? 2 : 1;
}

Grid::Grid(int columns, int rows)
    : columns_(std::clamp(columns, 0, kMaxColumns)),
      rows_(std::clamp(rows, 0, kMaxRows)),
      cells_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_)) {}

void Grid::put(int row, int column, char32_t character, Style style) {
  const int wide = columns_of(character);
  if (row < 0 || row >= rows_ || column < 0 || column + wide > columns_ || wide == 0) return;
  const auto cell = [&](int at) -> Cell& {
    return cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(at)];
  };
  // Half of a wide character is nothing.
  if (cell(column).character == 0 && column > 0) cell(column - 1).character = U' ';
  const int after = column + wide;
  if (after < columns_ && cell(after).character == 0) cell(after).character = U' ';
  cell(column) = {character, style};
  if (wide == 2) cell(column + 1) = {0, style};
}

int Grid::text(int row, int column, std::string_view text, Style style, int end) {
  const int limit = end < 0 ? columns_ : std::min(end, columns_);
  while (!text.empty()) {
    const char32_t character = take_character(text);
    const int wide = columns_of(character);
    if (column + wide > limit) break;
    put(row, column, character, style);
    column += wide;
  }
  return column;
}

void Grid::text_right(int row, int end, std::string_view text, Style style) {
  const int column = end - columns_of(text);
  this->text(row, std::max(column, 0), text, style, end);
}

void Grid::to_ascii() {
  for (Cell& cell : cells_) {
    const bool ascii = cell.character != 0 && cell.character < 0x80;
    if (!ascii) cell.character = cell.character == U'µ' ? U'u' : U'?';
  }
}

std::string Grid::line(int row) const {
  std::string out;
  for (int column = 0; column < columns_; ++column) {
    const char32_t character = at(row, column).character;
    if (character != 0) append_utf8(out, character);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

int columns_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) columns += columns_of(take_character(text));
  return columns;
}

std::string fitted(std::string_view text, int columns, bool utf8) {
  if (columns_of(text) <= columns) return std::string(text);
  const std::string_view mark = utf8 ? "…" : "...";
  const int space = columns - columns_of(mark);
  if (space < 0) return {};
  std::string out;
  for (int used = 0; !text.empty();) {
    const char32_t character = take_character(text);
    used += columns_of(character);
    if (used > space) break;
    append_utf8(out, character);
  }
  return out + std::string(mark);
}

void append_utf8(std::string& out, char32_t character) {
  const auto add = [&](char32_t bits) { out += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (character < 0x80) {
    add(character);
  } else if (character < 0x800) {
    add(0xC0U | (character >> 6U));
    add(0x80U | (character & 0x3FU));
  } else if (character < 0x10000) {
    add(0xE0U | (character >> 12U));
    add(0x80U | ((character >> 6U) & 0x3FU));
    add(0x80U | (character & 0x3FU));
  } else {
    add(0xF0U | (character >> 18U));
    add(0x80U | ((character >> 12U) & 0x3FU));
    add(0x80U | ((character >> 6U) & 0x3FU));
    add(0x80U | (character & 0x3FU));
  }
}

}  // namespace bellwether::console
