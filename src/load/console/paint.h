// The bytes that change a terminal from one grid to another: only the cells that differ.
#pragma once

#include <string>

#include "load/console/grid.h"
#include "load/console/terminfo.h"

namespace bellwether::console {

// `before` is the current content; if its size is not that of `after`, everything is drawn anew. Empty when nothing
// differs. The cell in the last column of the last row is never written: some terminals scroll then.
std::string paint(const Grid& before, const Grid& after, const Terminfo& codes);

}  // namespace bellwether::console
