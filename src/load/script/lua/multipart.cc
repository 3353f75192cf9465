// Bodies of multipart/form-data (RFC 7578) from tables of scripts.
#include <algorithm>
#include <lua.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/encoding.h"
#include "load/script/lua/host.h"

namespace bellwether::script::lua {

namespace {

constexpr std::size_t kMaxParts = 1000;
constexpr std::size_t kMaxMultipart = 64u << 20;

// The member of the table on top, if it is a text or a number. The text lasts as long as the table.
std::optional<std::string> member_text(lua_State* state, const char* name) {
  lua_pushstring(state, name);
  lua_rawget(state, -2);
  std::optional<std::string> out;
  if (lua_type(state, -1) == LUA_TSTRING || lua_type(state, -1) == LUA_TNUMBER) out = text_at(state, -1);
  lua_pop(state, 1);
  return out;
}

struct Part {
  std::string name;
  std::string text;
  std::optional<std::string> filename;
  std::optional<std::string> type;
};

// Adds the parts of the value on top: a text, a number, {text = …, filename = …, type = …}, or a list of them.
bool read_parts(lua_State* state, const std::string& name, std::vector<Part>& out, bool in_list = false) {
  const std::size_t count = lua_istable(state, -1) && !in_list ? lua_objlen(state, -1) : 0;
  if (count > 0) {
    for (std::size_t i = 1; i <= count; ++i) {
      lua_rawgeti(state, -1, static_cast<int>(i));
      if (!read_parts(state, name, out, true)) return false;
      lua_pop(state, 1);
    }
    return true;
  }
  if (out.size() == kMaxParts) return refuse(state, fmt::format("'multipart' has at most {} parts", kMaxParts));
  Part part{.name = name, .text = {}, .filename = {}, .type = {}};
  std::optional<std::string> text;
  if (lua_istable(state, -1)) {
    text = member_text(state, "text");
    part.filename = member_text(state, "filename");
    part.type = member_text(state, "type");
    std::size_t members = 0;
    lua_pushnil(state);
    for (; lua_next(state, -2) != 0; lua_pop(state, 1)) ++members;
    if (members != std::size_t{text.has_value()} + part.filename.has_value() + part.type.has_value()) text.reset();
  } else if (lua_type(state, -1) == LUA_TSTRING || lua_type(state, -1) == LUA_TNUMBER) {
    lua_pushvalue(state, -1);
    text = text_at(state, -1);
    lua_pop(state, 1);
  }
  if (!text || (part.type && part.type->find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)) {
    return refuse(state,
                  fmt::format("the part '{}' of 'multipart' must be a text, {{text = …, filename = …, type = …}}, "
                              "or a list of them",
                              name));
  }
  part.text = std::move(*text);
  out.push_back(std::move(part));
  return true;
}

}  // namespace

std::optional<std::string> make_multipart(lua_State* state, Host& host, Prng& prng) {
  const auto refuse = [state](std::string_view message) {
    push_text(state, message);
    return std::nullopt;
  };
  if (!lua_istable(state, -1)) return refuse("'multipart' must be a table: {title = \"a text\"}");
  std::vector<Part> parts;
  lua_pushnil(state);
  for (; lua_next(state, -2) != 0; lua_pop(state, 1)) {
    if (lua_type(state, -2) != LUA_TSTRING) return refuse("the parts of 'multipart' have names: {NAME = TEXT}");
    if (!read_parts(state, std::string(text_at(state, -2)), parts)) return std::nullopt;
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.name < b.name; });
  const std::string boundary = "bellwether-" + hex(prng.next()) + hex(prng.next());
  std::string& body = host.scratch;
  body.clear();
  for (const Part& part : parts) {
    body += "--" + boundary + "\r\nContent-Disposition: form-data; name=\"";
    plan::append_form_name(part.name, body);
    if (part.filename) {
      body += "\"; filename=\"";
      plan::append_form_name(*part.filename, body);
    }
    body += '"';
    if (part.type || part.filename) body += "\r\nContent-Type: " + part.type.value_or("application/octet-stream");
    body += "\r\n\r\n";
    body += part.text;
    body += "\r\n";
    if (body.size() > kMaxMultipart) return refuse("'multipart' has at most 64 MiB");
  }
  body += "--" + boundary + "--\r\n";
  return "multipart/form-data; boundary=" + boundary;
}

}  // namespace bellwether::script::lua
