// Responses of scripts: res.status, res:json("$.id") and its like.
#include <cmath>
#include <lua.hpp>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/overloaded.h"
#include "core/http1/error_kind.h"
#include "load/plan/json_path.h"
#include "load/plan/selectors.h"
#include "load/script/lua/host.h"
#include "load/script/lua/json.h"

namespace bellwether::script::lua {

namespace {

constexpr const char* kKind = "response";
// In the order of metrics::Phase.
constexpr std::array<const char*, metrics::kPhases> kPhases{"dns", "connect", "tls", "send", "wait", "receive"};

// Of a method, whose first upvalue is the host.
HeldResponse& held(lua_State* state) {
  const bool is_one = lua_getmetatable(state, 1) != 0 && lua_topointer(state, -1) == host_of(state).response_kind_at;
  if (!is_one) luaL_checkudata(state, 1, kKind);  // names the wrong type
  lua_pop(state, 1);
  return *static_cast<HeldResponse*>(lua_touserdata(state, 1));
}

// The response itself, while it exists; else nullptr, with a message pushed.
const http1::Response* whole(lua_State* state, const HeldResponse& response) {
  if (response.strand->response == response.number) return &response.strand->run->response();
  lua_pushliteral(state,
                  "this response is gone: its body and headers last until the next request of the step, or the step's "
                  "end. Take what you need of it before");
  return nullptr;
}

int push_body(lua_State* state, const HeldResponse& response) {
  const http1::Response* all = whole(state, response);
  if (all == nullptr) return raise(state);
  lua_pushlstring(state, all->body.data(), all->body.size());
  return 1;
}

int push_url(lua_State* state, const HeldResponse& response) {
  const http1::Response* all = whole(state, response);
  if (all == nullptr) return raise(state);
  const std::string url = all->url();
  lua_pushlstring(state, url.data(), url.size());
  return 1;
}

int push_timings(lua_State* state, const HeldResponse& response) {
  if (whole(state, response) == nullptr) return raise(state);
  const auto phases = response.strand->run->phases();
  lua_createtable(state, 0, static_cast<int>(phases.size()));
  for (std::size_t i = 0; i < phases.size(); ++i) {
    lua_pushnumber(state, phases[i].millis_f());
    lua_setfield(state, -2, kPhases[i]);
  }
  return 1;
}

int index(lua_State* state) {
  const auto& response = *static_cast<const HeldResponse*>(lua_touserdata(state, 1));
  const char* name = lua_type(state, 2) == LUA_TSTRING ? lua_tostring(state, 2) : nullptr;
  const Field* field = host_of(state).fields.find(name);
  if (field == nullptr) {
    return luaL_error(state,
                      "a response has no '%s'; it has status, ok, body, error, duration, bytes, timings, url, json(), "
                      "json_all(), css(), xpath() and header()",
                      name != nullptr ? name : luaL_typename(state, 2));
  }
  switch (*field) {
    case Field::kStatus: lua_pushinteger(state, response.status); return 1;
    case Field::kOk: lua_pushboolean(state, response.status >= 200 && response.status < 400 ? 1 : 0); return 1;
    case Field::kBody: return push_body(state, response);
    case Field::kError:
      if (response.error == http1::ErrorKind::kNone) {
        lua_pushnil(state);
      } else {
        const std::string_view kind = http1::to_string(response.error);
        lua_pushlstring(state, kind.data(), kind.size());
      }
      return 1;
    case Field::kDuration: lua_pushnumber(state, response.took_ms); return 1;
    case Field::kBytes: lua_pushnumber(state, static_cast<double>(response.bytes)); return 1;
    case Field::kTimings: return push_timings(state, response);
    case Field::kUrl: return push_url(state, response);
    case Field::kJson: lua_pushvalue(state, lua_upvalueindex(2)); return 1;
    case Field::kHeader: lua_pushvalue(state, lua_upvalueindex(3)); return 1;
    case Field::kAll: lua_pushvalue(state, lua_upvalueindex(4)); return 1;
    case Field::kCss: lua_pushvalue(state, lua_upvalueindex(5)); return 1;
    case Field::kXpath: lua_pushvalue(state, lua_upvalueindex(6)); return 1;
  }
  return 0;
}

// Pushes one value of the body, or a message; the result says which.
bool push_found(lua_State* state, const HeldResponse& response, const plan::JsonPath& path) {
  vuser::CodeRun& run = *response.strand->run;
  const vuser::JsonReader::Value value = run.json(path);
  using Reader = vuser::JsonReader;
  const auto push_found_number = [&](double number) {
    std::string written;  // from where on a double does not say all
    if (std::fabs(number) >= kMaxWhole) run.json_text(path, written);
    return push_number(state, number, written), true;
  };
  const auto push_compound = [&](Reader::Compound) {
    std::string text;
    if (!run.json_text(path, text)) return lua_pushnil(state), true;
    const Status made = push_json(state, text);
    if (!made) lua_pushlstring(state, made.error().message.data(), made.error().message.size());
    return made.has_value();
  };
  return std::visit(
      Overloaded{[&](std::string_view text) { return lua_pushlstring(state, text.data(), text.size()), true; },
                 push_found_number, [&](bool flag) { return lua_pushboolean(state, flag ? 1 : 0), true; },
                 push_compound,
                 [&]<OneOf<std::monostate, Reader::Null> Nothing>(Nothing) { return lua_pushnil(state), true; }},
      value);
}

int json(lua_State* state) {
  const HeldResponse& response = held(state);
  if (whole(state, response) == nullptr) return raise(state);
  if (lua_isnoneornil(state, 2)) {
    lua_settop(state, 1);
    lua_pushliteral(state, "$");
  }
  Host& host = host_of(state);
  const plan::JsonPath* path = host.path_at(state, 2);
  if (path == nullptr || !push_found(state, response, *path)) return raise(state);
  return 1;
}

// Pushes a table of all values, or a message; the result says which.
bool push_all(lua_State* state, const HeldResponse& response) {
  Host& host = host_of(state);
  const plan::JsonPath* path = host.path_at(state, 2);
  if (path == nullptr) return false;
  if (path->many == nullptr) {
    return refuse(state, fmt::format("the path '{}' names one value: use res:json()", text_at(state, 2)));
  }
  if (!response.strand->run->json_list(*path, host.scratch)) return lua_pushnil(state), true;
  const Status made = push_json(state, host.scratch);
  return made ? true : refuse(state, made.error().message);
}

int json_all(lua_State* state) {
  const HeldResponse& response = held(state);
  if (whole(state, response) == nullptr || !push_all(state, response)) return raise(state);
  return 1;
}

// css() and xpath(), which the second upvalue tells apart.
int markup(lua_State* state) {
  const HeldResponse& response = held(state);
  if (whole(state, response) == nullptr) return raise(state);
  Host& host = host_of(state);
  const auto* expression = host.expression_at(state, 2, lua_toboolean(state, lua_upvalueindex(2)) != 0);
  if (expression == nullptr) return raise(state);
  if (response.strand->run->markup_text(*expression, host.scratch)) {
    push_text(state, host.scratch);
  } else {
    lua_pushnil(state);
  }
  return 1;
}

int header(lua_State* state) {
  const HeldResponse& response = held(state);
  std::size_t size = 0;
  const char* name = luaL_checklstring(state, 2, &size);
  const http1::Response* all = whole(state, response);
  if (all == nullptr) return raise(state);
  const std::string_view value = all->status == 0 ? std::string_view() : all->head().header({name, size});
  if (value.data() == nullptr) {
    lua_pushnil(state);
  } else {
    lua_pushlstring(state, value.data(), value.size());
  }
  return 1;
}

void add_field(lua_State* state, Host& host, const char* name, Field field) {
  lua_pushstring(state, name);
  host.fields.add(lua_tostring(state, -1), field);
  luaL_ref(state, LUA_REGISTRYINDEX);  // held by the state
}

void push_method(lua_State* state, Host& host, lua_CFunction function) {
  lua_pushlightuserdata(state, &host);
  lua_pushcclosure(state, function, 1);
}

}  // namespace

const plan::JsonPath* Host::path_at(lua_State* from, int index) {
  if (lua_type(from, index) != LUA_TSTRING) {
    lua_pushfstring(from, "a JSON path is a text such as \"$.items[0].id\", not a %s", luaL_typename(from, index));
    return nullptr;
  }
  std::size_t size = 0;
  const char* text = lua_tolstring(from, index, &size);
  if (const auto* near = near_paths.find(text)) return *near;
  lua_rawgeti(from, LUA_REGISTRYINDEX, paths);
  lua_pushvalue(from, index);
  lua_rawget(from, -2);
  const auto* known = static_cast<const plan::JsonPath*>(lua_touserdata(from, -1));
  lua_pop(from, 2);
  if (known != nullptr) return known;
  auto path = plan::parse_json_path({text, size});
  if (!path) {
    lua_pushfstring(from, "'%s' is no JSON path: %s", text, path.error().message.c_str());
    return nullptr;
  }
  if (known_paths.size() >= kMaxPaths) {
    lua_pushfstring(from, "more than %d different JSON paths: parse the body once instead, by res:json()",
                    static_cast<int>(kMaxPaths));
    return nullptr;
  }
  known_paths.push_back(std::move(*path));
  lua_rawgeti(from, LUA_REGISTRYINDEX, paths);
  lua_pushvalue(from, index);
  lua_pushlightuserdata(from, &known_paths.back());
  lua_rawset(from, -3);
  lua_pop(from, 1);
  near_paths.add(text, &known_paths.back());
  return &known_paths.back();
}

const vuser::MarkupReader::Expression* Host::expression_at(lua_State* from, int index, bool css) {
  const char* const what = css ? "a selector" : "an XPath";
  if (lua_type(from, index) != LUA_TSTRING) {
    lua_pushfstring(from, "%s is a text, not a %s", what, luaL_typename(from, index));
    return nullptr;
  }
  const std::string_view attribute = css ? text_at(from, index + 1) : std::string_view();
  std::string key = fmt::format("{}{}\n{}", css ? "css " : "xpath ", attribute, text_at(from, index));
  const auto known = expressions.find(key);
  if (known != expressions.end()) return &known->second;
  Result<std::string> text = std::string(text_at(from, index));
  if (css) text = plan::css_to_xpath(*text, attribute);
  const Status good = !text ? Status(tl::unexpected(text.error())) : plan::check_xpath(*text);
  if (!good) {
    push_text(from, fmt::format("'{}' is not {}: {}", text_at(from, index), what, good.error().message));
    return nullptr;
  }
  if (expressions.size() >= kMaxPaths) {
    lua_pushfstring(from, "more than %d different selectors and XPaths", static_cast<int>(kMaxPaths));
    return nullptr;
  }
  return &expressions.try_emplace(std::move(key), *text).first->second;
}

void push_response_kind(lua_State* state, Host& host) {
  luaL_newmetatable(state, kKind);
  host.response_kind_at = lua_topointer(state, -1);
  add_field(state, host, "status", Field::kStatus);
  add_field(state, host, "ok", Field::kOk);
  add_field(state, host, "body", Field::kBody);
  add_field(state, host, "error", Field::kError);
  add_field(state, host, "duration", Field::kDuration);
  add_field(state, host, "bytes", Field::kBytes);
  add_field(state, host, "timings", Field::kTimings);
  add_field(state, host, "url", Field::kUrl);
  add_field(state, host, "json", Field::kJson);
  add_field(state, host, "header", Field::kHeader);
  add_field(state, host, "json_all", Field::kAll);
  add_field(state, host, "css", Field::kCss);
  add_field(state, host, "xpath", Field::kXpath);
  lua_pushlightuserdata(state, &host);
  push_method(state, host, json);
  push_method(state, host, header);
  push_method(state, host, json_all);
  for (const bool css : {true, false}) {
    lua_pushlightuserdata(state, &host);
    lua_pushboolean(state, css ? 1 : 0);
    lua_pushcclosure(state, markup, 2);
  }
  lua_pushcclosure(state, index, 6);
  lua_setfield(state, -2, "__index");
  lua_pushliteral(state, "a response");
  lua_setfield(state, -2, "__metatable");
  host.response_kind = luaL_ref(state, LUA_REGISTRYINDEX);
}

void push_response(lua_State* state, Host& host, Strand& strand) {
  const http1::Response& response = strand.run->response();
  auto* held = static_cast<HeldResponse*>(lua_newuserdata(state, sizeof(HeldResponse)));
  strand.response = ++host.responses;
  *held = {.strand = &strand,
           .number = strand.response,
           .took_ms = strand.run->took().millis_f(),
           .bytes = response.bytes_received,
           .status = response.status,
           .error = response.error};
  lua_rawgeti(state, LUA_REGISTRYINDEX, host.response_kind);
  lua_setmetatable(state, -2);
}

}  // namespace bellwether::script::lua
