#include "election/store/redis/redis_reply.h"

#include <array>
#include <hiredis/hiredis.h>

#include "core/base/check.h"

namespace bellwether::store {
namespace {

RedisReply convert(const redisReply& from) {
  RedisReply reply;
  switch (from.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      reply.type = RedisReply::Type::kText;
      reply.text.assign(from.str, static_cast<std::size_t>(from.len));
      break;
    case REDIS_REPLY_ERROR:
      reply.type = RedisReply::Type::kError;
      reply.text.assign(from.str, static_cast<std::size_t>(from.len));
      break;
    case REDIS_REPLY_INTEGER:
      reply.type = RedisReply::Type::kInteger;
      reply.integer = from.integer;
      break;
    case REDIS_REPLY_ARRAY:
      reply.type = RedisReply::Type::kArray;
      for (std::size_t i = 0; i < from.elements; ++i) reply.items.push_back(convert(*from.element[i]));
      break;
    default: break;
  }
  return reply;
}

struct ReplyMeaning {
  std::string_view word;
  Errc code;
  std::string_view advice;
};

constexpr std::array kReplyMeanings{
    ReplyMeaning{"NOAUTH", Errc::kRefused, "give a password: ?password_file=FILE or the variable REDISCLI_AUTH"},
    ReplyMeaning{"WRONGPASS", Errc::kRefused, "the user or the password is wrong"},
    ReplyMeaning{"ERR invalid password", Errc::kRefused, "the password is wrong"},
    ReplyMeaning{"ERR AUTH", Errc::kRefused, "the server requires no password, but one was given"},
    ReplyMeaning{"NOPERM", Errc::kRefused,
                 "the user needs EVALSHA, EVAL, SCRIPT, INFO, SCAN, PUBLISH, SUBSCRIBE and the commands of the keys"},
    ReplyMeaning{"READONLY", Errc::kRefused, "this is a replica: name its primary"},
    ReplyMeaning{"OOM", Errc::kExhausted, "its memory is full (maxmemory)"},
    ReplyMeaning{"MISCONF", Errc::kIo, "it cannot write to its disk"},
    ReplyMeaning{"NOREPLICAS", Errc::kUnreachable, "it has fewer replicas than it must write to"},
    ReplyMeaning{"LOADING", Errc::kUnreachable, "it is loading its data: wait"},
    ReplyMeaning{"MASTERDOWN", Errc::kUnreachable, "its primary is down"},
    ReplyMeaning{"BUSY", Errc::kUnreachable, "a script of another client blocks it"},
    ReplyMeaning{"CLUSTERDOWN", Errc::kUnreachable, "its cluster is down"},
    ReplyMeaning{"MOVED", Errc::kUnsupported, "this is a Redis Cluster, which cannot store leases: use one primary"},
    ReplyMeaning{"CROSSSLOT", Errc::kUnsupported,
                 "this is a Redis Cluster, which cannot store leases: use one primary"},
    ReplyMeaning{"WRONGTYPE", Errc::kInvalid, "another program stores a value that is not a lock under this key"},
};

// The common beginning of both. The version has three parts: the stamp of the last act, or the marker if none; the
// server and its life; and a foreign program's value with its expiry, so that its renewals are seen. The expiry of the
// plain key of our own record changes nothing.
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

bool RedisReply::is_error(std::string_view word) const {
  return type == Type::kError && std::string_view(text).starts_with(word);
}

Error error_of(const RedisReply& reply, const std::string& where) {
  for (const ReplyMeaning& meaning : kReplyMeanings) {
    // Older servers wrap the error of a script: "ERR Error running script …: -READONLY …".
    const std::string wrapped = "-" + std::string(meaning.word);
    if (reply.text.starts_with(meaning.word) || reply.text.find(wrapped) != std::string::npos) {
      return {meaning.code, fmt::format("{}: {} ({})", where, meaning.advice, reply.text)};
    }
  }
  return {Errc::kProtocol, fmt::format("{}: Redis answered: {}", where, reply.text)};
}

std::string encode_command(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    pointers.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* bytes = nullptr;
  const int size = redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), pointers.data(), sizes.data());
  check(size >= 0, "memory for a command");
  std::string command(bytes, static_cast<std::size_t>(size));
  redisFreeCommand(bytes);
  return command;
}

void RedisDecoder::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

RedisDecoder::RedisDecoder() : reader_(redisReaderCreate()) { check(reader_ != nullptr, "memory for a decoder"); }

Status RedisDecoder::feed(std::string_view bytes) {
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) == REDIS_OK) return {};
  return fail(Errc::kProtocol, std::string("this is not Redis: ") + reader_->errstr);
}

Result<std::optional<RedisReply>> RedisDecoder::next() {
  void* raw = nullptr;
  if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK) {
    return fail(Errc::kProtocol, std::string("this is not Redis: ") + reader_->errstr);
  }
  if (raw == nullptr) return std::optional<RedisReply>();
  auto* reply = static_cast<redisReply*>(raw);
  std::optional<RedisReply> converted = convert(*reply);
  freeReplyObject(reply);
  return converted;
}

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
