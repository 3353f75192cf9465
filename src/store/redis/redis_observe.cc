#include "store/redis/redis_observe.h"

#include "base/bytes.h"
#include "base/units.h"
#include "store/redis/redis_scripts.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using election::Observation;

// Places in the reply.
enum Part : unsigned char { kVersion, kPlain, kLeft, kForeign, kMarker, kNow, kHash, kParts };

uint64_t number(const std::string& text) { return parse_u64(text).value_or(0); }
WallTime wall(const std::string& millis) { return {static_cast<int64_t>(number(millis)) * 1'000'000}; }

// "server:born", as the script writes it.
struct Marker {
  std::string server;
  uint64_t born = 0;  // 0: there is none, or none that we understand
};
Marker parse_marker(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {};
  return {text.substr(0, colon), number(text.substr(colon + 1))};
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

// No record: is that because nobody ever held the key, or because the server has forgotten? Where nobody can have held
// it, it is shown as free since the store began to keep leases, with an epoch above all that were given before.
void doubt_absence(const Marker& marker, const std::string& server, uint64_t now, Duration doubt_for,
                   Observation& seen) {
  if (marker.born == 0) {
    seen.may_have_lost_data = true;
    seen.floor = Epoch(now);
    seen.evidence = "this Redis has never kept leases, or has lost all its data";
    return;
  }
  if (marker.server != server) {
    seen.may_have_lost_data = true;
    seen.floor = Epoch(std::max(now, marker.born + 1));
    seen.evidence = "this Redis was restarted or replaced: what was written last may be lost";
    return;
  }
  seen.present = true;
  seen.record.epoch = Epoch(marker.born);
  seen.record.cause = "nobody has held the key";
  const Duration age = Duration::millis(static_cast<int64_t>(now) - static_cast<int64_t>(marker.born));
  if (age < doubt_for) {
    seen.may_have_lost_data = true;
    seen.evidence = "this Redis is new, or was restarted or replaced within " + format_duration(doubt_for);
  }
}

// Written in an earlier life of the server: what came after it may be lost.
void doubt_record(uint64_t now, Observation& seen) {
  seen.may_have_lost_data = true;
  seen.record.lease = Duration::zero();  // a later one, now lost, may have been longer
  seen.floor = Epoch(std::max(now, seen.record.epoch.value() + 1));
  seen.evidence = "Redis was restarted or replaced after this was written: what was written last may be lost";
}

void show_foreign(const RedisReply& state, Observation& seen) {
  seen.present = true;
  seen.foreign = true;
  const std::string& value = state.items[kPlain].text;
  seen.record = {.holder = value.empty() ? "(another program)" : value, .token = value, .epoch = seen.record.epoch};
  const int64_t left = state.items[kLeft].integer;
  if (left > 0) {
    seen.record.lease = Duration::millis(left);
    seen.left = seen.record.lease;
  } else {
    seen.evidence = "a lock of another program that never expires: only that program, or DEL, gives it back";
  }
}

}  // namespace

Result<Observation> observe_redis(const RedisReply& state, const std::string& server, Duration doubt_for) {
  if (state.type != RedisReply::Type::kArray || state.items.size() != kParts ||
      state.items[kHash].items.size() != kRedisFields) {
    return fail(Errc::kProtocol, "Redis replied to a script what this script never replies");
  }
  Observation seen;
  seen.version = state.items[kVersion].text;
  const std::vector<RedisReply>& fields = state.items[kHash].items;
  const uint64_t now = number(state.items[kNow].text);
  seen.present = fields[static_cast<std::size_t>(RedisField::kStamp)].type == RedisReply::Type::kText;
  if (seen.present) {
    read_record(fields, seen.record);
    if (fields[static_cast<std::size_t>(RedisField::kServer)].text != server) doubt_record(now, seen);
  } else {
    doubt_absence(parse_marker(state.items[kMarker].text), server, now, doubt_for, seen);
  }
  if (state.items[kForeign].integer == 1) {
    show_foreign(state, seen);
  } else if (seen.record.held() && state.items[kLeft].integer > 0) {
    seen.left = Duration::millis(state.items[kLeft].integer);
  }
  return seen;
}

}  // namespace bellwether::store
