// The codec of Redis' protocol (RESP2), without a connection: commands become bytes, bytes become replies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

struct redisReader;

namespace bellwether::store {

struct RedisReply {
  enum class Type : uint8_t { kNil, kText, kInteger, kArray, kError };
  Type type = Type::kNil;
  std::string text;  // kText; of an error its whole line: "READONLY You can't write …"
  int64_t integer = 0;
  std::vector<RedisReply> items;

  bool is_error(std::string_view word) const;
};

// The meaning of an error reply for an administrator. `where`: the server, for the message.
Error error_of(const RedisReply& reply, const std::string& where);

// The bytes of a command. Its words are any bytes.
std::string encode_command(const std::vector<std::string>& words);

class RedisDecoder {
 public:
  RedisDecoder();
  // `bytes` have arrived. kProtocol when they make no sense; then nothing more may be fed.
  Status feed(std::string_view bytes);
  // The next whole reply, or nothing until more has been fed.
  Result<std::optional<RedisReply>> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  std::unique_ptr<redisReader, Free> reader_;
};

// The two scripts of the Redis store. Redis runs a script without interruption, so each is one compare-and-act, and one
// round trip.

// KEYS: the plain key, the hash of its record, the marker of the store.
// ARGV: the server (RedisLink::server()).
// Replies: version, plain value or "", milliseconds left of it (-1: for ever, -2: not there), whether it is of a
// foreign program, marker or "", the server's clock in ms, and the fields of the hash in the order of kRedisFields.
extern const std::string_view kRedisLook;

// ARGV besides: the version that is expected, kind of act, then the new values of stamp, holder, token, epoch, renewal,
// lease, region, heir, cause; and the channel on which changes are announced.
// Replies: whether it was done, then as kRedisLook, of the state after it.
extern const std::string_view kRedisAct;

// Places in the array of fields.
enum class RedisField : unsigned char {
  kStamp,
  kHolder,
  kToken,
  kEpoch,
  kRenewal,
  kLease,
  kRegion,
  kHeir,
  kCause,
  kAcquired,
  kRenewed,
  kServer,
};
inline constexpr int kRedisFields = 12;

}  // namespace bellwether::store
