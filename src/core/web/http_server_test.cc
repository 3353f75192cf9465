#include "core/web/http_server.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "core/base/encoding.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/event.h"
#include "core/runtime/stream_testing.h"
#include "sim/world.h"

namespace bellwether::web {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr uint16_t kPort = 80;

struct Site final : Handler {
  Limits limits{.connections = 4};
  Duration thinks;
  std::string page = "hello";
  std::vector<Request> asked;

  runtime::task<Answer> answer(Request request, runtime::Cancellation* cancel) override {
    asked.push_back(std::move(request));
    runtime::Runtime& runtime = *runtime_;
    co_await runtime.sleep(thinks, cancel);
    co_return Answer{.body = page, .fields = {{"X-More", "1"}}};
  }
  runtime::Runtime* runtime_ = nullptr;
};

runtime::task<void> run_site(runtime::Runtime& runtime, void* context) {
  auto& site = *static_cast<Site*>(context);
  site.runtime_ = &runtime;
  auto server = HttpServer::listen(runtime, {runtime::IpAddress::any(), kPort}, site, site.limits);
  check(server.has_value());
  co_await (*server)->serve(nullptr);
}

// Sends pieces with a pause behind each, then reads to the end.
struct Client {
  std::vector<std::string> pieces;
  Duration pause;
  bool reads = true;
  std::string got;
  bool over = false;
  Duration took;
};

runtime::task<void> run_client(runtime::Runtime& runtime, void* context) {
  auto& client = *static_cast<Client*>(context);
  const runtime::Endpoint server{runtime::IpAddress::v4(0x0a000001), kPort};
  const Instant begun = runtime.now();
  auto stream = co_await runtime.connect(server, {}, nullptr);
  check(stream.has_value());
  for (const std::string& piece : client.pieces) {
    [[maybe_unused]] const Errc sent = co_await runtime::send_all(**stream, piece);
    co_await runtime.sleep(client.pause);
  }
  if (!client.reads) co_await runtime.sleep(Duration::minutes(5));
  const runtime::Received received = co_await runtime::receive(**stream, 16 * 1024 * 1024);
  client.got = received.bytes;
  client.took = runtime.now() - begun;
  client.over = true;
}

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() { world.add_node("server"); }
  void start_site() { world.node(0).start(&run_site, &site); }
  void start(Client& client) {
    world.add_node("client" + std::to_string(world.size()));
    world.node(world.size() - 1).start(&run_client, &client);
  }
  std::string ask(std::vector<std::string> pieces) {
    Client client{.pieces = std::move(pieces)};
    start(client);
    EXPECT_TRUE(world.run_while_waiting(Duration::minutes(1), [&] { return client.over; }));
    return client.got;
  }
  sim::World world{1};
  Site site;
};

TEST_F(HttpServerTest, answers_a_request_and_closes) {
  start_site();
  const std::string got = ask({"GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: y\r\n\r\n"});
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(got, HasSubstr("X-More: 1\r\n"));
  EXPECT_TRUE(got.ends_with("\r\n\r\nhello"));
  ASSERT_EQ(site.asked.size(), 1U);
  EXPECT_EQ(site.asked[0].path + "?" + site.asked[0].query, "/a?b=c");
  EXPECT_EQ(site.asked[0].field("accept"), "y");
}

TEST_F(HttpServerTest, takes_a_request_in_pieces_with_its_body) {
  start_site();
  ask({"POST / HTTP/1.1\r\nHo", "st: x\r\nContent-Length: 6\r\n\r\nab", "cdefgh"});
  ASSERT_EQ(site.asked.size(), 1U);
  EXPECT_EQ(site.asked[0].body, "abcdef");
}

