#include "load/script/loader.h"

#include "bellwether/workflow_abi.h"
#include "core/signature/signature.h"
#include "load/script/lua/lua_program.h"
#include "load/script/native/declarations.h"

namespace bellwether::script {

Result<std::unique_ptr<vuser::Program>> Loader::load(const plan::Program& program) const {
  switch (program.language) {
    case plan::Program::Language::kLua: return lua::load(program, may_);
    case plan::Program::Language::kNative: break;
  }
  const std::string& bytes = *program.text;
  if (compiled_ == Compiled::kTrusted) {
    BW_RETURN_IF_ERROR(signature::admit(bytes, program.name, trusted_, BELLWETHER_ABI_VERSION));
  } else if (signature::is_signed(bytes)) {
    // The signer meant other bytes than these.
    BW_RETURN_IF_ERROR(signature::read(bytes, program.name));
  }
  return native::load(program);
}

}  // namespace bellwether::script
