#include "election/store/kubernetes/kube_lease.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/wall_text.h"

namespace bellwether::store {
namespace {

using Json = nlohmann::json;
using election::Epoch;
using election::LeaseRecord;

constexpr std::string_view kPrefix = "bellwether.dev/";
constexpr std::string_view kHashed = "bellwether-";
constexpr std::string_view kEpochSuffix = "-epoch";
constexpr std::size_t kMaxName = 240;

// As Kubernetes insists on it: with six decimals.
std::string format_kube_time(WallTime time) {
  std::string text = format_wall(time);
  return text.insert(text.size() - 1, "000");
}
WallTime parse_kube_time(const std::string& text) { return parse_wall(text).value_or(WallTime()); }

const Json& object_member(const Json& object, const char* name) {
  static const Json none = Json::object();
  const auto found = object.find(name);
  return found == object.end() || !found->is_object() ? none : *found;
}
std::string text(const Json& object, std::string_view name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
uint64_t lease_number(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}
std::string note(const Json& notes, std::string_view name) {
  return text(notes, std::string(kPrefix) + std::string(name));
}
uint64_t number_note(const Json& notes, std::string_view name) { return parse_u64(note(notes, name)).value_or(0); }

bool plain(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// A DNS subdomain, which is what Kubernetes permits, with room for the suffix.
bool permitted(const std::string& name) {
  if (name.empty() || name.size() > kMaxName) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool inside = i > 0 && i + 1 < name.size() && (name[i] == '-' || name[i] == '.');
    if (!plain(name[i]) && !(inside && name[i] == '-') && !(inside && plain(name[i - 1]) && plain(name[i + 1]))) {
      return false;
    }
  }
  return name.find(".-") == std::string::npos && name.find("-.") == std::string::npos;
}

std::string version_of(const Json& meta) {
  return fmt::format("{}.{}", text(meta, "uid"), text(meta, "resourceVersion"));
}

KubeLease lease_of(const Json& json) {
  const Json& meta = object_member(json, "metadata");
  const Json& notes = object_member(meta, "annotations");
  const Json& spec = object_member(json, "spec");
  KubeLease lease;
  lease.text = json.dump();
  lease.version = version_of(meta);
  lease.name = text(meta, "name");
  lease.key = note(notes, "key").empty() ? lease.name : bytes_of_base64(note(notes, "key"));
  lease.counts_epochs = !note(notes, "epoch-of").empty();
  LeaseRecord& record = lease.record;
  record.holder = text(spec, "holderIdentity");
  record.epoch = Epoch(lease_number(spec, "leaseTransitions"));
  record.lease = Duration::seconds(static_cast<int64_t>(lease_number(spec, "leaseDurationSeconds")));
  record.acquired_at = parse_kube_time(text(spec, "acquireTime"));
  record.renewed_at = parse_kube_time(text(spec, "renewTime"));
  // Other programs change the fields and leave our annotations as they are: these count only while they fit.
  lease.foreign = note(notes, "holder") != record.holder || number_note(notes, "epoch") != record.epoch.value();
  if (lease.foreign) {
    record.token = record.holder.empty() ? "" : "foreign " + record.holder;
    lease.foreign = record.held();
    return lease;
  }
  record.token = note(notes, "token");
  record.renewal = number_note(notes, "renewal");
  record.lease = Duration::millis(static_cast<int64_t>(number_note(notes, "lease-ms")));
  record.region = note(notes, "region");
  record.heir = note(notes, "heir");
  record.cause = note(notes, "cause");
  return lease;
}

Json object_of(const std::optional<KubeLease>& before, const std::string& name) {
  if (before) return Json::parse(before->text);
  return Json{{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}, {"metadata", {{"name", name}}}};
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string kube_name_of(const std::string& key) {
  const bool ours = key.starts_with(kHashed) || key.ends_with(kEpochSuffix);
  return permitted(key) && !ours ? key : std::string(kHashed) + sha256_hex(key).substr(0, 40);
}

std::string kube_epoch_name(const std::string& name) { return name + std::string(kEpochSuffix); }

Result<KubeLease> parse_kube_lease(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object() || text(object_member(json, "metadata"), "resourceVersion").empty()) {
    return fail(Errc::kProtocol, "this is not a Lease of Kubernetes: " + body.substr(0, 200));
  }
  return lease_of(json);
}

Result<std::vector<KubeLease>> parse_kube_list(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("items")) {
    return fail(Errc::kProtocol, "this is not a list of Kubernetes: " + body.substr(0, 200));
  }
  std::vector<KubeLease> leases;
  if (!json["items"].is_array()) return leases;  // an empty list is null
  for (const Json& one : json["items"]) {
    if (one.is_object()) leases.push_back(lease_of(one));
  }
  return leases;
}

std::string kube_lease_with(const std::optional<KubeLease>& before, const std::string& name, const std::string& key,
                            const LeaseRecord& record) {
  Json json = object_of(before, name);
  Json& spec = json["spec"];
  if (!spec.is_object()) spec = Json::object();
  spec.erase("holderIdentity");
  if (record.held()) spec["holderIdentity"] = record.holder;
  // Of a key that is free others wait for nothing, as after a release by client-go.
  spec["leaseDurationSeconds"] = record.held() ? std::max<int64_t>((record.lease.ms() + 999) / 1000, 1) : 1;
  spec["leaseTransitions"] = record.epoch.value();
  spec["acquireTime"] = format_kube_time(record.acquired_at);
  spec["renewTime"] = format_kube_time(record.renewed_at);
  Json& notes = json["metadata"]["annotations"];
  if (!notes.is_object()) notes = Json::object();
  const auto put = [&](const char* what, std::string value) { notes[std::string(kPrefix) + what] = std::move(value); };
  put("key", base64_of(key));
  put("holder", record.holder);
  put("epoch", std::to_string(record.epoch.value()));
  put("token", record.token);
  put("renewal", std::to_string(record.renewal));
  put("lease-ms", std::to_string(record.lease.ms()));
  put("region", record.region);
  put("heir", record.heir);
  put("cause", record.cause);
  return dump(json);
}

std::string kube_epoch_with(const std::optional<KubeLease>& before, const std::string& name, uint64_t epoch) {
  Json json = object_of(before, kube_epoch_name(name));
  json["spec"]["leaseTransitions"] = epoch;
  json["metadata"]["annotations"][std::string(kPrefix) + "epoch-of"] = name;
  return dump(json);
}

Result<KubeEvent> parse_kube_event(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  const std::string kind = json.is_object() ? text(json, "type") : std::string();
  if (kind.empty())
    return fail(Errc::kProtocol, "this is not an event of Kubernetes: " + std::string(line.substr(0, 200)));
  const Json& meta = object_member(object_member(json, "object"), "metadata");
  return KubeEvent{kind == "ERROR", text(meta, "name"), version_of(meta)};
}

std::string kube_message(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  const std::string message = json.is_object() ? text(json, "message") : std::string();
  return message.empty() ? body.substr(0, 200) : message;
}

}  // namespace bellwether::store
