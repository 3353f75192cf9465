#include "load/script/lua/prelude.h"

#include <lua.hpp>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/check.h"

namespace bellwether::script::lua {
namespace {

// `place(level)`: the line from which a function `level` calls up was called.
constexpr const char* kPrelude = R"lua(
local declared, place = ...
declared.workflows, declared.functions = {}, {}
local known = {}

local function refuse(text) error(text, 3) end

local function check_name(kind, name)
  if type(name) ~= "string" then error(kind .. " needs a name: " .. kind .. "(\"NAME\", …)", 3) end
end

local function check_table(what, value)
  if value ~= nil and type(value) ~= "table" then error(what .. " must be a table, not a " .. type(value), 3) end
end

function scenario(settings)
  if type(settings) ~= "table" then refuse("scenario needs a table: scenario {name = \"NAME\"}") end
  if declared.settings then refuse("scenario is there twice; the first is in line " .. declared.settings.line) end
  declared.settings = {line = place(2), value = settings}
end

local Workflow = {}
Workflow.__index = Workflow

local function add(workflow, kind, name, options, run, action)
  if getmetatable(workflow) ~= Workflow then
    error("write a colon: WORKFLOW:" .. kind .. "(\"NAME\", function)", 3)
  end
  if type(name) ~= "string" then error(kind .. " needs a name: WORKFLOW:" .. kind .. "(\"NAME\", function)", 3) end
  if type(options) == "function" and run == nil then options, run = {}, options end
  if options ~= nil and type(options) ~= "table" then
    error("the options of " .. kind .. " '" .. name .. "' must be a table, not a " .. type(options), 3)
  end
  if run ~= nil and type(run) ~= "function" then
    error("the work of " .. kind .. " '" .. name .. "' must be a function, not a " .. type(run), 3)
  end
  local before = workflow.names[name]
  if before then error("step '" .. name .. "' is there twice; the first is in line " .. before, 3) end
  if run == nil and action then error("an action needs a function", 3) end
  local line = place(3)
  workflow.names[name] = line
  table.insert(workflow.record.steps,
    {name = name, line = line, options = options or {}, run = run ~= nil, action = action})
  if run then declared.functions[workflow.record.name .. "." .. name] = run end
  return workflow
end

-- No tail calls: they would take the frame away whose line is asked for.
function Workflow:step(name, options, run)
  local made = add(self, "step", name, options, run, false)
  return made
end
function Workflow:action(name, options, run)
  local made = add(self, "action", name, options, run, true)
  return made
end

function workflow(name, settings)
  check_name("workflow", name)
  check_table("the settings of workflow '" .. name .. "'", settings)
  if known[name] then refuse("workflow '" .. name .. "' is there twice; the first is in line " .. known[name]) end
  known[name] = place(2)
  local record = {name = name, line = known[name], settings = settings or {}, steps = {}}
  table.insert(declared.workflows, record)
  return setmetatable({record = record, names = {}}, Workflow)
end
)lua";

int place(lua_State* state) {
  lua_Debug where{};
  const int level = static_cast<int>(luaL_checkinteger(state, 1));
  const bool known = lua_getstack(state, level, &where) != 0 && lua_getinfo(state, "l", &where) != 0;
  lua_pushinteger(state, known && where.currentline > 0 ? where.currentline : 0);
  return 1;
}

}  // namespace

Status push_declarations(lua_State* state) {
  check(luaL_loadbuffer(state, kPrelude, std::char_traits<char>::length(kPrelude), "=bellwether") == 0,
        "the prelude is Lua");
  lua_newtable(state);
  lua_pushvalue(state, -1);
  lua_insert(state, -3);  // the table, the function, the table
  lua_pushcfunction(state, place);
  if (lua_pcall(state, 2, 0, 0) == 0) return {};
  const char* text = lua_tostring(state, -1);
  return fail(Errc::kInvalid, text == nullptr ? "no memory" : text);
}

namespace {

// Names of the functions of the table at `index`.
std::vector<std::string> functions_at(lua_State* state, int index) {
  std::vector<std::string> out;
  lua_pushnil(state);
  for (; lua_next(state, index) != 0; lua_pop(state, 1)) {
    if (lua_isfunction(state, -1) && lua_iscfunction(state, -1) == 0 && lua_type(state, -2) == LUA_TSTRING) {
      out.emplace_back(lua_tostring(state, -2));
    }
  }
  return out;
}

}  // namespace

Status push_function(lua_State* state, int declarations, const std::string& name) {
  lua_getfield(state, declarations, "functions");
  lua_getfield(state, -1, name.c_str());
  if (!lua_isfunction(state, -1)) {
    lua_pop(state, 1);
    lua_getglobal(state, name.c_str());
  }
  if (lua_isfunction(state, -1)) {
    lua_remove(state, -2);
    return {};
  }
  lua_pop(state, 1);
  std::vector<std::string> names = functions_at(state, lua_gettop(state));
  lua_pop(state, 1);
  for (std::string& global : functions_at(state, LUA_GLOBALSINDEX)) {
    if (global != "scenario" && global != "workflow") names.push_back(std::move(global));
  }
  std::string message = fmt::format("there is no function '{}'", name);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(name, candidates);
  if (!near.empty()) message += fmt::format(": did you mean '{}'?", near);
  return fail(Errc::kNotFound, std::move(message));
}

}  // namespace bellwether::script::lua
