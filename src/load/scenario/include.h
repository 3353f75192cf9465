// A scenario file and the files that it includes, as one tree. The marks name the file of each node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/scenario/document.h"
#include "load/scenario/sources.h"

namespace bellwether::scenario {

constexpr std::size_t kMaxIncludes = 20;         // files, all together
constexpr std::size_t kMaxIncludeDepth = 8;      // that include each other
constexpr uint64_t kMaxIncludeBytes = 1u << 20;  // of one

struct Included {
  Node root;                         // without `include`; included content stands before that of the including file
  std::vector<std::string> folders;  // as in Reading, for each file
  std::vector<std::string> texts;    // of each file; the first is the scenario's own
};

// Reads the scenario and its includes. Problems go to `diagnostics`, which learns the names of all files; empty when
// the scenario file itself is unusable. REQUIRES sources.outside.
std::optional<Included> read_with_includes(const Sources& sources, Diagnostics& diagnostics);

}  // namespace bellwether::scenario
