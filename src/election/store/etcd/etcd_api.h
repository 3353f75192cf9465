// Calls of etcd's v3 API: the login, the meaning of errors, and failover to another member.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "election/store/etcd/etcd_json.h"
#include "election/store/web/web_client.h"

namespace bellwether::store {

struct EtcdLogin {
  std::vector<HostPort> hosts;
  std::string user;
  std::string password;
  std::shared_ptr<runtime::TlsContext> tls;
};

class EtcdApi {
 public:
  EtcdApi(runtime::Runtime& runtime, EtcdLogin login)
      : runtime_(runtime),
        user_(std::move(login.user)),
        password_(std::move(login.password)),
        web_(runtime, std::move(login.hosts), std::move(login.tls)) {}

  // The body of a good answer. kNotFound: the named lease has ended. `repeatable`: a second execution does no harm, so
  // the call is repeated, at another member, while members lose and elect their leader.
  runtime::task<Result<std::string>> call(std::string path, std::string body, bool repeatable, Instant deadline,
                                          runtime::Cancellation* cancel);

  // Follows the events of a watch; see WebClient::stream().
  runtime::task<Status> watch(std::string body, WebWatch& watch, Instant begin_by, Instant deadline);

 private:
  WebRequest request_for(const std::string& path, const std::string& body) const;
  runtime::task<Status> authenticate(Instant deadline, runtime::Cancellation* cancel);
  runtime::task<Result<std::string>> call_once(const std::string& path, const std::string& body, bool repeatable,
                                               Instant deadline, runtime::Cancellation* cancel);
  Error error_of(const WebResponse& response);

  runtime::Runtime& runtime_;
  std::string user_;
  std::string password_;
  std::string token_;
  WebClient web_;
};

}  // namespace bellwether::store
