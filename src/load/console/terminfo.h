// The codes of a kind of terminal, from the system's terminfo database (ncurses).
#pragma once

#include <array>
#include <string>

#include "core/base/result.h"
#include "load/console/grid.h"

namespace bellwether::console {

struct Terminfo {
  std::string enter;  // to the second screen, without a cursor
  std::string leave;  // all of that back
  std::string clear;
  std::string plain;                               // no look
  std::array<std::string, kStyles> styles;         // after `plain`
  std::string move_code;                           // with terminfo's parameters
  std::string move_to(int row, int column) const;  // from 0
};

// Of the terminal `name` ($TERM). `color` false: bold, dim and reverse only. kUnsupported: it is unknown, or cannot
// move its cursor or clear its screen.
Result<Terminfo> terminfo_of(const std::string& name, bool color);

}  // namespace bellwether::console
