#include "load/console/draw_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "load/console/draw.h"
#include "load/report/text.h"

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
  const double ratio = std::clamp(value.seconds_f() / scale.seconds_f(), 0.0, 1.0);
  return rows - 1 - static_cast<int>(std::lround(ratio * (rows - 1)));
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

using report::decimal;
using report::percent;

constexpr std::array<std::string_view, 10> kSpinner{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
constexpr std::array<std::string_view, 4> kPlainSpinner{"|", "/", "-", "\\"};

// A text in pieces, each with its own look.
struct Item {
  std::string_view label;
  std::string value;
  Style style = Style::kBold;
  int columns() const { return columns_of(label) + 1 + columns_of(value); }
};

std::string time_text(Duration span) { return span > Duration::zero() ? format_duration(span) : "-"; }

std::string_view spinner(const Brush& brush) {
  if (brush.utf8) return kSpinner[brush.steering.beat % kSpinner.size()];
  return kPlainSpinner[brush.steering.beat % kPlainSpinner.size()];
}

void title(Brush& brush, const Box& box, std::string_view text, std::string_view right = {}) {
  Grid& grid = brush.grid;
  const int end = box.column + box.columns;
  const char32_t line = brush.utf8 ? U'─' : U'-';
  for (int column = box.column; column < end; ++column) grid.put(box.row, column, line, Style::kDim);
  const int space = box.columns - 4;
  const std::string shown = fitted(text, space, brush.utf8);
  if (shown.empty()) return;
  const int after = grid.text(box.row, box.column + 2, fmt::format(" {} ", shown), Style::kTitle, end);
  if (right.empty() || after + columns_of(right) + 4 > end) return;
  grid.text_right(box.row, end - 2, fmt::format(" {} ", right), Style::kDim);
}

// Steps of the shown workflow, by their place in the table.
struct Columns {
  int count = 0, rate = 0, failed = 0, p50 = 0, p95 = 0, p99 = 0;  // widths; 0: left out
  int sum() const { return count + rate + failed + p50 + p95 + p99; }
};

Columns columns_for(int width) {
  if (width >= 72) return {12, 10, 9, 9, 9, 9};
  if (width >= 46) return {10, 0, 8, 0, 9, 9};
  if (width >= 30) return {9, 0, 0, 0, 0, 9};
  return {0, 0, 0, 0, 0, width >= 16 ? 8 : 0};
}

void step_cells(Brush& brush, const Box& box, int row, const Columns& widths, const std::array<std::string, 6>& cells,
                const std::array<Style, 6>& styles) {
  const std::array<int, 6> all{widths.count, widths.rate, widths.failed, widths.p50, widths.p95, widths.p99};
  int end = box.column + box.columns - widths.sum();
  for (std::size_t i = 0; i < all.size(); ++i) {
    end += all[i];
    if (all[i] > 0) brush.grid.text_right(row, end, cells[i], styles[i]);
  }
}

std::string workflow_title(const Brush& brush, const WorkflowRow& workflow) {
  std::string text = workflow.name;
  if (brush.view.workflows.size() > 1) {
    text += fmt::format(" ({}/{})", brush.steering.workflow + 1, brush.view.workflows.size());
  }
  return text;
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

void draw_header(Brush& brush, int row) {
  const View& view = brush.view;
  Grid& grid = brush.grid;
  std::string time = clock_text(view.elapsed);
  if (view.planned > Duration::zero()) time += " / " + clock_text(view.planned);
  const std::string& state = view.state;
  const bool roomy = grid.columns() >= 30;
  const std::string right = roomy ? fmt::format("{}  {}", state, time) : clock_text(view.elapsed);
  const int end = grid.columns() - columns_of(right) - 1;
  grid.text_right(row, grid.columns(), right, view.state == "running" ? Style::kGood : Style::kWarn);
  int column = grid.text(row, 0, spinner(brush), Style::kGood);
  column =
      grid.text(row, column + 1, fitted(view.scenario, std::max(0, end - column - 1), brush.utf8), Style::kTitle, end);
  if (view.target.empty() || end - column < 12) return;
  const std::string to = std::string(brush.utf8 ? " → " : " -> ") + view.target;
  grid.text(row, column, fitted(to, end - column, brush.utf8), Style::kPlain, end);
}

void draw_bar(Brush& brush, int row) {
  const View& view = brush.view;
  Grid& grid = brush.grid;
  if (view.planned <= Duration::zero()) {
    grid.text(row, 0, "no planned end", Style::kDim);
    return;
  }
  const double ratio = std::clamp(view.elapsed.seconds_f() / view.planned.seconds_f(), 0.0, 1.0);
  const std::string text = fmt::format("{}%", static_cast<int>(ratio * 100));
  const int columns = grid.columns() - 5;
  const int done = static_cast<int>(std::lround(ratio * columns));
  for (int column = 0; column < columns; ++column) {
    const bool is_done = column < done;
    const char32_t character = brush.utf8 ? (is_done ? U'█' : U'░') : (is_done ? U'#' : U'.');
    grid.put(row, column, character, is_done ? Style::kBar : Style::kDim);
  }
  grid.text_right(row, grid.columns(), text, Style::kBold);
}

int draw_counters(Brush& brush, int row, int rows) {
  const View& view = brush.view;
  const aggregate::Counts& counts = view.counts;
  const auto rate = [](double value) { return decimal(value) + "/s"; };
  std::vector<Item> items{
      {"requests", format_count(counts.requests)},
      {"now", rate(view.rate_per_s)},
      {"overall", rate(view.rate_total_per_s)},
      {"failed",
       format_count(counts.failed) +
           (counts.failed > 0 ? fmt::format(" ({})", percent(counts.failed, counts.requests)) : ""),
       counts.failed > 0 ? Style::kBad : Style::kGood},
      {"users", format_count(static_cast<uint64_t>(std::max<int64_t>(view.users, 0)))},
      {"iterations", format_count(counts.iterations)},
  };
  if (view.open_model || counts.dropped > 0) {
    items.push_back({"dropped", format_count(counts.dropped), counts.dropped > 0 ? Style::kWarn : Style::kGood});
  }
  int used = 0;
  int column = 0;
  for (const Item& item : items) {
    if (used == 0 || (column > 0 && column + item.columns() > brush.grid.columns())) {
      if (used == rows) break;
      ++used;
      column = 0;
    }
    column = brush.grid.text(row + used - 1, column, item.label, Style::kDim);
    column = brush.grid.text(row + used - 1, column + 1, item.value, item.style) + 3;
  }
  return used;
}

void draw_status_bar(Brush& brush, int row) {
  Grid& grid = brush.grid;
  if (brush.steering.dialog == Steering::Dialog::kStop) {
    // The keys before the question, because they must be visible.
    const int column = grid.text(row, 0, "y/n ", Style::kKey);
    grid.text(row, column, fitted(brush.steering.question, grid.columns() - column - 1, brush.utf8), Style::kWarn);
    return;
  }
  std::vector<std::pair<std::string_view, std::string_view>> keys{{"q", "quit"}, {"?", "help"}};
  if (brush.steering.can_pause) keys.emplace_back("p", brush.steering.paused ? "resume" : "pause");
  if (brush.view.workflows.size() > 1) keys.emplace_back("n", "next workflow");
  if (!brush.steering.turns) keys.emplace_back("a", "turn pages");
  int column = 0;
  for (const auto& [key, what] : keys) {
    const int wide = columns_of(key) + 1 + columns_of(what);
    if (column + wide > grid.columns() - 1) break;
    column = grid.text(row, column, key, Style::kKey);
    column = grid.text(row, column + 1, what, Style::kDim) + 3;
  }
  const std::string where = brush.view.where;
  if (column + columns_of(where) < grid.columns()) grid.text_right(row, grid.columns() - 1, where, Style::kDim);
}

void draw_help(Brush& brush) {
  std::vector<std::string_view> lines{"q        stop the run, after a question"};
  if (brush.steering.can_pause) lines.emplace_back("p        pause, and go on");
  for (const std::string_view line :
       {"n right  next workflow", "b left   the one before", "j k      down and up in the steps",
        "a        turn pages by itself, or not", "Ctrl-C   stop; twice: at once", "Ctrl-Z   suspend; fg goes on"}) {
    lines.push_back(line);
  }
  Grid& grid = brush.grid;
  const int columns = std::min(46, grid.columns());
  const int rows = std::min(static_cast<int>(lines.size()) + 2, grid.rows());
  const Box box{(grid.rows() - rows) / 2, (grid.columns() - columns) / 2, rows, columns};
  for (int row = 0; row < box.rows; ++row) {
    for (int column = 0; column < box.columns; ++column) {
      grid.put(box.row + row, box.column + column, U' ', Style::kPlain);
    }
  }
  title(brush, box, "Keys", "any key goes back");
  int row = box.row + 1;
  for (const std::string_view line : lines) {
    if (row < box.row + box.rows) grid.text(row++, box.column + 2, line, Style::kPlain, box.column + box.columns);
  }
  if (row < box.row + box.rows) title(brush, {row, box.column, 1, box.columns}, "");
}

void draw_latency(Brush& brush, const Box& box) {
  const View& view = brush.view;
  const std::size_t shown =
      draw_plot(brush.grid, {box.row + 1, box.column, box.rows - 1, box.columns}, view.points, brush.utf8);
  const auto seconds = static_cast<int64_t>(shown);
  const std::string_view what = view.open_model ? "response time" : "latency";
  std::string text(what);
  if (seconds > 0 && box.columns >= 40) text += ", last " + format_duration(Duration::seconds(seconds));
  title(brush, box, text);
  // The last second beside the title, each value in the look of its line.
  const std::array<std::pair<std::string_view, Duration>, 3> values{
      {{"p50 ", view.last.p50}, {"p95 ", view.last.p95}, {"p99 ", view.last.p99}}};
  static constexpr std::array<Style, 3> kLook{Style::kLow, Style::kMid, Style::kHigh};
  int wide = 1;
  for (const auto& [label, value] : values) wide += columns_of(label) + columns_of(time_text(value)) + 1;
  int column = box.column + box.columns - 2 - wide;
  if (column < box.column + columns_of(text) + 6) return;
  brush.grid.put(box.row, column++, U' ', Style::kPlain);
  for (std::size_t i = 0; i < values.size(); ++i) {
    column = brush.grid.text(box.row, column, values[i].first, kLook[i]);
    column = brush.grid.text(box.row, column, time_text(values[i].second) + " ", kLook[i]);
  }
}

std::size_t draw_steps(Brush& brush, const Box& box) {
  const View& view = brush.view;
  if (brush.steering.workflow >= view.workflows.size()) return 0;
  const WorkflowRow& workflow = view.workflows[brush.steering.workflow];
  const auto room = static_cast<std::size_t>(std::max(0, box.rows - 2));
  const std::size_t count = workflow.steps.size();
  const std::size_t first = std::min(brush.steering.first_step, count > room ? count - room : 0);
  const std::size_t shown = std::min(room, count - first);

  std::string right =
      fmt::format("users {}  iterations {}", format_count(static_cast<uint64_t>(std::max<int64_t>(workflow.users, 0))),
                  format_count(workflow.iterations));
  if (workflow.open_model) right += "  dropped " + format_count(workflow.dropped);
  if (shown < count) {
    right = fmt::format("steps {}-{} of {}  {}", first + 1, first + shown, count, right);
  }
  title(brush, box, workflow_title(brush, workflow), right);
  const Columns widths = columns_for(box.columns);
  static constexpr std::array<Style, 6> kHead{Style::kDim, Style::kDim, Style::kDim,
                                              Style::kDim, Style::kDim, Style::kDim};
  brush.grid.text(box.row + 1, box.column, "step", Style::kDim);
  step_cells(brush, box, box.row + 1, widths, {"requests", "now", "failed", "p50", "p95", "p99"}, kHead);
  const int name_end = box.columns - widths.sum();
  for (std::size_t i = 0; i < shown; ++i) {
    const StepRow& step = workflow.steps[first + i];
    const int row = box.row + 2 + static_cast<int>(i);
    brush.grid.text(row, box.column, fitted(step.name, name_end, brush.utf8));
    const Style failed = step.failed > 0 ? Style::kBad : Style::kPlain;
    step_cells(brush, box, row, widths,
               {format_count(step.count), decimal(step.rate_per_s) + "/s", percent(step.failed, step.count),
                time_text(step.duration.p50), time_text(step.duration.p95), time_text(step.duration.p99)},
               {Style::kPlain, Style::kPlain, failed, Style::kLow, Style::kMid, Style::kHigh});
  }
  return shown;
}

void draw_thresholds(Brush& brush, const Box& box) {
  using Verdict = ThresholdRow::Verdict;
  const View& view = brush.view;
  const auto fails = std::count_if(view.thresholds.begin(), view.thresholds.end(),
                                   [](const ThresholdRow& row) { return row.verdict == Verdict::kFails; });
  title(brush, box, "thresholds", fails > 0 ? fmt::format("{} fail", fails) : "");
  // The failed ones come first, because the room may not suffice for all.
  int row = box.row + 1;
  for (const bool failing : {true, false}) {
    for (const ThresholdRow& threshold : view.thresholds) {
      if ((threshold.verdict == Verdict::kFails) != failing || row >= box.row + box.rows) continue;
      const bool none = threshold.verdict == Verdict::kNoSamples;
      const Style style = failing ? Style::kBad : (none ? Style::kDim : Style::kGood);
      const std::string_view mark =
          brush.utf8 ? (failing ? "✗" : (none ? "·" : "✓")) : (failing ? "x" : (none ? "." : "+"));
      const int end = box.column + box.columns;
      const int value = end - columns_of(threshold.value);
      brush.grid.text(row, box.column, mark, style);
      brush.grid.text(row, box.column + 2, fitted(threshold.rule, value - box.column - 3, brush.utf8), Style::kPlain,
                      value);
      brush.grid.text_right(row, end, threshold.value, style);
      ++row;
    }
  }
}

void draw_events(Brush& brush, const Box& box) {
  const auto& events = brush.view.events;
  title(brush, box, "events");
  const auto room = static_cast<std::size_t>(std::max(0, box.rows - 1));
  const std::size_t first = events.size() > room ? events.size() - room : 0;
  int row = box.row + 1;
  for (std::size_t i = first; i < events.size(); ++i, ++row) {
    const std::string at = clock_text(events[i].at);
    brush.grid.text_right(row, box.column + 7, at, Style::kDim);
    brush.grid.text(row, box.column + 9, fitted(events[i].text, box.columns - 9, brush.utf8));
  }
}

void draw_placement(Brush& brush, const Box& box) {
  title(brush, box, "workers");
  int row = box.row + 1;
  for (const std::string& one : brush.view.placement) {
    if (row >= box.row + box.rows) return;
    brush.grid.text(row++, box.column, fitted(one, box.columns, brush.utf8));
  }
}

}  // namespace bellwether::console
