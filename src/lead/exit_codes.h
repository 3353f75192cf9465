// How the commands that lead end, beside the codes of what they ran.
#pragma once

namespace bellwether::lead {

inline constexpr int kExitLostLeadership = 75;  // with --once: the term ended before the command did
inline constexpr int kExitWrong = 104;          // what was asked for cannot be done; nothing was begun
inline constexpr int kExitCannotExecute = 126;
inline constexpr int kExitNotFound = 127;

}  // namespace bellwether::lead
