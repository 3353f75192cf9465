// The programs of a plan, by their language.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/signature/keys.h"
#include "load/plan/plan.h"
#include "load/script/lua/state.h"
#include "load/vuser/program.h"

namespace bellwether::script {

// Compiled programs have all rights of this process. The user's own run on the user's machine. Programs from elsewhere
// run only when one of the trusted keys has signed them, for the interface of this product.
enum class Compiled : uint8_t { kTrusted, kRun };

// One for all load threads, any of which may call it.
class Loader final : public vuser::ProgramLoader {
 public:
  explicit Loader(Compiled compiled = Compiled::kTrusted, lua::Permissions may = {},
                  std::vector<signature::PublicKey> trusted = {})
      : compiled_(compiled), may_(may), trusted_(std::move(trusted)) {}
  // For the thread that calls. kInvalid with Lua's message; of a compiled program errors as Library::open() and, when
  // it must be trusted, as signature::admit().
  Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program) const override;

 private:
  Compiled compiled_;
  lua::Permissions may_;  // of scripts
  std::vector<signature::PublicKey> trusted_;
};

}  // namespace bellwether::script
