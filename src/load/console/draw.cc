#include "load/console/draw.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <vector>

#include "load/console/draw_parts.h"

namespace bellwether::console {
namespace {

constexpr int kPlotRowsMax = 24;
constexpr int kGap = 2;  // columns between two parts that stand side by side

enum class Part : uint8_t { kLatency, kSteps, kThresholds, kEvents, kPlacement };

struct Section {
  Part part;
  int least;  // rows, with its title; fewer are of no use
  int wants;
  int rows = 0;
};

int rows_for(std::size_t entries) { return 1 + static_cast<int>(std::min<std::size_t>(entries, 1000)); }

Section section_of(const View& view, const Steering& steering, Part part) {
  switch (part) {
    case Part::kLatency: return {part, 4, 1 + kPlotRowsMax};
    case Part::kSteps: {
      const bool some = steering.workflow < view.workflows.size();
      return {part, 3, 1 + rows_for(some ? view.workflows[steering.workflow].steps.size() : 0)};
    }
    case Part::kThresholds: return {part, 2, rows_for(view.thresholds.size())};
    case Part::kEvents: return {part, 2, rows_for(view.events.size())};
    case Part::kPlacement: break;
  }
  return {part, 2, rows_for(view.placement.size())};
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
std::vector<Section> share_rows(const View& view, const Steering& steering, std::span<const Part> by_use, int rows) {
  std::vector<Section> sections;
  for (const Part part : by_use) {
    if (!has_content(view, part)) continue;
    Section section = section_of(view, steering, part);
    if (section.least > rows) continue;
    section.rows = section.least;
    rows -= section.rows;
    sections.push_back(section);
  }
  for (bool given = true; given && rows > 0;) {
    given = false;
    for (Section& section : sections) {
      if (rows == 0 || section.rows >= section.wants) continue;
      ++section.rows;
      --rows;
      given = true;
    }
  }
  std::sort(sections.begin(), sections.end(), [](const Section& a, const Section& b) { return a.part < b.part; });
  return sections;
}

std::size_t draw_column(Brush& brush, Box box, std::span<const Part> by_use) {
  std::size_t steps = 0;
  for (const Section& section : share_rows(brush.view, brush.steering, by_use, box.rows)) {
    box.rows = section.rows;
    switch (section.part) {
      case Part::kLatency: draw_latency(brush, box); break;
      case Part::kSteps: steps = draw_steps(brush, box); break;
      case Part::kThresholds: draw_thresholds(brush, box); break;
      case Part::kEvents: draw_events(brush, box); break;
      case Part::kPlacement: draw_placement(brush, box); break;
    }
    box.row += section.rows;
  }
  return steps;
}

std::size_t draw_body(Brush& brush, int row, int rows) {
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
  Drawn drawn{Grid(columns, rows), 0};
  rows = drawn.grid.rows();
  Brush brush{drawn.grid, view, steering, utf8};
  if (rows == 0) return drawn;
  draw_header(brush, 0);
  const bool bar_under = rows >= 2;
  if (bar_under) draw_status_bar(brush, rows - 1);
  const bool progress = rows >= 4;
  if (progress) draw_bar(brush, 1);
  int row = progress ? 2 : 1;
  const int last = bar_under ? rows - 1 : rows;
  row += draw_counters(brush, row, std::min(last - row, rows >= 12 ? 4 : 2));
  drawn.steps_shown = draw_body(brush, row, last - row);
  if (steering.dialog == Steering::Dialog::kHelp) draw_help(brush);
  if (!utf8) drawn.grid.to_ascii();
  return drawn;
}

std::string clock_text(Duration span) {
  const auto seconds = static_cast<long long>(std::max(span, Duration::zero()).ns() / 1'000'000'000);
  std::array<char, 48> text{};
  if (seconds >= 3600) {
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60, seconds % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lld:%02lld", seconds / 60, seconds % 60);
  }
  return text.data();
}

}  // namespace bellwether::console
