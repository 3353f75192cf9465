#include "core/http1/client_connections.h"

#include <gmock/gmock.h>

#include "core/http1/client.h"
#include "core/http1/client_testing.h"

namespace bellwether::http1 {
namespace {

using runtime::task;
using Then = Answer::Then;

// Several users of one client whose connections are shared.
class SharedTest : public ClientTest {
 protected:
  struct User {
    Session session;
    Response response;
    task<void> exchange;
  };
  User& begin(const Request& what, runtime::Cancellation* cancel = nullptr) {
    User& user = *users_.emplace_back(std::make_unique<User>());
    user.exchange = client_->exchange(user.session, what, user.response, cancel);
    return user;
  }
  void end(User& user) {
    const auto wait = [](User& of) -> task<void> { co_await of.exchange; };
    runtime_->run(wait(user));
  }
  Response& end_of(User& user) {
    end(user);
    return user.response;
  }
  std::vector<std::unique_ptr<User>> users_;
};

TEST_F(SharedTest, users_wait_for_the_connection_in_their_order) {
  client_->share_connections(1);
  User& first = begin(request("GET", "/1"));
  User& second = begin(request("GET", "/2"));
  User& third = begin(request("POST", "/3", "x"));
  EXPECT_EQ(end_of(third).body, "ok");
  EXPECT_EQ(end_of(first).connections, 1);
  EXPECT_EQ(end_of(second).connections, 0);
  EXPECT_EQ(server_->connections, 1);
  ASSERT_EQ(server_->requests.size(), 3u);
  EXPECT_EQ(server_->requests[1].target, "/2");
  EXPECT_EQ(server_->requests[2].target, "/3");
}

TEST_F(SharedTest, each_server_has_its_own_limit) {
  client_->share_connections(1);
  server_->answer(kOk, Then::kStall);
  TestServer other(*runtime_);
  Request what = request("GET", "/");
  begin(what);
  what.origin = origin(other.port());
  EXPECT_EQ(end_of(begin(what)).body, "ok");
}

TEST_F(SharedTest, without_a_limit_an_idle_connection_serves_the_next_user) {
  client_->share_connections(0);
  EXPECT_EQ(end_of(begin(request("GET", "/"))).connections, 1);
  EXPECT_EQ(end_of(begin(request("GET", "/"))).connections, 0);
  User& third = begin(request("GET", "/"));
  User& fourth = begin(request("GET", "/"));
  EXPECT_EQ(end_of(third).connections, 0);
  EXPECT_EQ(end_of(fourth).connections, 1);
}

TEST_F(SharedTest, a_request_with_a_connection_of_its_own_takes_the_place) {
  client_->share_connections(1);
  Request what = request("GET", "/");
  what.fresh = true;
  end(begin(request("GET", "/")));
  EXPECT_EQ(end_of(begin(what)).connections, 1) << "in place of the idle one";
  User& holder = begin(request("GET", "/"));
  User& waiting = begin(what);
  end(holder);
  EXPECT_EQ(end_of(waiting).connections, 1) << "in place of the one that it is given";
  EXPECT_EQ(end_of(begin(request("GET", "/"))).connections, 1);
  EXPECT_EQ(server_->connections, 5);
}

TEST_F(SharedTest, a_connection_that_ends_leaves_its_place) {
  client_->share_connections(1);
  server_->answer("HTTP/1.1 200 OK\r\n\r\nuntil the end", Then::kFinish);
  server_->answer("", Then::kReset);
  begin(request("GET", "/"));
  User& second = begin(request("POST", "/", "x"));
  User& third = begin(request("GET", "/"));
  EXPECT_EQ(end_of(second).error, ErrorKind::kReset);
  EXPECT_EQ(end_of(third).body, "ok");
  EXPECT_EQ(server_->connections, 3);
}

TEST_F(SharedTest, a_connection_that_cannot_be_opened_leaves_its_place) {
  client_->share_connections(1);
  Request what = request("GET", "/");
  what.origin = origin(1);
  User& first = begin(what);
  User& second = begin(what);
  EXPECT_EQ(end_of(second).error, ErrorKind::kConnectRefused);
  EXPECT_EQ(end_of(first).error, ErrorKind::kConnectRefused);
}

TEST_F(SharedTest, a_user_gives_up_at_its_deadline_or_when_it_is_cancelled) {
  client_->share_connections(1);
  server_->answer("", Then::kStall);
  runtime::Cancellation stop(nullptr);
  User& holder = begin(request("GET", "/"), &stop);
  CallLimits hasty;
  hasty.timeout = Duration::millis(5);
  Request what = request("GET", "/");
  what.limits = &hasty;
  runtime::Cancellation cancel(nullptr);
  User& cancelled = begin(request("GET", "/"), &cancel);
  User& last = begin(request("GET", "/last"));
  EXPECT_EQ(end_of(begin(what)).error, ErrorKind::kTimeout);
  cancel.cancel();
  EXPECT_EQ(end_of(cancelled).error, ErrorKind::kInterrupted);
  EXPECT_EQ(cancelled.response.attempts, 0);
  stop.cancel();
  EXPECT_EQ(end_of(holder).error, ErrorKind::kInterrupted);
  EXPECT_EQ(end_of(last).body, "ok") << "those that gave up are passed over";
}

}  // namespace
}  // namespace bellwether::http1
