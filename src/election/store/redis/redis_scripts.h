// The two scripts of the Redis store. Redis runs a script without anything in between, so that each is one
// compare-and-act, and one round trip.
#pragma once

#include <string_view>

namespace bellwether::store {

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
