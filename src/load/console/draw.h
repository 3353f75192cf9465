// Draws a view as a screen of any size. Pure.
#pragma once

#include "load/console/grid.h"
#include "load/console/steering.h"
#include "load/console/view.h"

namespace bellwether::console {

// From this number of columns on, the parts beside the steps stand to their right.
inline constexpr int kWideColumns = 140;

struct Drawn {
  Grid grid;
  Shown shown;
};

// `utf8` false: ASCII only.
Drawn draw(const View& view, const Steering& steering, bool utf8, int columns, int rows);

}  // namespace bellwether::console
