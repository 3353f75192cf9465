#include "load/console/paint.h"

#include <optional>

namespace bellwether::console {
namespace {

// Writing this number of cells again costs less than going past them.
constexpr int kStepOver = 6;

class Painter {
 public:
  explicit Painter(const Terminfo& codes) : codes_(codes) {}

  // REQUIRES a cell that is not the right half of a wide one.
  void put(const Grid& grid, int row, int column) {
    if (row_ != row || column_ != column) {
      const bool near = row_ == row && column_ < column && column - column_ <= kStepOver;
      if (near) {
        while (column_ < column) write(grid, row, column_);
      } else {
        out_ += codes_.move_to(row, column);
        row_ = row;
        column_ = column;
      }
    }
    write(grid, row, column);
  }

  std::string take() {
    if (style_ && *style_ != Style::kPlain) out_ += codes_.plain;
    return std::move(out_);
  }
  void clear() { out_ += codes_.plain + codes_.clear; }

 private:
  void write(const Grid& grid, int row, int column) {
    const Cell& cell = grid.at(row, column);
    if (!style_ || *style_ != cell.style) {
      out_ += codes_.plain + codes_.styles[static_cast<std::size_t>(cell.style)];
      style_ = cell.style;
    }
    append_utf8(out_, cell.character);
    column_ += columns_of(cell.character);
    if (column_ >= grid.columns()) row_ = -1;  // where the cursor is then, terminals do not agree on
  }

  const Terminfo& codes_;
  std::string out_;
  int row_ = -1;
  int column_ = -1;
  std::optional<Style> style_;
};

}  // namespace

std::string paint(const Grid& before, const Grid& after, const Terminfo& codes) {
  Painter painter(codes);
  const bool anew = before.rows() != after.rows() || before.columns() != after.columns();
  const Grid blank = anew ? Grid(after.columns(), after.rows()) : Grid();
  const Grid& old = anew ? blank : before;
  if (anew) painter.clear();
  for (int row = 0; row < after.rows(); ++row) {
    for (int column = 0; column < after.columns(); ++column) {
      if (row == after.rows() - 1 && column == after.columns() - 1) continue;
      const Cell& cell = after.at(row, column);
      if (cell.character != 0 && cell != old.at(row, column)) painter.put(after, row, column);
    }
  }
  return painter.take();
}

}  // namespace bellwether::console
