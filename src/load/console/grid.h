// The content of a screen, as cells: a value that can be compared, so that only changes are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bellwether::console {

// The meaning of a cell; the terminal decides its look (terminfo.h).
enum class Style : uint8_t {
  kPlain,
  kBold,
  kDim,
  kTitle,  // of the screen and of its parts
  kBar,    // the part of a bar that is done
  kGood,
  kBad,
  kWarn,
  kLow,   // of three lines in a plot: the lowest
  kMid,   // the one in the middle
  kHigh,  // the highest
  kKey,   // a key to press
};
inline constexpr int kStyles = 12;

struct Cell {
  char32_t character = U' ';  // 0: the right half of the wide one before
  Style style = Style::kPlain;
  bool operator==(const Cell&) const = default;
};

// Columns of a character: 0 for a mark on the one before it, 2 for ideographs and their kin, else 1.
int columns_of(char32_t character);

class Grid {
 public:
  static constexpr int kMaxColumns = 500;
  static constexpr int kMaxRows = 200;

  Grid() = default;
  // Blank. Cells beyond the most are not drawn.
  Grid(int columns, int rows);

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  // REQUIRES a place within the grid.
  const Cell& at(int row, int column) const {
    return cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                  static_cast<std::size_t>(column)];
  }
  // Does nothing outside of the grid.
  void put(int row, int column, char32_t character, Style style);
  // UTF-8, from `column` on, cut at `end` (a column; -1: that of the grid). Control characters and bytes that are not
  // UTF-8 become '?'; characters without a width are left out. Returns the column after it.
  int text(int row, int column, std::string_view text, Style style = Style::kPlain, int end = -1);
  // So that it ends before column `end`.
  void text_right(int row, int end, std::string_view text, Style style = Style::kPlain);
  // Replaces every character that is not ASCII by one that is.
  void to_ascii();
  // A row as UTF-8, for tests and people who debug.
  std::string line(int row) const;

  bool operator==(const Grid&) const = default;

 private:
  int columns_ = 0;
  int rows_ = 0;
  std::vector<Cell> cells_;
};

// Columns of UTF-8 text, as Grid::text draws it.
int columns_of(std::string_view text);
// The same with "…" ("..." without UTF-8) at the end where it does not fit.
std::string fitted(std::string_view text, int columns, bool utf8);
// Appends one character as UTF-8.
void append_utf8(std::string& out, char32_t character);

}  // namespace bellwether::console
