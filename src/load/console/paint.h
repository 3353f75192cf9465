// What to write to a terminal so that it shows another grid than before: only the cells that differ.
#pragma once

#include <string>

#include "load/console/grid.h"
#include "load/console/terminfo.h"

namespace bellwether::console {

// `before` is what stands there; another size than that of `after`: everything is drawn anew. Empty when nothing
// differs. The cell in the last column of the last row is never written: some terminals scroll then.
std::string paint(const Grid& before, const Grid& after, const Terminfo& codes);

}  // namespace bellwether::console
