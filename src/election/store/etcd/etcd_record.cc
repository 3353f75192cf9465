#include "election/store/etcd/etcd_record.h"

#include <nlohmann/json.hpp>

namespace bellwether::store {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;

std::string record_text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
int64_t signed_number(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

}  // namespace

std::string etcd_value_of(const election::LeaseRecord& record) {
  const Json value{{"bellwether", kFormat},         {"holder", record.holder},
                   {"token", record.token},         {"region", record.region},
                   {"heir", record.heir},           {"cause", record.cause},
                   {"lease_ms", record.lease.ms()}, {"acquired_ms", record.acquired_at.unix_ns / 1'000'000}};
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<election::LeaseRecord> parse_etcd_value(std::string_view value) {
  const Json json = Json::parse(value, nullptr, false);
  if (!json.is_object() || signed_number(json, "bellwether") != kFormat) return std::nullopt;
  election::LeaseRecord record;
  record.holder = record_text(json, "holder");
  record.token = record_text(json, "token");
  record.region = record_text(json, "region");
  record.heir = record_text(json, "heir");
  record.cause = record_text(json, "cause");
  record.lease = Duration::millis(std::max<int64_t>(signed_number(json, "lease_ms"), 0));
  record.acquired_at = {signed_number(json, "acquired_ms") * 1'000'000};
  record.renewed_at = record.acquired_at;
  return record;
}

}  // namespace bellwether::store
