#include <algorithm>
#include <cmath>
#include <lua.hpp>

#include "core/yaml/section.h"
#include "load/plan/modules.h"
#include "load/script/lua/host.h"
#include "load/script/lua/lua_program.h"
#include "load/script/lua/state.h"

namespace bellwether::script::lua {
namespace {

constexpr int kMaxTableDepth = 32;
constexpr std::size_t kMaxBytes = 1u << 20;  // the limit of a scenario

// The keys of a step's function, and not of the step itself.
constexpr std::string_view kOfFunction[] = {"args", "sets", "checks", "requests"};

struct Problem {
  int line = 0;
  std::string message;
  std::string hint = {};
};

// Writes flow YAML, which is JSON but for the line ends that keep it beside the script.
class Writer {
 public:
  Writer(lua_State* state, std::string file) : state_(state), file_(std::move(file)) {}

  std::vector<Problem>& problems() { return problems_; }
  std::string take() { return std::move(out_) + "\n"; }

  // The table of declarations is on top of the stack.
  void write_all() {
    out_ += '{';
    lua_getfield(state_, -1, "settings");
    if (lua_istable(state_, -1)) {
      go_to(line_field());
      lua_getfield(state_, -1, "value");
      write_members({}, "the scenario");
      lua_pop(state_, 1);
      if (out_.back() != '{') out_ += ", ";
    }
    lua_pop(state_, 1);
    out_ += "workflows: {";
    lua_getfield(state_, -1, "workflows");
    const auto count = static_cast<int>(lua_objlen(state_, -1));
    if (count == 0) {
      problems_.push_back({1, "the script declares no workflow",
                           "write: local shop = workflow(\"shop\", {vus = 1, duration = \"10s\"})"});
    }
    for (int i = 1; i <= count; ++i) {
      lua_rawgeti(state_, -1, i);
      if (i > 1) out_ += ", ";
      write_workflow();
      lua_pop(state_, 1);
    }
    lua_pop(state_, 1);
    out_ += "}}";
  }

 private:
  static bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  void go_to(int line) {
    for (; line_ < line; ++line_) out_ += '\n';
  }
  int line_field() {
    lua_getfield(state_, -1, "line");
    const auto line = static_cast<int>(lua_tointeger(state_, -1));
    lua_pop(state_, 1);
    return line;
  }
  std::string text_field(const char* name) {
    lua_getfield(state_, -1, name);
    std::size_t size = 0;
    const char* text = lua_tolstring(state_, -1, &size);
    std::string out = text == nullptr ? std::string() : std::string(text, size);
    lua_pop(state_, 1);
    return out;
  }
  bool flag(const char* name) {
    lua_getfield(state_, -1, name);
    const bool out = lua_toboolean(state_, -1) != 0;
    lua_pop(state_, 1);
    return out;
  }

  void write_workflow() {
    const std::string name = text_field("name");
    at_ = line_field();
    go_to(at_);
    write_text(name);
    out_ += ": {";
    lua_getfield(state_, -1, "settings");
    const bool has = write_members({}, fmt::format("workflow '{}'", name));
    lua_pop(state_, 1);
    if (has) out_ += ", ";
    out_ += "steps: {";
    lua_getfield(state_, -1, "steps");
    const auto count = static_cast<int>(lua_objlen(state_, -1));
    if (count == 0) problems_.push_back({at_, fmt::format("workflow '{}' has no steps", name), {}});
    for (int i = 1; i <= count; ++i) {
      lua_rawgeti(state_, -1, i);
      if (i > 1) out_ += ", ";
      write_step(name);
      lua_pop(state_, 1);
    }
    lua_pop(state_, 1);
    out_ += "}}";
  }

  void write_step(const std::string& workflow) {
    const std::string name = text_field("name");
    const std::string what = fmt::format("step '{}.{}'", workflow, name);
    at_ = line_field();
    go_to(at_);
    write_text(name);
    out_ += ": {";
    const bool action = flag("action");
    const bool runs = flag("run");
    lua_getfield(state_, -1, "options");
    if (!runs) {
      write_members({}, what);
    } else {
      if (write_members(kOfFunction, what)) out_ += ", ";
      if (action) out_ += "action: {";
      out_ += "lua: {file: ";
      write_text(file_);
      out_ += ", call: ";
      write_text(fmt::format("{}.{}", workflow, name));
      for (const std::string_view key : kOfFunction) {
        lua_getfield(state_, -1, std::string(key).c_str());
        if (!lua_isnil(state_, -1)) {
          out_ += fmt::format(", {}: ", key);
          write_value(fmt::format("{}: '{}'", what, key), 0);
        }
        lua_pop(state_, 1);
      }
      out_ += action ? "}}" : "}";
    }
    lua_pop(state_, 1);
    out_ += '}';
  }

  // The members of the table on top, in the order of their names, without those left out. False: none.
  bool write_members(std::span<const std::string_view> left_out, const std::string& what, int depth = 0) {
    std::vector<std::string> names;
    lua_pushnil(state_);
    while (lua_next(state_, -2) != 0) {
      lua_pop(state_, 1);
      if (lua_type(state_, -1) == LUA_TSTRING) {
        std::size_t size = 0;
        const char* text = lua_tolstring(state_, -1, &size);
        std::string name(text, size);
        if (!is_one_of(name, left_out)) names.push_back(std::move(name));
        continue;
      }
      problems_.push_back({at_, what + " has a member without a name", "write NAME = VALUE"});
    }
    std::sort(names.begin(), names.end());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i > 0) out_ += ", ";
      write_text(names[i]);
      out_ += ": ";
      lua_pushlstring(state_, names[i].data(), names[i].size());
      lua_rawget(state_, -2);
      write_value(fmt::format("{}: '{}'", what, names[i]), depth);
      lua_pop(state_, 1);
    }
    return !names.empty();
  }

