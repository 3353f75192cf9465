// A client and a server on one event loop, with a name server of their own, for tests.
#pragma once

#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "core/http1/client.h"
#include "core/http1/client_server_testing.h"
#include "core/runtime/dns_testing.h"

namespace bellwether::http1 {

inline const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

class ClientTest : public testing::Test {
 protected:
  ClientTest()
      : names_({{"both.test", {runtime::IpAddress::v4(0x7f000001), runtime::IpAddress::v4(0x7f000002), six()}},
                {"nothing-here.test", {runtime::IpAddress::v4(0x7f000002)}}}) {
    runtime::EpollRuntime::Options options;
    options.name_servers = {names_.endpoint()};
    runtime_ = runtime::test_runtime(options);
    client_ = std::make_unique<Client>(*runtime_);
    session_ = std::make_unique<Session>();
    server_ = std::make_unique<TestServer>(*runtime_);
  }
  static runtime::IpAddress six() { return *runtime::IpAddress::parse("::1"); }

  Origin* origin(uint16_t port, const std::string& host = "127.0.0.1") {
    return *client_->origins().find(false, host, port, {});
  }
  // Its bytes live as long as the test.
  Request request(const std::string& method, const std::string& target, const std::string& body = "",
                  const std::string& fields = "") {
    std::string length = body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
    const std::string& head =
        kept_.emplace_back(method + " " + target + " HTTP/1.1\r\nHost: test\r\n" + fields + length);
    Request made;
    made.origin = origin(server_->port());
    made.method = kept_.emplace_back(method);
    made.target = kept_.emplace_back(target);
    made.head = head;
    made.body = kept_.emplace_back(body);
    made.whole = kept_.emplace_back(head + "\r\n" + body);
    made.limits = &limits_;
    made.want_body = true;
    return made;
  }
  Response call(const Request& what, runtime::Cancellation* cancel = nullptr) {
    Response response;
    runtime_->run(client_->exchange(*session_, what, response, cancel));
    return response;
  }
  Response get(const std::string& target = "/") { return call(request("GET", target)); }
  http1::ErrorKind error_after(const std::string& answer, Answer::Then then = Answer::Then::kKeep) {
    server_->answer(answer, then);
    return get().error;
  }
  // Waits until the client's loop has heard that the server closed its kept connection.
  void wait_until_nothing_idle() {
    const Origin& here = *origin(server_->port());
    const auto wait = [](runtime::Runtime& runtime, Session& session, const Origin& to) -> runtime::task<int> {
      while (auto idle = session.take_idle(to)) {
        session.put_idle(std::move(idle));
        co_await runtime.sleep(Duration::micros(100));
      }
      co_return 0;
    };
    runtime_->run(wait(*runtime_, *session_, here));
  }

  runtime::TestNameServer names_;
  std::unique_ptr<runtime::EpollRuntime> runtime_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<TestServer> server_;
  CallLimits limits_;
  std::deque<std::string> kept_;
};

}  // namespace bellwether::http1
