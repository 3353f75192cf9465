// The files of a folder, or those that fit a pattern, of which each request sends one.
#pragma once

#include <vector>

#include "load/plan/plan.h"

namespace bellwether::plan {

struct BodyFiles {
  // Which one. kSequential: part p of n takes the files p, p + n, … one after the other, from 0 and modulo their
  // number.
  enum class Pick : uint8_t { kSequential, kRandom };
  Pick pick = Pick::kSequential;
  std::vector<Template> bodies;  // in the order of their names, byte by byte; at least one
};

}  // namespace bellwether::plan
