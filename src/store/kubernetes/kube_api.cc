#include "store/kubernetes/kube_api.h"

#include <algorithm>

#include "store/credentials.h"
#include "store/dial.h"
#include "store/kubernetes/kube_lease.h"

namespace bellwether::store {
namespace {

using runtime::task;

constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kHttpConflict = 409;
constexpr int kGone = 410;
constexpr int kInvalid = 422;
constexpr int kTooMany = 429;

}  // namespace

std::string KubeApi::describe() const {
  return "k8s:" + access_.name_space + " (" + (access_.tls ? "https://" : "http://") + to_string(access_.host) +
         access_.path + ")";
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
  const std::string said = " (" + std::to_string(response.status) + ": " + message + ")";
  const std::string where = web_.where() + ": ";
  switch (response.status) {
    case kUnauthorized:
      return {Errc::kRefused, where + "it does not know us: the token or certificate is wrong" + said};
    case kForbidden:
      return {Errc::kRefused, where + "we may not " + method +
                                  " Leases here: a Role must permit get, list, watch, create and update of leases in " +
                                  "coordination.k8s.io" + said};
    case kNotFound: return {Errc::kNotFound, where + "there is no namespace '" + access_.name_space + "'" + said};
    case kInvalid: return {Errc::kInvalid, where + "it refuses the Lease" + said};
    case kTooMany:
      return {Errc::kExhausted, where + "it is overloaded and asks to come back in " +
                                    std::to_string(response.retry_after.ms() / 1000) + " s" + said};
    default: break;
  }
  const bool down = response.status >= 500;
  return {down ? Errc::kUnreachable : Errc::kProtocol, where + (down ? "it fails" : "it refuses") + said};
}

WebRequest KubeApi::request_for(const std::string& method, const std::string& rest) const {
  WebRequest request;
  request.method = method;
  request.target = access_.path + "/apis/coordination.k8s.io/v1/namespaces/" + access_.name_space + "/leases" + rest;
  request.fields = {"Accept: application/json", "User-Agent: bellwether"};
  if (!token_.empty()) request.fields.push_back("Authorization: Bearer " + token_);
  return request;
}

task<Status> KubeApi::watch(std::string name, std::string from, LineSink& sink, Instant begin_by, Instant deadline) {
  BW_CO_RETURN_IF_ERROR(co_await know_token());
  const int64_t seconds = std::max<int64_t>((deadline - runtime_.read_clock()).ms() / 1000, 1);
  std::string rest = "?watch=1&fieldSelector=metadata.name%3D" + name + "&timeoutSeconds=" + std::to_string(seconds);
  if (!from.empty()) rest += "&resourceVersion=" + from;
  WebRequest request = request_for("GET", rest);
  BW_CO_TRY(const auto response, co_await web_.stream(std::move(request), sink, begin_by, deadline, nullptr));
  if (response.status == kUnauthorized && !access_.token_file.empty()) token_.clear();
  if (response.status == kGone) co_return fail(Errc::kNotFound, web_.where() + ": it has forgotten this version");
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

}  // namespace bellwether::store
