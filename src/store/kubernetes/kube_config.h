// Where the Kubernetes API server is, and who we are to it: from a kubeconfig file, as kubectl reads it, or from what a
// pod finds in its file system.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/runtime.h"
#include "runtime/tls.h"
#include "store/store_url.h"

namespace bellwether::store {

struct KubeAccess {
  HostPort host;
  bool tls = true;
  std::string path;  // before /apis
  runtime::TlsClientOptions tls_options;
  std::string token;
  std::string token_file;  // read again when a token is refused: tokens of pods are renewed
  std::string name_space;
};

// What the text of a kubeconfig says about a context (empty: its current one). Files that it names are relative to
// `folder`. kInvalid: what is wrong with it; kUnsupported: the user logs in by a program.
Result<KubeAccess> parse_kubeconfig(const std::string& text, const std::string& context, const std::string& folder);

// k8s:NAMESPACE with the options kubeconfig, context and service_account (the folder of a pod's credentials). Without
// any: the variable KUBECONFIG, else the credentials of the pod that we are in, else ~/.kube/config.
runtime::task<Result<KubeAccess>> find_kubernetes(runtime::Runtime& runtime, StoreUrl& url);

}  // namespace bellwether::store
