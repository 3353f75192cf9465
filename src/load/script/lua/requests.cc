// Requests of scripts: http.get("/items", {headers = …}) and its like.
#include <algorithm>
#include <lua.hpp>
#include <optional>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
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
  for (std::size_t i = 1; i <= count && count <= scenario::kMaxStatusRanges; ++i) {
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
             : refuse(state, fmt::format("'expected_statuses' takes at most {} {}", scenario::kMaxStatusRanges,
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
  const bool has_type = std::ranges::any_of(out.headers, is_type);
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

}  // namespace

void push_requests(lua_State* state, Host& host) {
  lua_newtable(state);
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    const std::string name = lower_case(kMethods[i]);
    lua_pushlightuserdata(state, &host);
    lua_pushinteger(state, static_cast<lua_Integer>(i));
    lua_pushcclosure(state, http, 2);
    lua_setfield(state, -2, name.c_str());
  }
  lua_setglobal(state, "http");
}

}  // namespace bellwether::script::lua
