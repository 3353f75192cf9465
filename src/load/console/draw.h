// Draws a view as a screen of any size. Pure.
#pragma once

#include <cstddef>

#include "load/console/grid.h"
#include "load/console/steering.h"
#include "load/console/view.h"

namespace bellwether::console {

// From this number of columns on, the parts beside the steps stand to their right.
inline constexpr int kWideColumns = 140;

struct Drawn {
  Grid grid;
  std::size_t steps_shown = 0;  // of the shown workflow
};

// `utf8` false: ASCII only.
Drawn draw(const View& view, const Steering& steering, bool utf8, int columns, int rows);

// "0:12", "1:02:03".
std::string clock_text(Duration span);

}  // namespace bellwether::console
