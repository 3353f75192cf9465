#include "console/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/units.h"

namespace bellwether::console {
namespace {

constexpr int kLabel = 7;  // columns for the scale
constexpr std::array<Style, 3> kLevelStyles{Style::kLow, Style::kMid, Style::kHigh};

// A cell's dots, by column and by row from the top.
constexpr std::array<std::array<uint8_t, 4>, 2> kDots{{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};

std::array<Duration, 3> lines_of(const aggregate::Percentiles& point) { return {point.p50, point.p95, point.p99}; }

struct Canvas {
  int columns;  // of dots
  int rows;
  std::vector<uint8_t> line;  // 0: nothing, else number of the line + 1

  uint8_t& at(int row, int column) {
    return line[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column)];
  }
};

int row_of(Duration value, Duration scale, int rows) {
  const double share = std::clamp(value.seconds_f() / scale.seconds_f(), 0.0, 1.0);
  return rows - 1 - static_cast<int>(std::lround(share * (rows - 1)));
}

void draw_lines(Canvas& canvas, std::span<const aggregate::Percentiles> points, Duration scale) {
  const int first = canvas.columns - static_cast<int>(points.size());
  // The lowest last, so that it is seen where lines meet; the ones above show where they part.
  for (int line = 2; line >= 0; --line) {
    int before = -1;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Duration value = lines_of(points[i])[static_cast<std::size_t>(line)];
      if (value <= Duration::zero()) {
        before = -1;
        continue;
      }
      const int row = row_of(value, scale, canvas.rows);
      const int column = first + static_cast<int>(i);
      // Joined to the point before, so that a jump is a line and not two dots.
      const int from = before < 0 ? row : (before < row ? before + 1 : (before > row ? before - 1 : row));
      for (int r = std::min(from, row); r <= std::max(from, row); ++r) {
        canvas.at(r, column) = static_cast<uint8_t>(line + 1);
      }
      before = row;
    }
  }
}

void put_braille(Grid& grid, const Box& box, Canvas& canvas) {
  for (int row = 0; row < box.rows; ++row) {
    for (int column = 0; column < box.columns; ++column) {
      uint8_t dots = 0;
      uint8_t highest = 0;
      for (int x = 0; x < 2; ++x) {
        for (int y = 0; y < 4; ++y) {
          const uint8_t line = canvas.at(row * 4 + y, column * 2 + x);
          if (line == 0) continue;
          dots |= kDots[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)];
          highest = std::max(highest, line);
        }
      }
      if (dots != 0) grid.put(box.row + row, box.column + column, 0x2800U + dots, kLevelStyles[highest - 1U]);
    }
  }
}

void put_characters(Grid& grid, const Box& box, Canvas& canvas) {
  for (int row = 0; row < box.rows; ++row) {
    for (int column = 0; column < box.columns; ++column) {
      const uint8_t line = canvas.at(row, column);
      if (line != 0) grid.put(box.row + row, box.column + column, U".+*"[line - 1], kLevelStyles[line - 1U]);
    }
  }
}

}  // namespace

Duration scale_for(Duration highest) {
  int64_t scale = 1'000;
  for (const std::array<int64_t, 3> factors{2, 5, 10}; scale < highest.ns() && scale < Duration::hours(24).ns();) {
    int64_t next = scale * 10;
    for (const int64_t factor : factors) {
      if (scale * factor >= highest.ns()) {
        next = scale * factor;
        break;
      }
    }
    scale = next;
  }
  return Duration::nanos(scale);
}

std::size_t draw_plot(Grid& grid, const Box& box, std::span<const aggregate::Percentiles> points, bool utf8) {
  const Box inside{box.row, box.column + kLabel + 1, box.rows, box.columns - kLabel - 1};
  if (inside.rows < 1 || inside.columns < 1) return 0;
  Canvas canvas{inside.columns * (utf8 ? 2 : 1), inside.rows * (utf8 ? 4 : 1), {}};
  canvas.line.resize(static_cast<std::size_t>(canvas.columns) * static_cast<std::size_t>(canvas.rows));
  const auto shown = points.last(std::min(points.size(), static_cast<std::size_t>(canvas.columns)));

  Duration highest;
  for (const aggregate::Percentiles& point : shown) highest = std::max(highest, point.p99);
  const Duration scale = scale_for(highest);
  for (int row = 0; row < inside.rows; ++row)
    grid.put(box.row + row, box.column + kLabel, utf8 ? U'│' : U'|', Style::kDim);
  if (highest > Duration::zero()) {
    grid.text_right(box.row, box.column + kLabel, format_duration(scale), Style::kDim);
    if (inside.rows >= 5) {
      grid.text_right(box.row + (inside.rows - 1) / 2, box.column + kLabel, format_duration(scale / 2), Style::kDim);
    }
    if (inside.rows >= 2) grid.text_right(box.row + inside.rows - 1, box.column + kLabel, "0", Style::kDim);
  }
  draw_lines(canvas, shown, scale);
  if (utf8) {
    put_braille(grid, inside, canvas);
  } else {
    put_characters(grid, inside, canvas);
  }
  return shown.size();
}

}  // namespace bellwether::console
