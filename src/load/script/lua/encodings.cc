// The functions for scripts on bytes: hash, base64, hex, url.

#include <algorithm>
#include <iterator>
#include <lua.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/hash.h"
#include "core/yaml/section.h"
#include "load/scenario/builtins.h"
#include "load/script/lua/host.h"

namespace bellwether::script::lua {
namespace {

std::string_view checked_text(lua_State* state, int index) {
  std::size_t size = 0;
  const char* text = luaL_checklstring(state, index, &size);
  return {text, size};
}

int push_scratch(lua_State* state, Host& host) {
  push_text(state, host.scratch);
  return 1;
}

bool transform(Host& host, Transform how, std::string_view bytes) {
  auto made = transformed(how, bytes);
  if (made) host.scratch = std::move(*made);
  return made.has_value();
}

int transform(lua_State* state) {
  Host& host = host_of(state);
  const auto how = static_cast<Transform>(lua_tointeger(state, lua_upvalueindex(2)));
  if (!transform(host, how, checked_text(state, 1))) {
    return luaL_error(state, "hex.decode takes pairs of hexadecimal digits");
  }
  return push_scratch(state, host);
}

int hmac(lua_State* state) {
  Host& host = host_of(state);
  const std::string_view name = checked_text(state, 1);
  const auto kind = hash_named(name);
  if (!kind) {
    refuse(state, no_digest(name));
    return raise(state);
  }
  const std::string_view key = checked_text(state, 2);
  const std::string_view text = checked_text(state, 3);
  host.scratch = hex(hmac_of(*kind, key, text));
  return push_scratch(state, host);
}

struct Named {
  const char* name;
  Transform how;
};
constexpr Named kBase64[] = {
    {"encode", Transform::kBase64}, {"encode_url", Transform::kBase64Url}, {"decode", Transform::kBase64Decode}};
constexpr Named kHex[] = {{"encode", Transform::kHex}, {"decode", Transform::kHexDecode}};
constexpr Named kUrl[] = {{"encode", Transform::kUrl}};

// Into the table on top.
void set_transform(lua_State* state, Host& host, const Named& one) {
  lua_pushlightuserdata(state, &host);
  lua_pushinteger(state, static_cast<lua_Integer>(one.how));
  lua_pushcclosure(state, transform, 2);
  lua_setfield(state, -2, one.name);
}

void push_library(lua_State* state, Host& host, const char* name, std::span<const Named> functions) {
  lua_newtable(state);
  for (const Named& one : functions) set_transform(state, host, one);
  lua_setglobal(state, name);
}

}  // namespace

std::optional<HashKind> hash_named(std::string_view name) {
  const auto* const found = std::ranges::find(scenario::kHashNames, name);
  if (found == std::end(scenario::kHashNames)) return std::nullopt;
  return static_cast<HashKind>(found - std::begin(scenario::kHashNames));
}

std::string no_digest(std::string_view name) {
  return fmt::format("hash.hmac: {} is no digest; expected: {}", yaml::in_quotes(name),
                     yaml::one_of(scenario::kHashNames));
}

void push_encodings(lua_State* state, Host& host) {
  lua_newtable(state);
  for (std::size_t i = 0; i < std::size(scenario::kHashNames); ++i) {
    set_transform(state, host, {scenario::kHashNames[i].data(), static_cast<Transform>(i)});
  }
  set_function(state, host, "hmac", hmac);
  lua_setglobal(state, "hash");
  push_library(state, host, "base64", kBase64);
  push_library(state, host, "hex", kHex);
  push_library(state, host, "url", kUrl);
}

// Bodies of multipart/form-data (RFC 7578) from tables of scripts.

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
  std::ranges::stable_sort(parts, [](const Part& a, const Part& b) { return a.name < b.name; });
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
