#include "store/kubernetes/kube_config.h"

#include <cstdlib>

#include "base/base64.h"
#include "base/bytes.h"
#include "store/credentials.h"
#include "yaml/node.h"

namespace bellwether::store {
namespace {

using runtime::task;

constexpr std::string_view kPodFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// The value of a key; a null node when there is none.
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
  return path.empty() || path.starts_with('/') ? path : folder + "/" + path;
}

// The entry of this name in a list such as `clusters`, its part of that kind; a null node when there is none.
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
    return fail(Errc::kInvalid, "the server '" + url + "' is no https: or http: URL");
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
    if (!port || *port == 0 || *port > 65535) return fail(Errc::kInvalid, "the server '" + url + "' has no valid port");
    access.host.port = static_cast<uint16_t>(*port);
    authority = authority.substr(0, colon);
  }
  if (authority.starts_with('[') && authority.ends_with(']')) authority = authority.substr(1, authority.size() - 2);
  access.host.host = authority;
  if (authority.empty()) return fail(Errc::kInvalid, "the server '" + url + "' has no host");
  return {};
}

Status parse_user(const yaml::Node& user, const std::string& folder, KubeAccess& access) {
  for (const char* program : {"exec", "auth-provider"}) {
    if (!member(user, program).is_null()) {
      return fail(Errc::kUnsupported, std::string("its user logs in by a program ('") + program +
                                          "'), which is not run here: give a token or a certificate");
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
  if (!root.is_map()) return fail(Errc::kInvalid, "it is no kubeconfig");
  if (context.empty()) context = text(root, "current-context");
  const yaml::Node& chosen = named(root, "contexts", "context", context);
  if (chosen.is_null()) return fail(Errc::kInvalid, "it has no context '" + context + "'");
  const yaml::Node& cluster = named(root, "clusters", "cluster", text(chosen, "cluster"));
  if (cluster.is_null()) return fail(Errc::kInvalid, "it has no cluster '" + text(chosen, "cluster") + "'");
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
  if (!access) co_return fail(access.error().code, "the kubeconfig '" + path + "': " + access.error().message);
  co_return access;
}

task<Result<KubeAccess>> in_cluster(runtime::Runtime& runtime, std::string folder) {
  KubeAccess access;
  access.host.host = variable("KUBERNETES_SERVICE_HOST");
  const auto port = parse_u64(variable("KUBERNETES_SERVICE_PORT"));
  access.host.port = static_cast<uint16_t>(port && *port <= 65535 ? *port : 443);
  if (access.host.host.empty()) co_return fail(Errc::kInvalid, "KUBERNETES_SERVICE_HOST is not set: this is no pod");
  access.tls_options.ca_file = folder + "/ca.crt";
  access.token_file = folder + "/token";
  std::string path = folder + "/namespace";
  auto name_space = co_await read_secret(runtime, std::move(path));
  if (name_space) access.name_space = std::move(*name_space);
  co_return access;
}

}  // namespace

Result<KubeAccess> parse_kubeconfig(const std::string& content, const std::string& context, const std::string& folder) {
  yaml::Diagnostics wrong("kubeconfig");
  const auto root = yaml::parse_yaml(content, wrong);
  if (!root) return fail(Errc::kInvalid, "it is no YAML that can be read");
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
  if (!access) co_return fail(access.error().code, url.text + ": " + access.error().message);
  if (!url.path.empty()) access->name_space = url.path;
  if (access->name_space.empty()) access->name_space = "default";
  co_return access;
}

}  // namespace bellwether::store
