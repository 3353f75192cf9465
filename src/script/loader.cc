#include "script/loader.h"

#include "script/lua/lua_program.h"

namespace bellwether::script {

Result<std::unique_ptr<vuser::Program>> Loader::load(const plan::Program& program) const {
  switch (program.language) {
    case plan::Program::Language::kLua: return lua::load(program, may_);
    case plan::Program::Language::kNative: break;
  }
  return fail(Errc::kUnsupported, "'" + program.name + "': compiled programs are not available");
}

}  // namespace bellwether::script
