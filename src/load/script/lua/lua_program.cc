#include "load/script/lua/lua_program.h"

#include <lua.hpp>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "load/script/lua/host.h"

namespace bellwether::script::lua {
namespace {

// Kilobytes. All states of a process share an address range of 2 GiB, and a state without memory cannot even say so.
constexpr int kMaxMemory = 512 * 1024;

// The globals belong to all users of the thread: a step must not leave values there for other users.
constexpr const char* kLock = R"lua(
setmetatable(_G, {__newindex = function(_, name)
  error("a step cannot make the global '" .. tostring(name) .. "', which all users would share: write local " ..
        tostring(name) .. ", or keep it in the user's table", 2)
end, __metatable = false})
)lua";

struct LuaUser final : vuser::Program::User {
  LuaUser(lua_State* state_, int table_, int results_) : state(state_), table(table_), results(results_) {}
  ~LuaUser() override {
    luaL_unref(state, LUA_REGISTRYINDEX, table);
    luaL_unref(state, LUA_REGISTRYINDEX, results);
  }
  lua_State* state;
  int table;              // the user's, in the registry
  int results;            // values that steps of this iteration left for others, by their names; there too
  std::vector<int> left;  // the names of those values, there too
};

class LuaProgram final : public vuser::Program {
 public:
  static Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program, Permissions may) {
    BW_TRY(auto state, new_state(may));
    std::unique_ptr<LuaProgram> made(new LuaProgram(std::move(state)));
    lua_State* lua = made->host_.state.get();
    made->script_ = program;
    made->host_.script = &made->script_;
    push_response_kind(lua, made->host_);
    lua_newtable(lua);
    made->host_.paths = luaL_ref(lua, LUA_REGISTRYINDEX);
    push_calls(lua, made->host_);
    BW_RETURN_IF_ERROR(push_declarations(lua));
    BW_RETURN_IF_ERROR(load_text(lua, *program.text, program.name));
    BW_RETURN_IF_ERROR(call(lua, 0));
    BW_RETURN_IF_ERROR(load_text(lua, kLock, "lock"));
    BW_RETURN_IF_ERROR(call(lua, 0));
    return made;
  }

  Result<uint32_t> find(const plan::CodeCall& call) override {
    lua_State* lua = host_.state.get();
    BW_RETURN_IF_ERROR(push_function(lua, 1, call.function));
    Function function;
    function.call = &call;
    function.function = luaL_ref(lua, LUA_REGISTRYINDEX);
    lua_newtable(lua);
    for (std::size_t i = 0; i < call.checks.size(); ++i) number(call.checks[i], i);
    function.checks.table = luaL_ref(lua, LUA_REGISTRYINDEX);
    lua_newtable(lua);
    for (std::size_t i = 0; i < call.sets.size(); ++i) number(call.sets[i].name, i);
    function.sets.table = luaL_ref(lua, LUA_REGISTRYINDEX);
    lua_newtable(lua);
    for (std::size_t i = 0; i < call.metrics.size(); ++i) number(call.metrics[i].name, i);
    function.metrics.table = luaL_ref(lua, LUA_REGISTRYINDEX);
    lua_newtable(lua);
    for (std::size_t i = 0; i < call.requests.size(); ++i) number(call.requests[i], i);
    function.names.table = luaL_ref(lua, LUA_REGISTRYINDEX);
    for (Requests& requests : function.requests) {
      lua_newtable(lua);
      requests.table = luaL_ref(lua, LUA_REGISTRYINDEX);
    }
    host_.functions.push_back(function);
    return static_cast<uint32_t>(host_.functions.size() - 1);
  }

