// Requests of scripts: http.get("/items", {headers = …}) and its like.
#include <algorithm>
#include <cmath>
#include <lua.hpp>
#include <optional>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/overloaded.h"
#include "core/http1/error_kind.h"
#include "load/plan/json_path.h"
#include "load/plan/selectors.h"
#include "load/scenario/statuses.h"
#include "load/script/lua/host.h"
#include "load/script/lua/json.h"

namespace bellwether::script::lua {

namespace {

constexpr std::array<std::string_view, 8> kOptions{"headers", "body",     "json", "multipart",
                                                   "timeout", "measured", "name", "expected_statuses"};
constexpr std::size_t kMaxHeaders = 100;

// The content of a table of options. The texts are those of the table, which the caller keeps.
struct Options {
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  std::optional<std::string_view> body;
  std::optional<Duration> timeout;
  vuser::CodeRun::Counting counting;
  std::vector<plan::StatusRange> expected;
  std::string multipart_type;
};

bool refuse(lua_State* state, const std::string& message) {
  push_text(state, message);
  return false;
}

bool read_headers(lua_State* state, Options& out) {
  if (!lua_istable(state, -1)) return refuse(state, "'headers' must be a table: {Accept = \"text/html\"}");
  lua_pushnil(state);
  while (lua_next(state, -2) != 0) {
    const bool fits = lua_type(state, -2) == LUA_TSTRING &&
                      (lua_type(state, -1) == LUA_TSTRING || lua_type(state, -1) == LUA_TNUMBER);
    if (!fits || out.headers.size() == kMaxHeaders) {
      return refuse(state, fmt::format("'headers' has at most {} names and texts", kMaxHeaders));
    }
    if (lua_type(state, -1) == LUA_TNUMBER) {
      // A number becomes a text in the table itself, so that the text lasts as long as the table.
      lua_pushvalue(state, -2);
      push_text(state, text_at(state, -2));
      lua_rawset(state, -5);
    }
    lua_pushvalue(state, -2);
    lua_rawget(state, -4);
    out.headers.emplace_back(text_at(state, -3), text_at(state, -1));
    lua_pop(state, 2);
  }
  return true;
}

// The value on top: 404, "3xx", or a list of them.
bool read_expected(lua_State* state, Options& out) {
  const bool is_list = lua_istable(state, -1);
  const std::size_t count = is_list ? lua_objlen(state, -1) : 1;
  for (std::size_t i = 1; i <= count && count <= scenario::kStatusRangesMax; ++i) {
    if (is_list) {
      lua_rawgeti(state, -1, static_cast<int>(i));
    } else {
      lua_pushvalue(state, -1);
    }
    const auto range = scenario::parse_statuses(text_at(state, -1));
    lua_pop(state, 1);
    if (!range) break;
    out.expected.push_back(*range);
  }
  return out.expected.size() == count && count > 0
             ? true
             : refuse(state, fmt::format("'expected_statuses' takes at most {} {}", scenario::kStatusRangesMax,
                                         "statuses and ranges of them: {200, \"3xx\", \"500-503\"}"));
}

bool read_option(lua_State* state, Host& host, Strand& strand, std::string_view name, Options& out) {
  if (name == "headers") return read_headers(state, out);
  if (name == "expected_statuses") return read_expected(state, out);
  if (name == "measured") {
    out.counting.measured = lua_toboolean(state, -1) != 0;
    return true;
  }
  if (name == "name") {
    const auto index = declared(state, lua_gettop(state), strand.function->names, "request", "requests");
    if (index) out.counting.name = static_cast<uint16_t>(*index + 1);
    return index.has_value();
  }
  if (name == "timeout") {
    out.timeout = duration_at(state, lua_gettop(state), "'timeout'");
    return out.timeout.has_value();
  }
  if (out.body) return refuse(state, "a request has one of 'body', 'json' and 'multipart'");
  if (name == "multipart") {
    const auto type = make_multipart(state, host, strand.run->prng());
    if (type) {
      out.multipart_type = *type;
      out.body = host.scratch;
    }
    return type.has_value();
  }
  if (name == "json") {
    host.scratch.clear();
    const Status made = append_json(state, -1, host.scratch);
    if (!made) return refuse(state, "'json': " + made.error().message);
    out.body = host.scratch;
    return true;
  }
  if (lua_type(state, -1) != LUA_TSTRING) return refuse(state, "'body' must be a text");
  out.body = text_at(state, -1);
  return true;
}

bool read_options(lua_State* state, Host& host, Strand& strand, int index, Options& out) {
  if (!lua_istable(state, index)) {
    return refuse(state, std::string("the options of a request must be a table, not a ") + luaL_typename(state, index));
  }
  bool json = false;
  lua_pushnil(state);
  for (; lua_next(state, index) != 0; lua_pop(state, 1)) {
    const std::string_view name = lua_type(state, -2) == LUA_TSTRING ? text_at(state, -2) : std::string_view();
    if (std::find(kOptions.begin(), kOptions.end(), name) == kOptions.end()) {
      std::string message = fmt::format("a request has no option '{}'; it has ", name);
      for (std::size_t i = 0; i < kOptions.size(); ++i) message += (i > 0 ? ", " : "") + std::string(kOptions[i]);
      const std::string_view near = nearest(name, kOptions);
      if (!near.empty()) message += fmt::format(": did you mean '{}'?", near);
      return refuse(state, message);
    }
    json |= name == "json";
    if (!read_option(state, host, strand, name, out)) return false;
  }
  const auto is_type = [](const auto& header) { return iequals(header.first, "content-type"); };
  const bool has_type = std::any_of(out.headers.begin(), out.headers.end(), is_type);
  if (json && !has_type) out.headers.emplace_back("Content-Type", "application/json");
  if (out.multipart_type.empty()) return true;
  if (has_type) return refuse(state, "'multipart' has its own Content-Type: take the header away");
  out.headers.emplace_back("Content-Type", out.multipart_type);
  return true;
}

// The prepared request of the URL at 1; nullptr: it must be put together each time.
const vuser::PreparedRequest* prepared(lua_State* state, Strand& strand, std::size_t method) {
  Requests& requests = strand.function->requests[method];
  const char* url = lua_tostring(state, 1);
  if (const auto* near = requests.known.find(url)) return *near;
  lua_rawgeti(state, LUA_REGISTRYINDEX, requests.table);
  lua_pushvalue(state, 1);
  lua_rawget(state, -2);
  const auto* known = static_cast<const vuser::PreparedRequest*>(lua_touserdata(state, -1));
  lua_pop(state, 1);
  if (known == nullptr) {
    known = strand.run->site().prepare(kMethods[method], text_at(state, 1));
    if (known != nullptr) {
      lua_pushvalue(state, 1);
      lua_pushlightuserdata(state, const_cast<vuser::PreparedRequest*>(known));
      lua_rawset(state, -3);
      requests.known.add(url, known);
    }
  }
  lua_pop(state, 1);
  return known;
}

// False, with a message pushed, when nothing can be sent.
bool begin_request(lua_State* state, Host& host, std::size_t method) {
  Strand* strand = strand_of(state, host, "http");
  if (strand == nullptr) return false;
  if (lua_type(state, 1) != LUA_TSTRING) {
    return refuse(state, std::string("the URL of a request must be a text, not a ") + luaL_typename(state, 1));
  }
  strand->response = 0;
  strand->waiting = Strand::Waiting::kResponse;
  vuser::CodeRun& run = *strand->run;
  if (lua_isnoneornil(state, 2)) {
    if (const vuser::PreparedRequest* request = prepared(state, *strand, method)) {
      run.send(*request, {});
      return true;
    }
  }
  Options options;
  if (!lua_isnoneornil(state, 2) && !read_options(state, host, *strand, 2, options)) return false;
  const vuser::RequestChange change{.method = kMethods[method],
                                    .url = text_at(state, 1),
                                    .headers = options.headers,
                                    .body = options.body,
                                    .expected = options.expected};
  const Status sent = run.send(change, options.timeout, options.counting);
  return sent ? true : refuse(state, sent.error().message);
}

int http(lua_State* state) {
  Host& host = host_of(state);
  const auto method = static_cast<std::size_t>(lua_tointeger(state, lua_upvalueindex(2)));
  if (!begin_request(state, host, method)) return raise(state);
  return lua_yield(state, 0);
}

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

void push_requests(lua_State* state, Host& host) {
  lua_newtable(state);
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    std::string name(kMethods[i]);
    for (char& c : name) c = ascii_lower(c);
    lua_pushlightuserdata(state, &host);
    lua_pushinteger(state, static_cast<lua_Integer>(i));
    lua_pushcclosure(state, http, 2);
    lua_setfield(state, -2, name.c_str());
  }
  lua_setglobal(state, "http");
}

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
  const bool answered = response.error == http1::ErrorKind::kNone;
  *held = {.strand = &strand,
           .number = strand.response,
           .took_ms = answered ? (response.done - response.sent).millis_f() : 0,
           .bytes = response.bytes_received,
           .status = response.status,
           .error = response.error};
  lua_rawgeti(state, LUA_REGISTRYINDEX, host.response_kind);
  lua_setmetatable(state, -2);
}

}  // namespace bellwether::script::lua