TEST_F(HttpServerTest, a_head_alone_is_asked_for_with_head) {
  start_site();
  EXPECT_TRUE(ask({"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"}).ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, what_is_too_large_or_makes_no_sense_is_refused_and_not_handed_on) {
  start_site();
  const std::string begin = "GET / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_THAT(ask({begin + "A: " + std::string(20'000, 'a')}), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask({begin + "A: " + std::string(17'000, 'a') + "\r\n\r\n"}), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask({begin + "Content-Length: 65537\r\n\r\n"}), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask({begin + "Transfer-Encoding: chunked\r\n\r\n"}), StartsWith("HTTP/1.1 411 "));
  EXPECT_THAT(ask({"\x16\x03\x01\x02"}), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask({"GET / HTTP/1.1\r\n\r\n"}), StartsWith("HTTP/1.1 400 ")) << "no Host";
  EXPECT_TRUE(site.asked.empty());
}

TEST_F(HttpServerTest, a_client_that_drips_loses_its_connection) {
  start_site();
  Client slow{.pieces = std::vector<std::string>(100, "G"), .pause = Duration::seconds(1)};
  start(slow);
  ASSERT_TRUE(world.run_while_waiting(Duration::minutes(5), [&] { return slow.over; }));
  EXPECT_EQ(slow.got, "");
  EXPECT_TRUE(site.asked.empty());
  EXPECT_THAT(ask({"GET / HTTP/1.1\r\nHost: x\r\n\r\n"}), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, those_who_do_not_read_their_answer_hold_up_nobody) {
  site.page = std::string(8 * 1024 * 1024, 'x');
  start_site();
  std::vector<Client> stuck(6, Client{.pieces = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n"}, .reads = false});
  for (Client& one : stuck) start(one);
  world.run_for(Duration::seconds(7));
  site.page = "hello";
  EXPECT_TRUE(ask({"GET / HTTP/1.1\r\nHost: x\r\n\r\n"}).ends_with("hello"));
}

TEST_F(HttpServerTest, when_there_are_too_many_who_is_slowest_to_ask_gives_way) {
  start_site();
  std::vector<Client> silent(20, Client{.pieces = {"GET "}});
  for (Client& one : silent) start(one);
  world.run_for(Duration::seconds(1));
  EXPECT_EQ(std::count_if(silent.begin(), silent.end(), [](const Client& one) { return one.over; }), 16);
  Client client{.pieces = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n"}};
  start(client);
  ASSERT_TRUE(world.run_while_waiting(Duration::seconds(2), [&] { return client.over; }));
  EXPECT_THAT(client.got, StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, when_there_are_too_many_who_has_its_answer_gives_way_first) {
  start_site();
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  Client asking{.pieces = {"GET / HT", "TP/1.1\r\nHost: x\r\n\r\n"}, .pause = Duration::millis(700)};
  Client also_asking = asking;
  start(asking);
  // These keep their connections open after their answers.
  std::vector<Client> answered(3, Client{.pieces = {request}, .pause = Duration::minutes(1)});
  for (Client& one : answered) start(one);
  world.run_for(Duration::millis(200));
  ASSERT_EQ(site.asked.size(), 3U);
  start(also_asking);
  EXPECT_THAT(ask({request}), StartsWith("HTTP/1.1 200 "));
  ASSERT_TRUE(world.run_while_waiting(Duration::seconds(3), [&] { return asking.over && also_asking.over; }));
  EXPECT_THAT(asking.got, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(also_asking.got, StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, a_field_given_twice_with_two_values_says_nothing) {
  const Request request{.fields = {{"Host", "a"}, {"Origin", "a"}, {"origin", "b"}}};
  EXPECT_EQ(request.field("host"), "a");
  EXPECT_EQ(request.field("Origin"), "");
  EXPECT_EQ(request.field("Cookie"), "");
}

// Asks for an address by name where no name is answered, for so long.
struct Looker {
  Duration most;
  Result<runtime::Endpoint> found = fail(Errc::kIo, "not looked");
  Duration took;
  bool over = false;
};

runtime::task<void> run_looker(runtime::Runtime& runtime, void* context) {
  auto& looker = *static_cast<Looker*>(context);
  const Instant begun = runtime.now();
  runtime::Until until(runtime, begun + looker.most, nullptr);
  looker.found = co_await endpoint_of(runtime, "server:80", until.cancellation());
  looker.took = runtime.now() - begun;
  looker.over = true;
}

TEST_F(HttpServerTest, a_name_is_looked_up_for_no_longer_than_asked) {
  Looker looker{.most = Duration::millis(300)};
  world.network().isolate(world.node(0));
  world.node(0).start(&run_looker, &looker);
  ASSERT_TRUE(world.run_while_waiting(Duration::minutes(1), [&] { return looker.over; }));
  EXPECT_EQ(looker.took, looker.most);
  ASSERT_FALSE(looker.found.has_value());
  EXPECT_EQ(looker.found.error().code, Errc::kCancelled);
}

TEST(FormFields, any_bytes_come_through) {
  using Fields = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(form_fields("a=1&b=%2F+%ff&&c&d=%zz%4"), (Fields{{"a", "1"}, {"b", "/ \xff"}, {"c", ""}, {"d", "%zz%4"}}));
  EXPECT_EQ(form_fields(""), Fields());
  const std::string odd("a b&c=d%\r\n\0\xff\xc3\xa4/+", 15);
  std::string text = "x=";
  append_percent_encoded(odd, text);
  EXPECT_EQ(form_fields(text), (Fields{{"x", odd}}));
}

}  // namespace
}  // namespace bellwether::web