  std::unique_ptr<User> new_user(uint32_t number) override {
    lua_State* lua = host_.state.get();
    lua_createtable(lua, 0, 4);
    lua_pushnumber(lua, number);
    lua_setfield(lua, -2, "id");
    lua_newtable(lua);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -3, "results");
    const int results = luaL_ref(lua, LUA_REGISTRYINDEX);
    return std::make_unique<LuaUser>(lua, luaL_ref(lua, LUA_REGISTRYINDEX), results);
  }

  void begin_iteration(User& user, uint64_t iteration) override {
    auto& mine = static_cast<LuaUser&>(user);
    lua_State* lua = host_.state.get();
    lua_rawgeti(lua, LUA_REGISTRYINDEX, mine.table);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, iteration_);
    lua_pushnumber(lua, static_cast<double>(iteration));
    lua_rawset(lua, -3);
    if (!mine.left.empty()) forget_results(mine);
    lua_pop(lua, 1);
  }

  void begin(uint32_t function, User& user, vuser::CodeRun& run) override {
    if (lua_gc(host_.state.get(), LUA_GCCOUNT, 0) > kMaxMemory) {
      return run.fail(fmt::format("the script holds more than {} MiB", kMaxMemory / 1024));
    }
    Strand& strand = take_strand();
    strand.function = &host_.functions[function];
    strand.run = &run;
    strand.waiting = Strand::Waiting::kNothing;
    strand.response = 0;
    run.state = &strand;
    auto& mine = static_cast<LuaUser&>(user);
    lua_State* lua = strand.state;
    lua_rawgeti(lua, LUA_REGISTRYINDEX, strand.function->function);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, mine.table);
    strand.user = &mine;
    const int arguments = push_arguments(strand);
    resume(strand, 1 + arguments);
  }

  void go_on(vuser::CodeRun& run) override {
    auto& strand = *static_cast<Strand*>(run.state);
    int answers = 0;
    if (strand.waiting == Strand::Waiting::kResponse) {
      push_response(strand.state, host_, strand);
      answers = 1;
    }
    strand.waiting = Strand::Waiting::kNothing;
    resume(strand, answers);
  }

  bool copies_responses() const override { return true; }

  void abandon(vuser::CodeRun& run) override { drop(*static_cast<Strand*>(run.state)); }

 private:
  explicit LuaProgram(State state) {
    host_.state = std::move(state);
    iteration_ = hold("iteration");
    results_ = hold("results");
  }

  // Of the table on top: name → index, from 1.
  void number(const std::string& name, std::size_t index) {
    lua_State* lua = host_.state.get();
    lua_pushlstring(lua, name.data(), name.size());
    lua_pushinteger(lua, static_cast<lua_Integer>(index + 1));
    lua_rawset(lua, -3);
  }

  Strand& take_strand() {
    if (host_.free_strands.empty()) {
      Strand& made = host_.strands.emplace_back();
      lua_State* lua = host_.state.get();
      made.state = lua_newthread(lua);
      made.place = luaL_ref(lua, LUA_REGISTRYINDEX);
      return made;
    }
    Strand* strand = host_.free_strands.back();
    host_.free_strands.pop_back();
    return *strand;
  }

  // How many were pushed.
  int push_arguments(Strand& strand) {
    const auto& arguments = strand.function->call->arguments;
    if (arguments.empty()) return 0;
    lua_State* lua = strand.state;
    lua_createtable(lua, 0, static_cast<int>(arguments.size()));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string_view value = strand.run->argument(i);
      lua_pushlstring(lua, value.data(), value.size());
      lua_setfield(lua, -2, arguments[i].name.c_str());
    }
    return 1;
  }

  void resume(Strand& strand, int arguments) {
    int how = 0;
    host_.running = &strand;
    {
      const Slice slice(strand.state);
      how = lua_resume(strand.state, arguments);
    }
    host_.running = nullptr;
    if (how == LUA_YIELD) return;  // the run has its wish
    if (how == 0) {
      keep_result(strand);
      strand.run->end();
      strand.response = 0;
      host_.free_strands.push_back(&strand);
      return;
    }
    strand.run->fail(message_of(strand.state));
    drop(strand);
  }

  // Later steps find the result of a step under its name.
  void keep_result(Strand& strand) {
    lua_State* lua = strand.state;
    if (lua_gettop(lua) == 0) return;
    if (!lua_isnil(lua, 1)) {
      auto& user = static_cast<LuaUser&>(*strand.user);
      int& name = strand.function->name;
      if (name == 0) name = hold(strand.run->site().step().name);
      lua_rawgeti(lua, LUA_REGISTRYINDEX, user.results);
      lua_rawgeti(lua, LUA_REGISTRYINDEX, name);
      lua_pushvalue(lua, 1);
      lua_rawset(lua, -3);
      user.left.push_back(name);
    }
    lua_settop(lua, 0);
  }

  // Of the user whose table is on top. A new table each time would be most of the work of Lua's collector.
  void forget_results(LuaUser& user) {
    lua_State* lua = host_.state.get();
    lua_rawgeti(lua, LUA_REGISTRYINDEX, user.results);
    for (const int name : user.left) {
      lua_rawgeti(lua, LUA_REGISTRYINDEX, name);
      lua_pushnil(lua);
      lua_rawset(lua, -3);
    }
    user.left.clear();
    lua_pushnil(lua);
    if (lua_next(lua, -2) != 0) {  // the script itself has put a value there
      lua_pop(lua, 3);
      lua_newtable(lua);
      lua_pushvalue(lua, -1);
      lua_rawseti(lua, LUA_REGISTRYINDEX, user.results);
    }
    lua_rawgeti(lua, LUA_REGISTRYINDEX, results_);
    lua_insert(lua, -2);
    lua_rawset(lua, -3);
  }

  // Its place in the registry.
  int hold(std::string_view text) {
    lua_State* lua = host_.state.get();
    lua_pushlstring(lua, text.data(), text.size());
    return luaL_ref(lua, LUA_REGISTRYINDEX);
  }

  // The coroutine cannot be used again.
  void drop(Strand& strand) {
    lua_State* lua = host_.state.get();
    luaL_unref(lua, LUA_REGISTRYINDEX, strand.place);
    strand.response = 0;
    strand.state = lua_newthread(lua);
    strand.place = luaL_ref(lua, LUA_REGISTRYINDEX);
    host_.free_strands.push_back(&strand);
  }

  plan::Program script_;
  Host host_;
  int iteration_ = 0;  // names of the users' members, in the registry
  int results_ = 0;
};

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

Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program, Permissions may) {
  return LuaProgram::load(program, may);
}

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
