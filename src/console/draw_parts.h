// The parts of the screen, each into a box of its own.
#pragma once

#include <cstddef>

#include "console/grid.h"
#include "console/plot.h"
#include "console/steering.h"
#include "console/view.h"

namespace bellwether::console {

// What a screen is drawn with.
struct Brush {
  Grid& grid;
  const View& view;
  const Steering& steering;
  bool utf8;
};

void draw_header(Brush& brush, int row);
void draw_bar(Brush& brush, int row);
// Gives the rows it took, at most `rows`.
int draw_counters(Brush& brush, int row, int rows);
void draw_status_bar(Brush& brush, int row);
// In the middle, over everything else.
void draw_help(Brush& brush);

// Each with a title in its first row.
void draw_latency(Brush& brush, const Box& box);
std::size_t draw_steps(Brush& brush, const Box& box);  // gives the number of steps that are shown
void draw_thresholds(Brush& brush, const Box& box);
void draw_events(Brush& brush, const Box& box);
void draw_placement(Brush& brush, const Box& box);

}  // namespace bellwether::console
