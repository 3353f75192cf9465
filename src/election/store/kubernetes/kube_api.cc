#include "election/store/kubernetes/kube_api.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/yaml/node.h"
#include "election/store/dial.h"

namespace bellwether::store {
namespace {

using runtime::task;

constexpr std::string_view kPodFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// The value of a key; a null node if absent.
const yaml::Node& member(const yaml::Node& node, std::string_view name) {
  static const yaml::Node none;
  for (const yaml::Node& item : node.items) {
    if (node.is_map() && item.key == name) return item;
  }
  return none;
}
std::string text(const yaml::Node& node, const char* name) { return member(node, name).text; }
std::string data(const yaml::Node& node, const char* name) { return bytes_of_base64(text(node, name)); }

std::string file(const yaml::Node& node, const char* name, const std::string& folder) {
  const std::string path = text(node, name);
  return path.empty() || path.starts_with('/') ? path : fmt::format("{}/{}", folder, path);
}

// The entry of this name in a list such as `clusters`, its part of that kind; a null node if absent.
const yaml::Node& named(const yaml::Node& root, const char* list, const char* part, const std::string& name) {
  static const yaml::Node none;
  for (const yaml::Node& one : member(root, list).items) {
    if (text(one, "name") == name) return member(one, part);
  }
  return none;
}

Status parse_server(const std::string& url, KubeAccess& access) {
  std::string_view rest = url;
  access.tls = rest.starts_with("https://");
  if (!access.tls && !rest.starts_with("http://")) {
    return fail(Errc::kInvalid, "the server '{}' is not an https: or http: URL", url);
  }
  rest.remove_prefix(access.tls ? 8 : 7);
  const auto slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) access.path = rest.substr(slash);
  while (access.path.ends_with('/')) access.path.pop_back();
  access.host.port = access.tls ? 443 : 80;
  const auto colon = authority.rfind(':');
  if (colon != std::string_view::npos && !authority.ends_with(']')) {
    const auto port = parse_u64(authority.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) return fail(Errc::kInvalid, "the server '{}' has no valid port", url);
    access.host.port = static_cast<uint16_t>(*port);
    authority = authority.substr(0, colon);
  }
  if (authority.starts_with('[') && authority.ends_with(']')) authority = authority.substr(1, authority.size() - 2);
  access.host.host = authority;
  if (authority.empty()) return fail(Errc::kInvalid, "the server '{}' has no host", url);
  return {};
}

Status parse_user(const yaml::Node& user, const std::string& folder, KubeAccess& access) {
  for (const char* program : {"exec", "auth-provider"}) {
    if (!member(user, program).is_null()) {
      return fail(Errc::kUnsupported,
                  "its user logs in with a program ('{}'), which is not supported: use a token or a certificate",
                  program);
    }
  }
  access.token = text(user, "token");
  access.token_file = file(user, "tokenFile", folder);
  access.tls_options.certificate_file = file(user, "client-certificate", folder);
  access.tls_options.key_file = file(user, "client-key", folder);
  access.tls_options.certificate_pem = data(user, "client-certificate-data");
  access.tls_options.key_pem = data(user, "client-key-data");
  return {};
}

Result<KubeAccess> parse_config(const yaml::Node& root, std::string context, const std::string& folder) {
  if (!root.is_map()) return fail(Errc::kInvalid, "it is not a kubeconfig");
  if (context.empty()) context = text(root, "current-context");
  const yaml::Node& chosen = named(root, "contexts", "context", context);
  if (chosen.is_null()) return fail(Errc::kInvalid, "it has no context '{}'", context);
  const yaml::Node& cluster = named(root, "clusters", "cluster", text(chosen, "cluster"));
  if (cluster.is_null()) return fail(Errc::kInvalid, "it has no cluster '{}'", text(chosen, "cluster"));
  KubeAccess access;
  BW_RETURN_IF_ERROR(parse_server(text(cluster, "server"), access));
  access.tls_options.ca_file = file(cluster, "certificate-authority", folder);
  access.tls_options.ca_pem = data(cluster, "certificate-authority-data");
  access.tls_options.verify = text(cluster, "insecure-skip-tls-verify") != "true";
  access.name_space = text(chosen, "namespace");
  const yaml::Node& user = named(root, "users", "user", text(chosen, "user"));
  BW_RETURN_IF_ERROR(parse_user(user, folder, access));
  return access;
}

task<Result<KubeAccess>> read_kubeconfig(runtime::Runtime& runtime, std::string path, std::string context) {
  BW_CO_TRY(const auto content, co_await read_small_file(runtime, path));
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  auto access = parse_kubeconfig(content, context, folder);
  if (!access) co_return fail(access.error().code, "the kubeconfig '{}': {}", path, access.error().message);
  co_return access;
}

task<Result<KubeAccess>> in_cluster(runtime::Runtime& runtime, std::string folder) {
  KubeAccess access;
  access.host.host = variable("KUBERNETES_SERVICE_HOST");
  const auto port = parse_u64(variable("KUBERNETES_SERVICE_PORT"));
  access.host.port = static_cast<uint16_t>(port && *port <= 65535 ? *port : 443);
  if (access.host.host.empty())
    co_return fail(Errc::kInvalid, "KUBERNETES_SERVICE_HOST is not set: this process does not run in a pod");
  access.tls_options.ca_file = folder + "/ca.crt";
  access.token_file = folder + "/token";
  std::string path = folder + "/namespace";
  auto name_space = co_await read_secret(runtime, std::move(path));
  if (name_space) access.name_space = std::move(*name_space);
  co_return access;
}

constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kHttpConflict = 409;
constexpr int kGone = 410;
constexpr int kInvalid = 422;
constexpr int kTooMany = 429;

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

Result<KubeAccess> parse_kubeconfig(const std::string& content, const std::string& context, const std::string& folder) {
  yaml::Diagnostics wrong("kubeconfig");
  const auto root = yaml::parse_yaml(content, wrong);
  if (!root) return fail(Errc::kInvalid, "it is not valid YAML");
  return parse_config(*root, context, folder);
}

task<Result<KubeAccess>> find_kubernetes(runtime::Runtime& runtime, StoreUrl& url) {
  std::string path = url.take("kubeconfig").value_or("");
  std::string context = url.take("context").value_or("");
  const std::string pod = url.take("service_account").value_or("");
  if (path.empty() && pod.empty()) {
    path = variable("KUBECONFIG");
    path = path.substr(0, path.find(':'));
  }
  const bool is_pod = !variable("KUBERNETES_SERVICE_HOST").empty();
  task<Result<KubeAccess>> reading;
  if (!path.empty()) {
    reading = read_kubeconfig(runtime, std::move(path), std::move(context));
  } else if (!pod.empty() || is_pod) {
    reading = in_cluster(runtime, pod.empty() ? std::string(kPodFolder) : pod);
  } else {
    reading = read_kubeconfig(runtime, variable("HOME") + "/.kube/config", std::move(context));
  }
  auto access = co_await std::move(reading);
  if (!access) co_return fail(access.error().code, "{}: {}", url.text, access.error().message);
  if (!url.path.empty()) access->name_space = url.path;
  if (access->name_space.empty()) access->name_space = "default";
  co_return access;
}

std::string KubeApi::describe() const {
  return fmt::format("k8s:{} ({}{}{})", access_.name_space, access_.tls ? "https://" : "http://",
                     to_string(access_.host), access_.path);
}

task<Status> KubeApi::know_token() {
  if (!token_.empty()) co_return Status();
  token_ = access_.token;
  if (access_.token_file.empty()) co_return Status();
  std::string path = access_.token_file;
  auto token = co_await read_secret(runtime_, std::move(path));
  if (!token) co_return fail(token.error().code, "the token of Kubernetes: " + token.error().message);
  token_ = std::move(*token);
  co_return Status();
}

Error KubeApi::error_of(const WebResponse& response, const std::string& method) const {
  const std::string message = kube_message(response.body);
  const std::string said = fmt::format(" ({}: {})", response.status, message);
  const std::string where = web_.where() + ": ";
  switch (response.status) {
    case kUnauthorized:
      return {Errc::kRefused, fmt::format("{}authentication failed: the token or certificate is wrong{}", where, said)};
    case kForbidden:
      return {Errc::kRefused, fmt::format("{}not permitted to {} Leases: a Role must permit get, list, watch, create "
                                          "and update of leases in coordination.k8s.io{}",
                                          where, method, said)};
    case kNotFound:
      return {Errc::kNotFound, fmt::format("{}there is no namespace '{}'{}", where, access_.name_space, said)};
    case kInvalid: return {Errc::kInvalid, fmt::format("{}it refuses the Lease{}", where, said)};
    case kTooMany:
      return {Errc::kExhausted,
              fmt::format("{}it is overloaded; try again in {} s{}", where, response.retry_after.ms() / 1000, said)};
    default: break;
  }
  const bool down = response.status >= 500;
  return {down ? Errc::kUnreachable : Errc::kProtocol, where + (down ? "it fails" : "it refuses") + said};
}

WebRequest KubeApi::request_for(const std::string& method, const std::string& rest) const {
  WebRequest request;
  request.method = method;
  request.target =
      fmt::format("{}/apis/coordination.k8s.io/v1/namespaces/{}/leases{}", access_.path, access_.name_space, rest);
  request.fields = {"Accept: application/json", "User-Agent: bellwether"};
  if (!token_.empty()) request.fields.push_back("Authorization: Bearer " + token_);
  return request;
}

task<Status> KubeApi::watch(std::string name, std::string from, WebWatch& watch, Instant begin_by, Instant deadline) {
  BW_CO_RETURN_IF_ERROR(co_await know_token());
  const int64_t seconds = std::max<int64_t>((deadline - runtime_.read_clock()).ms() / 1000, 1);
  std::string rest = fmt::format("?watch=1&fieldSelector=metadata.name%3D{}&timeoutSeconds={}", name, seconds);
  if (!from.empty()) rest += "&resourceVersion=" + from;
  WebRequest request = request_for("GET", rest);
  BW_CO_TRY(const auto response, co_await web_.stream(std::move(request), watch, begin_by, deadline, nullptr));
  if (response.status == kUnauthorized && !access_.token_file.empty()) token_.clear();
  if (response.status == kGone) co_return fail(Errc::kNotFound, web_.where() + ": it no longer has this version");
  if (response.status == 200) co_return Status();
  Error error = error_of(response, "watch");
  if (response.status == kForbidden) error.code = Errc::kUnsupported;
  if (response.status == kTooMany) co_await runtime_.sleep(response.retry_after);
  co_return tl::unexpected(std::move(error));
}

task<Result<WebResponse>> KubeApi::call(std::string method, std::string name, std::string body, Instant deadline,
                                        runtime::Cancellation* cancel) {
  bool renewed_token = false;
  while (true) {
    BW_CO_RETURN_IF_ERROR(co_await know_token());
    WebRequest request = request_for(method, name.empty() ? "" : "/" + name);
    if (!body.empty()) request.fields.push_back("Content-Type: application/json");
    request.body = body;
    request.repeatable = method == "GET";
    auto response = co_await web_.call(std::move(request), deadline, cancel);
    if (!response) co_return response;
    if (response->status == kUnauthorized && !renewed_token && !access_.token_file.empty()) {
      renewed_token = true;  // tokens of pods are renewed in their file
      token_.clear();
      continue;
    }
    // Refused before anything was done: it may come again, as late as it was asked to.
    const Duration pause = std::max(response->retry_after, Duration::millis(100));
    if (response->status == kTooMany && runtime_.read_clock() + pause < deadline) {
      co_await runtime_.sleep(pause, cancel);
      continue;
    }
    const bool absent = response->status == kNotFound && method != "POST";
    if (response->status / 100 == 2 || absent || response->status == kHttpConflict) co_return response;
    co_return tl::unexpected(error_of(*response, method));
  }
}

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
