#include "load/console/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/units.h"

namespace bellwether::console {
namespace {

using aggregate::Percentiles;

constexpr int kLabel = 7;          // columns for the scale
constexpr int kRowsWithAxis = 4;   // from here on one of them is the time axis
constexpr double kFlat = 20;       // a linear scale hides what lies below this part of it
constexpr int kBetweenLabels = 6;  // columns, at least, between two labels of the time axis
constexpr int64_t kSecond = 1'000'000'000;
constexpr std::array<Style, 3> kLevelStyles{Style::kLow, Style::kMid, Style::kHigh};

// A cell's dots, by column and by row from the top.
constexpr std::array<std::array<uint8_t, 4>, 2> kDots{{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};

// 1, 2 or 5 times a power of ten: the least one from `value` on, or the greatest one up to it.
Duration round_scale(Duration value, bool up) {
  int64_t step = 1'000;
  for (int turn = 0; step < Duration::hours(24).ns(); ++turn) {
    const int64_t next = turn % 3 == 1 ? step / 2 * 5 : step * 2;
    if (up ? step >= value.ns() : next > value.ns()) break;
    step = next;
  }
  return Duration::nanos(step);
}

struct Canvas {
  int columns;  // of dots
  int rows;
  std::vector<uint8_t> line;  // 0: nothing, else number of the line + 1

  uint8_t& at(int row, int column) {
    return line[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column)];
  }
};

int row_of(Duration value, const Scale& scale, int rows) {
  const double ratio = scale.logarithmic() ? std::log(value.seconds_f() / scale.low.seconds_f()) /
                                                 std::log(scale.high.seconds_f() / scale.low.seconds_f())
                                           : value.seconds_f() / scale.high.seconds_f();
  return rows - 1 - static_cast<int>(std::lround(std::clamp(ratio, 0.0, 1.0) * (rows - 1)));
}

// The worst of each column; zero: no measurement.
std::vector<Percentiles> worst_by_column(std::span<const PlotPoint> points, Duration from, Duration to, int columns) {
  std::vector<Percentiles> out(static_cast<std::size_t>(columns));
  const double per_column = (to - from).seconds_f() / columns;
  for (const PlotPoint& point : points) {
    const Duration end = point.at + point.length;
    if (end <= from || point.at >= to) continue;
    // The small amounts absorb rounding: a interval that ends with a column does not reach the next one.
    const auto first = static_cast<int>((point.at - from).seconds_f() / per_column + 1e-6);
    const auto last = static_cast<int>(std::ceil((end - from).seconds_f() / per_column - 1e-6)) - 1;
    for (int column = std::max(first, 0); column <= std::min(std::max(first, last), columns - 1); ++column) {
      Percentiles& worst = out[static_cast<std::size_t>(column)];
      worst = {std::max(worst.p50, point.times.p50), std::max(worst.p95, point.times.p95),
               std::max(worst.p99, point.times.p99)};
    }
  }
  return out;
}

void draw_lines(Canvas& canvas, std::span<const Percentiles> points, const Scale& scale) {
  // The lowest last, so that it is seen where lines meet; the ones above show where they part.
  for (int line = 2; line >= 0; --line) {
    int before = -1;
    for (int column = 0; column < canvas.columns; ++column) {
      const Percentiles& point = points[static_cast<std::size_t>(column)];
      const Duration value = line == 0 ? point.p50 : (line == 1 ? point.p95 : point.p99);
      if (value <= Duration::zero()) {
        before = -1;
        continue;
      }
      const int row = row_of(value, scale, canvas.rows);
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

// Left of the plot, in rows of its own: the ends, and between them the half or the powers of ten.
void draw_scale(Grid& grid, const Box& box, const Scale& scale) {
  const auto label = [&](int row, const std::string& text) {
    grid.text_right(box.row + row, box.column - 1, text, Style::kDim);
  };
  label(0, format_duration(scale.high));
  if (box.rows >= 2) label(box.rows - 1, scale.logarithmic() ? format_duration(scale.low) : "0");
  if (!scale.logarithmic()) {
    if (box.rows >= 5) label((box.rows - 1) / 2, format_duration(scale.high / 2));
    return;
  }
  int above = 0;
  for (int64_t power = 10'000 * kSecond; power > 1'000; power /= 10) {
    if (Duration::nanos(power) >= scale.high || Duration::nanos(power) <= scale.low) continue;
    const int row = row_of(Duration::nanos(power), scale, box.rows);
    if (row <= above || row >= box.rows - 1) continue;
    label(row, format_duration(Duration::nanos(power)));
    above = row;
  }
}

void draw_time_axis(Grid& grid, const Box& box, Duration from, Duration to) {
  static constexpr std::array<int64_t, 17> kSteps{1,   2,   5,    10,   15,   30,    60,    120,  300,
                                                  600, 900, 1800, 3600, 7200, 10800, 21600, 43200};
  const double per_second = box.columns / (to - from).seconds_f();
  const int wide = columns_of(clock_text(to));
  int64_t step = kSteps.back();
  for (const int64_t one : kSteps) {
    if (static_cast<double>(one) * per_second < wide + kBetweenLabels) continue;
    step = one;
    break;
  }
  while (static_cast<double>(step) * per_second < wide + kBetweenLabels) step *= 2;
  int used = box.column - kBetweenLabels;
  for (int64_t at = (from.ns() + step * kSecond - 1) / (step * kSecond) * step; at * kSecond <= to.ns(); at += step) {
    const std::string text = clock_text(Duration::seconds(at));
    const int place = static_cast<int>(std::lround((Duration::seconds(at) - from).seconds_f() * per_second));
    const int begin = box.column + std::clamp(place - columns_of(text) / 2, 0, std::max(0, box.columns - wide));
    if (begin < used + 2 || begin + columns_of(text) > box.column + box.columns) continue;
    used = grid.text(box.row, begin, text, Style::kDim);
  }
}

}  // namespace

Scale scale_for(std::span<const Percentiles> points) {
  Duration highest;
  std::vector<Duration> usual;
  for (const Percentiles& point : points) {
    highest = std::max(highest, point.p99);
    if (point.p50 > Duration::zero()) usual.push_back(point.p50);
  }
  Scale scale{Duration::zero(), round_scale(highest, true)};
  if (usual.empty()) return scale;
  std::sort(usual.begin(), usual.end());
  if (usual[usual.size() / 2].seconds_f() * kFlat < scale.high.seconds_f()) {
    scale.low = round_scale(usual.front(), false);
  }
  return scale;
}

int plot_columns(const Box& box) { return std::max(0, box.columns - kLabel - 1); }

Scale draw_plot(Grid& grid, const Box& box, std::span<const PlotPoint> points, Duration from, Duration to, bool utf8) {
  const bool axis = box.rows >= kRowsWithAxis;
  const Box inside{box.row, box.column + kLabel + 1, box.rows - (axis ? 1 : 0), plot_columns(box)};
  if (inside.rows < 1 || inside.columns < 1 || to <= from) return {};
  Canvas canvas{inside.columns * (utf8 ? 2 : 1), inside.rows * (utf8 ? 4 : 1), {}};
  canvas.line.resize(static_cast<std::size_t>(canvas.columns) * static_cast<std::size_t>(canvas.rows));
  const std::vector<Percentiles> shown = worst_by_column(points, from, to, canvas.columns);
  const Scale scale = scale_for(shown);
  for (int row = 0; row < inside.rows; ++row) {
    grid.put(inside.row + row, inside.column - 1, utf8 ? U'│' : U'|', Style::kDim);
  }
  const auto measured = [](const Percentiles& one) { return one.p99 > Duration::zero(); };
  if (std::ranges::any_of(shown, measured)) draw_scale(grid, inside, scale);
  if (axis) draw_time_axis(grid, {box.row + box.rows - 1, inside.column, 1, inside.columns}, from, to);
  draw_lines(canvas, shown, scale);
  if (utf8) {
    put_braille(grid, inside, canvas);
  } else {
    put_characters(grid, inside, canvas);
  }
  return scale;
}

std::string clock_text(Duration span) {
  const int64_t seconds = std::max(span, Duration::zero()).ns() / kSecond;
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace bellwether::console
