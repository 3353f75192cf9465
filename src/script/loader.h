// The programs of a plan, by the language that they are written in.
#pragma once

#include <memory>

#include "base/result.h"
#include "plan/plan.h"
#include "script/lua/state.h"
#include "vuser/program.h"

namespace bellwether::script {

// One for all load threads.
class Loader final : public vuser::ProgramLoader {
 public:
  explicit Loader(lua::Permissions may = {}) : may_(may) {}
  Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program) const override;

 private:
  lua::Permissions may_;
};

}  // namespace bellwether::script
