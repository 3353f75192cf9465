// Calls of the Kubernetes API for the Leases of one namespace: the login, and the meaning of refusals.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "core/runtime/tls.h"
#include "election/lease_record.h"
#include "election/store/store_url.h"
#include "election/store/web/web_client.h"

namespace bellwether::store {

// The location of the Kubernetes API server, and our credentials: from a kubeconfig file, as kubectl reads it, or from
// the file system of a pod.
struct KubeAccess {
  HostPort host;
  bool tls = true;
  std::string path;  // before /apis
  runtime::TlsClientOptions tls_options;
  std::string token;
  std::string token_file;  // read again when a token is refused: tokens of pods are renewed
  std::string name_space;
};

// The context's part of a kubeconfig (empty: the current context). The files that it names are relative to `folder`.
// kInvalid: with the fault; kUnsupported: the user logs in by a program.
Result<KubeAccess> parse_kubeconfig(const std::string& text, const std::string& context, const std::string& folder);

// k8s:NAMESPACE with the options kubeconfig, context and service_account (the folder of a pod's credentials). Without
// any: the variable KUBECONFIG, else the credentials of the pod that we are in, else ~/.kube/config.
runtime::task<Result<KubeAccess>> find_kubernetes(runtime::Runtime& runtime, StoreUrl& url);

class KubeApi {
 public:
  KubeApi(runtime::Runtime& runtime, KubeAccess access, std::shared_ptr<runtime::TlsContext> tls)
      : runtime_(runtime),
        access_(std::move(access)),
        web_(runtime, {access_.host}, access_.tls ? std::move(tls) : nullptr) {}

  // `name`: of a Lease; empty: the collection. Returns only usable answers: success, 404 (absent) and 409 (changed, or
  // exists already). All others are errors. After an error of a change, the change may have happened.
  runtime::task<Result<WebResponse>> call(std::string method, std::string name, std::string body, Instant deadline,
                                          runtime::Cancellation* cancel);
  // Follows the changes of the Lease `name` after the version `from`; empty: its present state first. See
  // WebClient::stream(). kNotFound: that version is forgotten.
  runtime::task<Status> watch(std::string name, std::string from, WebWatch& watch, Instant begin_by, Instant deadline);
  std::string describe() const;

 private:
  runtime::task<Status> know_token();
  // `rest`: the part after the path of the collection.
  WebRequest request_for(const std::string& method, const std::string& rest) const;
  Error error_of(const WebResponse& response, const std::string& method) const;

  runtime::Runtime& runtime_;
  KubeAccess access_;
  std::string token_;
  WebClient web_;
};

// Converts between a Lease object of Kubernetes and our record, without a connection. The fields of client-go
// (holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions) keep their meaning; the rest of the
// record is in annotations below bellwether.dev/.

// The name of the Lease for a key: the key itself if Kubernetes permits it as a name, else one made of its hash.
std::string kube_name_of(const std::string& key);
std::string kube_epoch_name(const std::string& name);

struct KubeLease {
  std::string text;     // the object, as the server gave it
  std::string version;  // its uid and resourceVersion
  std::string name;
  std::string key;
  bool counts_epochs = false;  // it is no lease but the epoch of one
  election::LeaseRecord record;
  bool foreign = false;
};

Result<KubeLease> parse_kube_lease(const std::string& text);
Result<std::vector<KubeLease>> parse_kube_list(const std::string& text);

// The object to send: `before`, as the server gave it, or a new one, with this record in it.
std::string kube_lease_with(const std::optional<KubeLease>& before, const std::string& name, const std::string& key,
                            const election::LeaseRecord& record);
// The object that remembers the epoch of the Lease `name`.
std::string kube_epoch_with(const std::optional<KubeLease>& before, const std::string& name, uint64_t epoch);
// A line of a watch.
struct KubeEvent {
  bool over = false;    // an error: the versions asked for are forgotten
  std::string name;     // of the Lease; empty: about none
  std::string version;  // as KubeLease::version; of a Lease that was deleted, that of its end
};
Result<KubeEvent> parse_kube_event(std::string_view line);
// The message of a refusal.
std::string kube_message(const std::string& body);

}  // namespace bellwether::store
