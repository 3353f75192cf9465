// The programs of a plan, by the language that they are written in.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "plan/plan.h"
#include "script/lua/state.h"
#include "vuser/program.h"

namespace bellwether::script {

// Compiled programs can do whatever this process can. They are run for the user of this machine, and refused when they
// come from elsewhere.
enum class Compiled : uint8_t { kRefused, kRun };

// One for all load threads.
class Loader final : public vuser::ProgramLoader {
 public:
  explicit Loader(Compiled compiled = Compiled::kRefused, lua::Permissions may = {}) : compiled_(compiled), may_(may) {}
  Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program) const override;

 private:
  Compiled compiled_;
  lua::Permissions may_;  // of scripts
};

}  // namespace bellwether::script
