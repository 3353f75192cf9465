#include "election/store/etcd/etcd_api.h"

#include <array>

namespace bellwether::store {
namespace {

using runtime::task;

constexpr int kHttpOk = 200;
constexpr Duration kAgainAfter = Duration::millis(100);

struct StatusMeaning {
  std::string_view words;
  Errc code;
  std::string_view advice;
};

constexpr std::array kStatusMeanings{
    StatusMeaning{"requested lease not found", Errc::kNotFound, "the lease no longer exists"},
    StatusMeaning{"database space exceeded", Errc::kNoSpace,
                  "its database is full (alarm NOSPACE): compact, defragment, then `etcdctl alarm disarm`"},
    StatusMeaning{"user name is empty", Errc::kRefused, "it requires a login: etcd://USER@HOST?password_file=FILE"},
    StatusMeaning{"authentication failed", Errc::kRefused, "the user or the password is wrong"},
    StatusMeaning{"permission denied", Errc::kRefused,
                  "the user may not read and write below this key and bellwether/"},
    StatusMeaning{"no leader", Errc::kUnreachable, "it has no leader: a majority of its members does not answer"},
    StatusMeaning{"leader changed", Errc::kUnreachable, "its leader changed meanwhile"},
    StatusMeaning{"timed out", Errc::kUnreachable, "it did not agree with a majority of its members in time"},
    StatusMeaning{"not a leader", Errc::kUnreachable, "its leader changed meanwhile"},
    StatusMeaning{"too many requests", Errc::kExhausted, "it is overloaded"},
    StatusMeaning{"stopped", Errc::kUnreachable, "it is shutting down"},
    StatusMeaning{"context deadline exceeded", Errc::kUnreachable,
                  "it did not agree with a majority of its members in time"},
    StatusMeaning{"transport is closing", Errc::kUnreachable, "it is shutting down"},
};

// A token that etcd has forgotten: it was restarted, or the token was unused for long.
bool token_is_stale(const WebResponse& response) {
  return response.status != kHttpOk && response.body.find("invalid auth token") != std::string::npos;
}

}  // namespace

Error EtcdApi::error_of(const WebResponse& response) {
  const std::string message = etcd_message(response.body);
  for (const StatusMeaning& meaning : kStatusMeanings) {
    if (message.find(meaning.words) == std::string::npos) continue;
    Error error{meaning.code, fmt::format("{}: {} ({})", web_.where(), meaning.advice, message)};
    if (meaning.code == Errc::kUnreachable) web_.avoid();
    return error;
  }
  return {Errc::kProtocol, fmt::format("{}: etcd answered {}: {}", web_.where(), response.status, message)};
}

task<Status> EtcdApi::authenticate(Instant deadline, runtime::Cancellation* cancel) {
  WebRequest request;
  request.method = "POST";
  request.target = "/v3/auth/authenticate";
  request.fields = {"Content-Type: application/json"};
  request.body = authenticate_body(user_, password_);
  request.repeatable = true;
  BW_CO_TRY(const auto response, co_await web_.call(std::move(request), deadline, cancel));
  if (response.body.find("authentication is not enabled") != std::string::npos) {
    user_.clear();  // this server needs no login
    co_return Status();
  }
  if (response.status != kHttpOk) co_return tl::unexpected(error_of(response));
  BW_CO_TRY(token_, parse_authenticate(response.body));
  co_return Status();
}

WebRequest EtcdApi::request_for(const std::string& path, const std::string& body) const {
  WebRequest request;
  request.method = "POST";
  request.target = path;
  request.fields = {"Content-Type: application/json"};
  if (!token_.empty()) request.fields.push_back("Authorization: " + token_);
  request.body = body;
  return request;
}

task<Status> EtcdApi::watch(std::string body, WebWatch& watch, Instant begin_by, Instant deadline) {
  if (!user_.empty() && token_.empty()) {
    BW_CO_RETURN_IF_ERROR(co_await authenticate(begin_by, nullptr));
  }
  WebRequest request = request_for("/v3/watch", body);
  // A member that is cut off from the others must report that; otherwise it would stay silent for ever.
  request.fields.push_back("Grpc-Metadata-hasleader: true");
  BW_CO_TRY(const auto response, co_await web_.stream(std::move(request), watch, begin_by, deadline, nullptr));
  if (token_is_stale(response)) token_.clear();
  if (response.status != kHttpOk) co_return tl::unexpected(error_of(response));
  co_return Status();
}

task<Result<std::string>> EtcdApi::call(std::string path, std::string body, bool repeatable, Instant deadline,
                                        runtime::Cancellation* cancel) {
  while (true) {
    auto answer = co_await call_once(path, body, repeatable, deadline, cancel);
    if (answer) co_return answer;
    const Errc code = answer.error().code;
    const bool passes = code == Errc::kUnreachable || code == Errc::kReset || code == Errc::kClosed;
    if (!repeatable || !passes || deadline - runtime_.now() < kAgainAfter * 2) co_return answer;
    co_await runtime_.sleep(kAgainAfter, cancel);
  }
}

task<Result<std::string>> EtcdApi::call_once(const std::string& path, const std::string& body, bool repeatable,
                                             Instant deadline, runtime::Cancellation* cancel) {
  for (int tries = 0;; ++tries) {
    if (!user_.empty() && token_.empty()) {
      BW_CO_RETURN_IF_ERROR(co_await authenticate(deadline, cancel));
    }
    WebRequest request = request_for(path, body);
    request.repeatable = repeatable;
    BW_CO_TRY(auto response, co_await web_.call(std::move(request), deadline, cancel));
    if (tries == 0 && !user_.empty() && token_is_stale(response)) {
      token_.clear();
      continue;
    }
    if (response.status != kHttpOk) co_return tl::unexpected(error_of(response));
    co_return std::move(response.body);
  }
}

}  // namespace bellwether::store
