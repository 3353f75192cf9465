// The parts of the screen. Each draws into its box.
#pragma once

#include <cstddef>

#include "load/console/grid.h"
#include "load/console/plot.h"
#include "load/console/steering.h"
#include "load/console/view.h"

namespace bellwether::console {

// The tools for drawing a screen.
struct Brush {
  Grid& grid;
  const View& view;
  const Steering& steering;
  bool utf8;
};

void draw_header(Brush& brush, int row);
void draw_bar(Brush& brush, int row);
// Returns the number of rows that it took, at most `rows`. Without room for all: failures, latency and rate first.
int draw_counters(Brush& brush, int row, int rows);
// The causes of failed requests that fit into a row, by count.
void draw_failures(Brush& brush, int row);
// `has_pages`: not all workflows are shown.
void draw_status_bar(Brush& brush, int row, bool has_pages);
// In the middle, over everything else.
void draw_help(Brush& brush);

// Each with a title in its first row.
void draw_latency(Brush& brush, const Box& box);
// The steps of the workflow that is steered to, and of as many others as fit whole.
Shown draw_steps(Brush& brush, const Box& box);
// The rows in which draw_steps() shows all of them.
int rows_of_all_steps(const View& view);
void draw_thresholds(Brush& brush, const Box& box);
void draw_events(Brush& brush, const Box& box);
void draw_placement(Brush& brush, const Box& box);

}  // namespace bellwether::console
