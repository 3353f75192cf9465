#include "election/store/redis/redis_scripts.h"

namespace bellwether::store {
namespace {

// What both begin with. The version is the stamp that the last act left, or the marker where there was none; which life
// of which server; and what a foreign program has put in the way: its value with the time at which it expires, so that
// its renewals are seen. That the plain key of our own record expires changes nothing.
#define BELLWETHER_REDIS_STATE \
  R"lua(
local function state()
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local plain = redis.call('GET', KEYS[1])
  local f = redis.call('HMGET', KEYS[2], 'stamp', 'holder', 'token', 'epoch', 'renewal', 'lease', 'region', 'heir',
                       'cause', 'acquired', 'renewed', 'server')
  local marker = redis.call('GET', KEYS[3]) or ''
  local left = redis.call('PTTL', KEYS[1])
  local foreign = plain and (plain ~= f[3] or plain == '')
  local theirs = ''
  if foreign then
    local ends = redis.pcall('PEXPIRETIME', KEYS[1])
    if type(ends) ~= 'number' then ends = left < 0 and left or now + left end
    theirs = string.format('%.0f', ends) .. ' ' .. plain
  end
  local version = (f[1] or ('-' .. marker)) .. '|' .. ARGV[1] .. '|' .. theirs
  return {version, plain or '', left, foreign and 1 or 0, marker, string.format('%.0f', now), f}
end
)lua"

}  // namespace

const std::string_view kRedisLook = BELLWETHER_REDIS_STATE "return state()";

const std::string_view kRedisAct = BELLWETHER_REDIS_STATE R"lua(
local before = state()
local kind, token = ARGV[3], ARGV[6]
if before[1] ~= ARGV[2] or (kind == 'take' and before[4] == 1) then return {0, before} end
local now, f = before[6], before[7]
local acquired = kind == 'take' and now or f[10] or now
local renewed = kind == 'amend' and f[11] or now
redis.call('HSET', KEYS[2], 'stamp', ARGV[4], 'holder', ARGV[5], 'token', token, 'epoch', ARGV[7], 'renewal', ARGV[8],
           'lease', ARGV[9], 'region', ARGV[10], 'heir', ARGV[11], 'cause', ARGV[12], 'acquired', acquired,
           'renewed', renewed, 'server', ARGV[1])
if ARGV[5] == '' then
  if before[2] ~= '' and before[4] == 0 then redis.call('DEL', KEYS[1]) end
elseif kind ~= 'amend' then
  redis.call('SET', KEYS[1], token, 'PX', ARGV[9])
end
local server, born = string.match(before[5], '^(.*):(%d+)$')
if server ~= ARGV[1] then
  if born and tonumber(born) >= tonumber(now) then now = string.format('%.0f', tonumber(born) + 1) end
  redis.call('SET', KEYS[3], ARGV[1] .. ':' .. now)
end
if kind ~= 'renew' then redis.pcall('PUBLISH', ARGV[13], ARGV[4]) end
return {1, state()}
)lua";

}  // namespace bellwether::store
