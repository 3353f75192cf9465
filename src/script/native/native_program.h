// A compiled workflow on one load thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "plan/plan.h"
#include "vuser/program.h"

namespace bellwether::script::native {

// Errors as Library::open().
Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program);

}  // namespace bellwether::script::native
