// The processes that a drill breaks: those that it starts itself, or those that are there already.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/runtime/task.h"

namespace bellwether::lead {

class DrillTargets {
 public:
  virtual ~DrillTargets() = default;
  virtual runtime::task<Status> start() = 0;
  // Breaks the one with this name; kNotFound when there is none, or when it cannot be reached from here.
  virtual runtime::task<Status> break_one(std::string holder, uint64_t epoch) = 0;
  // Makes what was broken whole again, as far as that can be done from here.
  virtual runtime::task<Status> repair() = 0;
  // The end: nothing stays broken that this could mend, and nothing stays that start() began.
  virtual runtime::task<void> stop() = 0;
  // Where their acts are noted (act_log.h); empty when nobody notes them.
  virtual std::string act_file() const = 0;
};

}  // namespace bellwether::lead
