#include "load/console/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "load/console/plot.h"
#include "load/report/text.h"

namespace bellwether::console {
namespace {

using report::decimal;
using report::percent;

constexpr std::array<std::string_view, 10> kSpinner{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
constexpr std::array<std::string_view, 4> kPlainSpinner{"|", "/", "-", "\\"};

// The tools for drawing a screen. Each part draws into its box.
struct Brush {
  Grid& grid;
  const View& view;
  const Steering& steering;
  bool utf8;
};

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

void draw_workflow_title(Brush& brush, const Box& box, std::size_t index, const std::string& steps) {
  const auto& workflows = brush.view.workflows;
  const WorkflowRow& workflow = workflows[index];
  std::string text = workflow.name;
  if (workflows.size() > 1) text += fmt::format(" ({}/{})", index + 1, workflows.size());
  std::string right = fmt::format("{}users {}  iterations {}", steps,
                                  format_count(static_cast<uint64_t>(std::max<int64_t>(workflow.users, 0))),
                                  format_count(workflow.iterations));
  if (workflow.open_model) right += "  dropped " + format_count(workflow.dropped);
  title(brush, box, text, right);
}

void draw_step(Brush& brush, const Box& box, int row, const StepRow& step) {
  const Columns widths = columns_for(box.columns);
  brush.grid.text(row, box.column, fitted(step.name, box.columns - widths.sum(), brush.utf8));
  const Style failed = step.failed > 0 ? Style::kBad : Style::kPlain;
  step_cells(brush, box, row, widths,
             {format_count(step.count), decimal(step.rate_per_s) + "/s", percent(step.failed, step.count),
              time_text(step.duration.p50), time_text(step.duration.p95), time_text(step.duration.p99)},
             {Style::kPlain, Style::kPlain, failed, Style::kLow, Style::kMid, Style::kHigh});
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

// Returns the number of rows that it took, at most `rows`. Without room for all: failures, latency and rate first.
int draw_counters(Brush& brush, int row, int rows) {
  const View& view = brush.view;
  const aggregate::Counts& counts = view.counts;
  const auto rate = [](double value) { return decimal(value) + "/s"; };
  const std::string dropped =
      format_count(counts.dropped) + (counts.dropped > 0 && view.open_model ? " (raise vus.max)" : "");
  // In the order of the screen, each with its place when there is no room for all.
  std::vector<std::pair<int, Item>> items{
      {4, {"requests", format_count(counts.requests)}},
      {3, {"now", rate(view.rate_per_s)}},
      {7, {"overall", rate(view.rate_total_per_s)}},
      {1,
       {"failed",
        format_count(counts.failed) +
            (counts.failed > 0 ? fmt::format(" ({})", percent(counts.failed, counts.requests)) : ""),
        counts.failed > 0 ? Style::kBad : Style::kGood}},
      {5, {"users", format_count(static_cast<uint64_t>(std::max<int64_t>(view.users, 0)))}},
      {8, {"iterations", format_count(counts.iterations)}},
  };
  if (view.open_model || counts.dropped > 0) {
    items.push_back({6, {"dropped", dropped, counts.dropped > 0 ? Style::kWarn : Style::kGood}});
  }
  // The number of rows that they take; draws those within `rows`.
  const auto flow = [&](bool draws) {
    int used = 0;
    int column = 0;
    for (const auto& [rank, item] : items) {
      if (used == 0 || column + item.columns() > brush.grid.columns()) {
        if (draws && used == rows) break;
        ++used;
        column = 0;
      }
      if (draws) {
        const int value = brush.grid.text(row + used - 1, column, item.label, Style::kDim) + 1;
        brush.grid.text(row + used - 1, value, item.value, item.style);
      }
      column += item.columns() + 3;
    }
    return used;
  };
  if (flow(false) > rows) {
    items.push_back({2, {"p99", time_text(view.last.p99), Style::kHigh}});
    std::ranges::sort(items, [](const auto& a, const auto& b) { return a.first < b.first; });
    while (items.size() > 1 && flow(false) > rows) items.pop_back();
  }
  return flow(true);
}

// The causes of failed requests that fit into a row, by count.
void draw_failures(Brush& brush, int row) {
  const int end = brush.grid.columns();
  int column = brush.grid.text(row, 0, "failures ", Style::kDim);
  bool first = true;
  for (const aggregate::Failure& failure : brush.view.failures) {
    const std::string separator = first ? "" : (brush.utf8 ? " · " : ", ");
    const std::string count = " " + format_count(failure.count);
    const int space = end - column - columns_of(separator) - columns_of(count);
    if (!first && columns_of(failure.cause) > space) return;
    column = brush.grid.text(row, column, separator, Style::kDim);
    column = brush.grid.text(row, column, fitted(failure.cause, space, brush.utf8), Style::kBad);
    column = brush.grid.text(row, column, count, Style::kBold);
    first = false;
  }
}

// `has_pages`: not all workflows are shown.
void draw_status_bar(Brush& brush, int row, bool has_pages) {
  Grid& grid = brush.grid;
  if (brush.steering.dialog == Steering::Dialog::kStop) {
    // The keys before the question, because they must be visible.
    const int column = grid.text(row, 0, "y/n ", Style::kKey);
    grid.text(row, column, fitted(brush.steering.question, grid.columns() - column - 1, brush.utf8), Style::kWarn);
    return;
  }
  std::vector<std::pair<std::string_view, std::string_view>> keys{{"q", "quit"}, {"?", "help"}};
  if (brush.steering.can_pause) keys.emplace_back("p", brush.steering.paused ? "resume" : "pause");
  if (has_pages) keys.emplace_back("n", "next workflow");
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

// In the middle, over everything else.
void draw_help(Brush& brush) {
  std::vector<std::string_view> lines{"q        stop the run; asks first"};
  if (brush.steering.can_pause) lines.emplace_back("p        pause or resume");
  for (const std::string_view line :
       {"n right  next workflow", "b left   previous workflow", "j k      scroll the steps down, up",
        "a        turn pages: on or off", "Ctrl-C   stop; twice: stop at once", "Ctrl-Z   suspend; fg resumes"}) {
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
  title(brush, box, "Keys", "any key closes");
  int row = box.row + 1;
  for (const std::string_view line : lines) {
    if (row < box.row + box.rows) grid.text(row++, box.column + 2, line, Style::kPlain, box.column + box.columns);
  }
  if (row < box.row + box.rows) title(brush, {row, box.column, 1, box.columns}, "");
}

// This and the next parts have a title in their first row.
void draw_latency(Brush& brush, const Box& box) {
  const View& view = brush.view;
  const Box plot{box.row + 1, box.column, box.rows - 1, box.columns};
  Duration to = std::max({view.elapsed, view.planned, Duration::seconds(1)});
  if (!view.points.empty()) to = std::max(to, view.points.back().at + view.points.back().length);
  Duration from;
  if (view.planned <= Duration::zero()) {  // without an end: the last seconds that fit, one a column of dots
    const Duration window = Duration::seconds(plot_columns(plot) * (brush.utf8 ? 2 : 1));
    to = std::max(to, window);
    from = to - window;
  }
  const Scale scale = draw_plot(brush.grid, plot, view.points, from, to, brush.utf8);
  std::string text = "response time";
  if (scale.logarithmic()) text += ", log scale";
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

// The rows in which draw_steps() shows all of them.
int rows_of_all_steps(const View& view) {
  int rows = 1;  // the names of the columns
  for (const WorkflowRow& workflow : view.workflows) rows += 1 + static_cast<int>(workflow.steps.size());
  return rows;
}

// The steps of the workflow that is steered to, and of as many others as fit whole.
Shown draw_steps(Brush& brush, const Box& box) {
  const auto& workflows = brush.view.workflows;
  const std::size_t chosen = brush.steering.workflow;
  if (chosen >= workflows.size()) return {};
  const auto rows_of = [&](std::size_t index) { return 1 + static_cast<int>(workflows[index].steps.size()); };
  // The last workflows leave no rows empty while others are hidden.
  int rows = 1;
  for (std::size_t w = chosen; w < workflows.size(); ++w) rows += rows_of(w);
  std::size_t first = chosen;
  while (first > 0 && rows + rows_of(first - 1) <= box.rows) rows += rows_of(--first);

  Shown shown{.first_workflow = first};
  int row = box.row;
  const int end = box.row + box.rows;
  for (std::size_t w = first; w < workflows.size() && (w == first || row + rows_of(w) <= end); ++w) {
    const std::vector<StepRow>& steps = workflows[w].steps;
    const auto room = static_cast<std::size_t>(std::max(0, end - row - (w == first ? 2 : 1)));
    const std::size_t hidden = steps.size() > room ? steps.size() - room : 0;
    const std::size_t begin = w == chosen ? std::min(brush.steering.first_step, hidden) : 0;
    const std::size_t count = std::min(room, steps.size() - begin);
    draw_workflow_title(
        brush, {row++, box.column, 1, box.columns}, w,
        hidden > 0 ? fmt::format("steps {}-{} of {}  ", begin + 1, begin + count, steps.size()) : std::string());
    if (w == first) {
      static constexpr std::array<Style, 6> kHead{Style::kDim, Style::kDim, Style::kDim,
                                                  Style::kDim, Style::kDim, Style::kDim};
      brush.grid.text(row, box.column, "step", Style::kDim);
      step_cells(brush, box, row++, columns_for(box.columns), {"requests", "now", "failed", "p50", "p95", "p99"},
                 kHead);
    }
    for (std::size_t i = begin; i < begin + count; ++i) draw_step(brush, box, row++, steps[i]);
    if (w == chosen) shown.steps = count;
    ++shown.workflows;
  }
  return shown;
}

void draw_thresholds(Brush& brush, const Box& box) {
  using Verdict = ThresholdRow::Verdict;
  const View& view = brush.view;
  const auto fails =
      std::ranges::count_if(view.thresholds, [](const ThresholdRow& row) { return row.verdict == Verdict::kFails; });
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

constexpr int kPlotRowsGood = 7;  // with the time axis
constexpr int kMaxPlotRows = 40;
constexpr int kGap = 2;  // columns between two parts that stand side by side

enum class Part : uint8_t { kLatency, kSteps, kThresholds, kEvents, kPlacement };

struct Section {
  Part part;
  int least;  // rows, with its title; fewer are of no use
  int good;   // more only after all others have theirs
  int wants;
  int rows = 0;
};

int rows_for(std::size_t entries) { return 1 + static_cast<int>(std::min<std::size_t>(entries, 1000)); }

Section section_of(const View& view, Part part) {
  const auto of = [part](int least, int wants) { return Section{part, least, wants, wants}; };
  switch (part) {
    case Part::kLatency: return {part, 4, 1 + kPlotRowsGood, 1 + kMaxPlotRows};
    case Part::kSteps: return of(3, rows_of_all_steps(view));
    case Part::kThresholds: return of(2, rows_for(view.thresholds.size()));
    case Part::kEvents: return of(2, rows_for(view.events.size()));
    case Part::kPlacement: break;
  }
  return of(2, rows_for(view.placement.size()));
}

bool has_content(const View& view, Part part) {
  switch (part) {
    case Part::kThresholds: return !view.thresholds.empty();
    case Part::kEvents: return !view.events.empty();
    case Part::kPlacement: return !view.placement.empty();
    case Part::kLatency:
    case Part::kSteps: break;
  }
  return true;
}

// Distributes the rows of a column to its parts: first to useful parts, then one more row to each in turn. They stand
// in the order of Part.
std::vector<Section> share_rows(const View& view, std::span<const Part> by_use, int rows) {
  std::vector<Section> sections;
  for (const Part part : by_use) {
    if (!has_content(view, part)) continue;
    Section section = section_of(view, part);
    if (section.least > rows) continue;
    section.rows = section.least;
    rows -= section.rows;
    sections.push_back(section);
  }
  for (int Section::*const most : {&Section::good, &Section::wants}) {
    for (bool given = true; given && rows > 0;) {
      given = false;
      for (Section& section : sections) {
        if (rows == 0 || section.rows >= section.*most) continue;
        ++section.rows;
        --rows;
        given = true;
      }
    }
  }
  std::ranges::sort(sections, [](const Section& a, const Section& b) { return a.part < b.part; });
  return sections;
}

Shown draw_column(Brush& brush, Box box, std::span<const Part> by_use) {
  Shown shown;
  for (const Section& section : share_rows(brush.view, by_use, box.rows)) {
    box.rows = section.rows;
    switch (section.part) {
      case Part::kLatency: draw_latency(brush, box); break;
      case Part::kSteps: shown = draw_steps(brush, box); break;
      case Part::kThresholds: draw_thresholds(brush, box); break;
      case Part::kEvents: draw_events(brush, box); break;
      case Part::kPlacement: draw_placement(brush, box); break;
    }
    box.row += section.rows;
  }
  return shown;
}

Shown draw_body(Brush& brush, int row, int rows) {
  static constexpr std::array kAll{Part::kSteps, Part::kLatency, Part::kThresholds, Part::kEvents, Part::kPlacement};
  static constexpr std::array kLeft{Part::kSteps, Part::kLatency};
  static constexpr std::array kRight{Part::kThresholds, Part::kEvents, Part::kPlacement};
  const int columns = brush.grid.columns();
  const bool beside = std::ranges::any_of(kRight, [&](Part part) { return has_content(brush.view, part); });
  if (columns < kWideColumns || !beside) return draw_column(brush, {row, 0, rows, columns}, kAll);
  const int left = columns * 62 / 100;
  draw_column(brush, {row, left + kGap, rows, columns - left - kGap}, kRight);
  return draw_column(brush, {row, 0, rows, left}, kLeft);
}

}  // namespace

Drawn draw(const View& view, const Steering& steering, bool utf8, int columns, int rows) {
  Drawn drawn{Grid(columns, rows), {}};
  rows = drawn.grid.rows();
  Brush brush{drawn.grid, view, steering, utf8};
  if (rows == 0) return drawn;
  // The fewer rows, the fewer parts beside the counters.
  const bool bar_under = rows >= 4 || steering.dialog == Steering::Dialog::kStop;
  int row = 0;
  if (rows >= 3) draw_header(brush, row++);
  if (rows >= 6) draw_bar(brush, row++);
  const int last = bar_under ? rows - 1 : rows;
  const int most = rows >= 12 ? 4 : (rows > 6 ? 2 : 3);
  row += draw_counters(brush, row, std::min(last - row, most));
  if (rows >= 9 && !view.failures.empty()) draw_failures(brush, row++);
  drawn.shown = draw_body(brush, row, last - row);
  if (bar_under) draw_status_bar(brush, rows - 1, drawn.shown.workflows < view.workflows.size());
  if (steering.dialog == Steering::Dialog::kHelp) draw_help(brush);
  if (!utf8) drawn.grid.to_ascii();
  return drawn;
}

}  // namespace bellwether::console
