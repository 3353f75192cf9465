// The functions for scripts on bytes: hash, base64, hex, url.
#include <algorithm>
#include <iterator>
#include <lua.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

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

}  // namespace bellwether::script::lua
