#include "load/console/draw.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "load/console/draw_parts.h"

namespace bellwether::console {
namespace {

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
  std::sort(sections.begin(), sections.end(), [](const Section& a, const Section& b) { return a.part < b.part; });
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
  const bool beside =
      std::any_of(kRight.begin(), kRight.end(), [&](Part part) { return has_content(brush.view, part); });
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
