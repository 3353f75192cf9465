#include "script/loader.h"

#include "script/lua/lua_program.h"
#include "script/native/native_program.h"

namespace bellwether::script {

Result<std::unique_ptr<vuser::Program>> Loader::load(const plan::Program& program) const {
  switch (program.language) {
    case plan::Program::Language::kLua: return lua::load(program, may_);
    case plan::Program::Language::kNative: break;
  }
  if (compiled_ == Compiled::kRun) return native::load(program);
  return fail(Errc::kUnsupported,
              "'" + program.name + "' is a compiled program without the signature of a key that is trusted here");
}

}  // namespace bellwether::script
