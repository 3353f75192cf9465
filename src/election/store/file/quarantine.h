// Files that cannot be read are put aside, for whoever wants to find out what happened, and only so many of them.
#pragma once

#include <string>

#include "core/runtime/runtime.h"

namespace bellwether::store {

inline constexpr std::size_t kMostQuarantined = 8;

// Renames `path` to `path`.quarantine-TIME-N and removes the oldest of such files beyond the limit. For whoever has the
// lock that guards `path`.
runtime::task<Status> put_aside(runtime::Runtime& runtime, std::string path);

// The same with a copy of what is in there, `text`; `path` itself stays, to be replaced in one step.
runtime::task<Status> copy_aside(runtime::Runtime& runtime, std::string path, std::string text);

}  // namespace bellwether::store
