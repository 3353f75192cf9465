// The functions for scripts on bytes: hash, base64, hex.
#include <array>
#include <lua.hpp>
#include <optional>
#include <string>

#include "core/base/encoding.h"
#include "core/base/hash.h"
#include "load/script/lua/host.h"

namespace bellwether::script::lua {

namespace {

// In the order of HashKind. The null ends the list for Lua.
constexpr std::array<const char*, 5> kHashes{"md5", "sha1", "sha256", "sha512", nullptr};

std::string_view checked_text(lua_State* state, int index) {
  std::size_t size = 0;
  const char* text = luaL_checklstring(state, index, &size);
  return {text, size};
}

int push_scratch(lua_State* state, Host& host) {
  push_text(state, host.scratch);
  return 1;
}

int hash(lua_State* state) {
  Host& host = host_of(state);
  const auto kind = static_cast<HashKind>(lua_tointeger(state, lua_upvalueindex(2)));
  const std::string_view text = checked_text(state, 1);
  host.scratch = hex(hash_of(kind, text));
  return push_scratch(state, host);
}

int hmac(lua_State* state) {
  Host& host = host_of(state);
  const auto kind = static_cast<HashKind>(luaL_checkoption(state, 1, nullptr, kHashes.data()));
  const std::string_view key = checked_text(state, 2);
  const std::string_view text = checked_text(state, 3);
  host.scratch = hex(hmac_of(kind, key, text));
  return push_scratch(state, host);
}

int base64_encode(lua_State* state) {
  Host& host = host_of(state);
  const std::string_view bytes = checked_text(state, 1);
  host.scratch.clear();
  append_base64(bytes, host.scratch);
  return push_scratch(state, host);
}

// RFC 4648 §5, without padding: as in tokens and URLs.
int base64_encode_url(lua_State* state) {
  base64_encode(state);
  std::string& text = host_of(state).scratch;
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return push_scratch(state, host_of(state));
}

int base64_decode(lua_State* state) {
  Host& host = host_of(state);
  host.scratch = checked_text(state, 1);
  for (char& c : host.scratch) c = c == '-' ? '+' : c == '_' ? '/' : c;
  host.scratch = bytes_of_base64(host.scratch);
  return push_scratch(state, host);
}

int hex_encode(lua_State* state) {
  Host& host = host_of(state);
  const std::string_view bytes = checked_text(state, 1);
  host.scratch = hex(bytes);
  return push_scratch(state, host);
}

bool decode_hex(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    out += static_cast<char>(high * 16 + low);
  }
  return text.size() % 2 == 0;
}

int hex_decode(lua_State* state) {
  Host& host = host_of(state);
  if (!decode_hex(checked_text(state, 1), host.scratch)) {
    return luaL_error(state, "hex.decode takes pairs of hexadecimal digits");
  }
  return push_scratch(state, host);
}

}  // namespace

void push_encodings(lua_State* state, Host& host) {
  lua_newtable(state);
  for (std::size_t i = 0; kHashes[i] != nullptr; ++i) {
    lua_pushlightuserdata(state, &host);
    lua_pushinteger(state, static_cast<lua_Integer>(i));
    lua_pushcclosure(state, hash, 2);
    lua_setfield(state, -2, kHashes[i]);
  }
  set_function(state, host, "hmac", hmac);
  lua_setglobal(state, "hash");
  lua_newtable(state);
  set_function(state, host, "encode", base64_encode);
  set_function(state, host, "encode_url", base64_encode_url);
  set_function(state, host, "decode", base64_decode);
  lua_setglobal(state, "base64");
  lua_newtable(state);
  set_function(state, host, "encode", hex_encode);
  set_function(state, host, "decode", hex_decode);
  lua_setglobal(state, "hex");
}

}  // namespace bellwether::script::lua
