// A compiled workflow on one load thread.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "load/plan/plan.h"
#include "load/vuser/program.h"

namespace bellwether::script::native {

// Errors as of Library::open().
Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program);

}  // namespace bellwether::script::native
