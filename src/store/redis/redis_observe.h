// What a script's reply means.
#pragma once

#include <string>

#include "base/result.h"
#include "election/lease_record.h"
#include "store/redis/redis_reply.h"

namespace bellwether::store {

// The state that a script replied with, as seen through a connection to `server`. kProtocol when it is not what our
// scripts reply.
Result<election::Observation> observe_redis(const RedisReply& state, const std::string& server);

}  // namespace bellwether::store
