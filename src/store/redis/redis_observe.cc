#include "store/redis/redis_observe.h"

#include "base/bytes.h"
#include "store/doubt.h"
#include "store/redis/redis_scripts.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using election::Observation;

// Places in the reply.
struct Part {
  enum : unsigned char { kVersion, kPlain, kLeft, kForeign, kMarker, kServerNow, kHash, kParts };
};

uint64_t number(const std::string& text) { return parse_u64(text).value_or(0); }
WallTime wall(const std::string& millis) { return {static_cast<int64_t>(number(millis)) * 1'000'000}; }

// The marker is "server:born", as the script writes it.
ServerLife life_of(const std::string& server, uint64_t now, const std::string& marker) {
  const auto colon = marker.rfind(':');
  if (colon == std::string::npos) return {server, now, {}, 0};
  return {server, now, marker.substr(0, colon), number(marker.substr(colon + 1))};
}

void read_record(const std::vector<RedisReply>& fields, election::LeaseRecord& record) {
  const auto field = [&](RedisField name) -> const std::string& { return fields[static_cast<std::size_t>(name)].text; };
  record.holder = field(RedisField::kHolder);
  record.token = field(RedisField::kToken);
  record.epoch = Epoch(number(field(RedisField::kEpoch)));
  record.renewal = number(field(RedisField::kRenewal));
  record.lease = Duration::millis(static_cast<int64_t>(number(field(RedisField::kLease))));
  record.region = field(RedisField::kRegion);
  record.heir = field(RedisField::kHeir);
  record.cause = field(RedisField::kCause);
  record.acquired_at = wall(field(RedisField::kAcquired));
  record.renewed_at = wall(field(RedisField::kRenewed));
}

void show_foreign(const RedisReply& state, Observation& seen) {
  seen.present = true;
  seen.foreign = true;
  const std::string& value = state.items[Part::kPlain].text;
  seen.record = {.holder = value.empty() ? "(another program)" : value, .token = value, .epoch = seen.record.epoch};
  const int64_t left = state.items[Part::kLeft].integer;
  if (left > 0) {
    seen.record.lease = Duration::millis(left);
    seen.left = seen.record.lease;
  } else {
    seen.evidence = "a lock of another program that never expires: only that program, or DEL, gives it back";
  }
}

}  // namespace

Result<Observation> observe_redis(const RedisReply& state, const std::string& server) {
  if (state.type != RedisReply::Type::kArray || state.items.size() != Part::kParts ||
      state.items[Part::kHash].items.size() != kRedisFields) {
    return fail(Errc::kProtocol, "Redis replied to a script what this script never replies");
  }
  Observation seen;
  seen.version = state.items[Part::kVersion].text;
  const std::vector<RedisReply>& fields = state.items[Part::kHash].items;
  const ServerLife life = life_of(server, number(state.items[Part::kServerNow].text), state.items[Part::kMarker].text);
  seen.present = fields[static_cast<std::size_t>(RedisField::kStamp)].type == RedisReply::Type::kText;
  if (seen.present) {
    read_record(fields, seen.record);
    judge_record(life, fields[static_cast<std::size_t>(RedisField::kServer)].text, "Redis", seen);
  } else {
    judge_absence(life, "Redis", seen);
  }
  if (state.items[Part::kForeign].integer == 1) {
    show_foreign(state, seen);
  } else if (seen.record.held() && state.items[Part::kLeft].integer > 0) {
    seen.left = Duration::millis(state.items[Part::kLeft].integer);
  }
  return seen;
}

}  // namespace bellwether::store