  void write_value(const std::string& what, int depth) {
    if (depth > kMaxTableDepth || out_.size() > kMaxBytes || lua_checkstack(state_, 8) == 0) {
      if (problems_.empty()) problems_.push_back({at_, what + " is too deep or too large", {}});
      out_ += "null";
      return;
    }
    switch (lua_type(state_, -1)) {
      case LUA_TBOOLEAN: out_ += lua_toboolean(state_, -1) != 0 ? "true" : "false"; return;
      case LUA_TNUMBER: return write_number(lua_tonumber(state_, -1), what);
      case LUA_TSTRING: {
        std::size_t size = 0;
        const char* text = lua_tolstring(state_, -1, &size);
        return write_text({text, size});
      }
      case LUA_TTABLE: return write_table(what, depth);
      default:
        problems_.push_back({at_, fmt::format("{} cannot be a {}", what, luaL_typename(state_, -1)),
                             "a setting is a text, a number, true, false, or a table of them"});
        out_ += "null";
    }
  }

  void write_table(const std::string& what, int depth) {
    const auto count = static_cast<int>(lua_objlen(state_, -1));
    if (count == 0) {
      out_ += '{';
      write_members({}, what, depth + 1);
      out_ += '}';
      return;
    }
    out_ += '[';
    for (int i = 1; i <= count; ++i) {
      if (i > 1) out_ += ", ";
      lua_rawgeti(state_, -1, i);
      write_value(what, depth + 1);
      lua_pop(state_, 1);
    }
    out_ += ']';
    lua_pushnil(state_);
    int members = 0;
    for (; lua_next(state_, -2) != 0; lua_pop(state_, 1)) ++members;
    if (members > count) {
      problems_.push_back({at_, what + " is both a list and a table with names", "make two tables of it"});
    }
  }

  void write_number(double number, const std::string& what) {
    if (!std::isfinite(number)) problems_.push_back({at_, what + " is no number", {}});
    out_ += fmt::format("{:.14g}", number);
  }

  void write_text(std::string_view text) { out_ += yaml::flow_text(text); }

  lua_State* state_;
  std::string file_;
  std::string out_;
  int line_ = 1;
  int at_ = 0;
  std::vector<Problem> problems_;
};

yaml::Diagnostic diagnostic(const std::string& file, int line, std::string message, std::string hint = {}) {
  yaml::Diagnostic out;
  out.file = file;
  out.line = line;
  out.message = std::move(message);
  out.hint = std::move(hint);
  return out;
}

// A digest that no run could compute, where its name is written in the script.
Status check_digests(std::string_view text, const std::string& name) {
  for (const plan::ConstantArgument& one : plan::constant_arguments(text, "hash.hmac")) {
    if (!hash_named(one.text)) return fail(Errc::kInvalid, "{}:{}: {}", name, one.line, no_digest(one.text));
  }
  return {};
}

// A host that has run the code outside of functions in its state; the declarations are on its stack.
Result<std::unique_ptr<Host>> ran(const plan::Program& script, Permissions may) {
  BW_TRY(auto state, new_state(may));
  auto host = std::make_unique<Host>();
  host->state = std::move(state);
  lua_State* lua = host->state.get();
  host->script = &script;
  BW_RETURN_IF_ERROR(check_digests(*script.text, script.name));
  for (const plan::Module& module : script.modules) BW_RETURN_IF_ERROR(check_digests(*module.text, module.path));
  push_calls(lua, *host);
  BW_RETURN_IF_ERROR(push_declarations(lua));
  BW_RETURN_IF_ERROR(load_text(lua, *script.text, script.name));
  BW_RETURN_IF_ERROR(call(lua, 0));
  return host;
}

}  // namespace

bool is_script(std::string_view file_name) { return file_name.ends_with(".lua"); }

tl::expected<std::string, std::vector<yaml::Diagnostic>> describe(const plan::Program& script,
                                                                  const std::string& file_name, Permissions may) {
  const std::string& name = script.name;
  auto host = ran(script, may);
  if (!host) {
    const std::string& message = host.error().message;
    return tl::unexpected(
        std::vector{diagnostic(file_name, line_of(message, name), std::string(without_place(message, name)))});
  }
  Writer writer((*host)->state.get(), name);
  writer.write_all();
  if (writer.problems().empty()) return writer.take();
  std::vector<yaml::Diagnostic> out;
  for (Problem& problem : writer.problems()) {
    if (out.size() == yaml::Diagnostics::kMaxDiagnostics) break;
    out.push_back(diagnostic(file_name, problem.line, std::move(problem.message), std::move(problem.hint)));
  }
  return tl::unexpected(std::move(out));
}

Status check_functions(const plan::Program& script, const std::vector<std::string>& functions, Permissions may) {
  BW_TRY(auto host, ran(script, may));
  lua_State* lua = host->state.get();
  for (const std::string& function : functions) {
    BW_RETURN_IF_ERROR(push_function(lua, 1, function));
    lua_pop(lua, 1);
  }
  return {};
}

}  // namespace bellwether::script::lua
