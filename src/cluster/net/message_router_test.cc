// What the router lets through, for every message and every role: over real connections.

#include "cluster/net/message_router.h"

#include <fstream>
#include <gmock/gmock.h>
#include <regex>
#include <set>

#include "cluster/net/election_driver.h"
#include "cluster/net/message_classes.h"
#include "cluster/net/node_testing.h"
#include "core/message/description.h"
#include "core/runtime/certificates_testing.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "sim/machine_testing.h"

namespace bellwether::cluster {
namespace {

using runtime::task;
using testing::HasSubstr;
using wire::ReplyStatus;
using wire::Role;

constexpr Role kEveryRole[] = {Role::kClient, Role::kGate, Role::kManager, Role::kWorker, Role::kOperator};

struct Message {
  uint16_t type = 0;
  uint32_t message = 0;
  const char* senders = "";    // the first messages of the roles
  std::string_view body = {};  // where an empty message will not do
};

// Repeated here, so that a change of the router's table by mistake fails.
constexpr Message kMessages[] = {
    {100, 0, "gmw"},   {200, 0, "gm"},    {201, 0, "gm"},    {202, 0, "gm"},    {300, 0, "o"},     {400, 0, "gm"},
    {600, 0, "gm"},    {700, 0, "cgmwo"}, {701, 0, "cgmwo"}, {800, 0, "cgmo"},  {500, 1, "w"},     {500, 2, "w"},
    {500, 3, "w"},     {500, 4, "w"},     {500, 5, "m"},     {500, 6, "m"},     {500, 7, "m"},     {500, 8, "m"},
    {500, 9, "m"},     {500, 10, "m"},    {500, 11, "cgmo"}, {500, 12, "cgmo"}, {500, 13, "cgmo"}, {500, 14, "cgmo"},
    {500, 15, "cgmo"}, {500, 16, "cgmo"}, {500, 17, "cgmo"}, {500, 18, "m"},    {500, 19, "m"},    {500, 20, "w"},
    {500, 21, "cgmo"}, {500, 22, "cgmo"}, {500, 23, "m"},    {500, 24, "m"},    {500, 25, "w"},    {500, 26, "cgmo"},
    {500, 27, "m"},    {500, 28, "mw"},   {500, 29, "m"},    {500, 30, "cgmo"}, {9'999, 0, ""},    {500, 99, ""},
    {500, 0, ""}};

std::string body_of(const Message& message) {
  if (message.message == 0) return std::string(message.body);
  std::string body;  // the tag of a length-delimited field, and nothing in it
  for (uint32_t tag = message.message << 3U | 2U; tag != 0; tag >>= 7U) {
    body += static_cast<char>((tag & 0x7FU) | (tag > 0x7FU ? 0x80U : 0U));
  }
  return body + std::string(1, '\0');
}

class Taker final : public Service {
 public:
  int requests = 0;
  int messages = 0;
  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    ++requests;
    connection.respond(request.id, ReplyStatus::kOk, {});
  }
  void on_message(link::Connection&, const wire::Inbound&) override { ++messages; }
};

struct Audit {
  std::vector<std::string> lines;
  void on_refused(wire::Refusal refusal, const runtime::Endpoint&, std::string_view detail, uint64_t) {
    lines.push_back(std::string(to_string(refusal)) + ": " + std::string(detail));
  }
};

// Does nothing when it leads.
class Bystander final : public Leadership::Listener {
  void on_elected(const election::TermOfOffice&) override {}
  void on_drain(const std::string&) override {}
  void on_term_ended(const election::TermEnded&) override {}
  void on_leader_changed(const std::string&, election::Term, const std::string&) override {}
  void on_note(bool, const std::string&) override {}
};

class MessageRouterTest : public sim::MachineTest {
 protected:
  MessageRouterTest() {
    serving_.handshake = link::test_node("m1", Role::kManager);
    serving_.handshake.has_gates = false;  // so that clients may connect
    router_.report_refusals(&refusals_);
    for (const uint16_t type : {100, 200, 201, 202, 300, 400, 500, 600, 800}) router_.connect(type, taker_);
  }
  static task<void> run(link::Connection& connection) {
    const Error why = co_await connection.run(nullptr);
    static_cast<void>(why);
  }
  // Says `messages` as a node of this role and name, each as a question and as news.
  task<void> say(Role role, std::string name, std::vector<Message> messages) {
    auto made =
        link::Server::listen(runtime_, {runtime::IpAddress::loopback(), 0}, serving_, keys_, router_, refusals_);
    const std::unique_ptr<link::Server> server = std::move(*made);
    runtime::Scope scope;
    scope.spawn(server->serve(scope.cancellation()));
    dialling_.handshake = link::test_node(name, role);
    dialling_.handshake.has_gates = false;
    auto dialled = co_await link::dial(runtime_, server->local(), "m1", dialling_, keys_, deaf_, refusals_, nullptr);
    check(dialled.has_value(), "whoever shall speak is let in");
    scope.spawn(run(**dialled));
    for (const Message& message : messages) {
      const std::string body = body_of(message);
      const wire::Outgoing out{.type = message.type, .body = as_bytes(body)};
      const Status sent = (*dialled)->send(out);
      check(sent.has_value(), "a short message is sent");
      std::vector<std::byte> answer;
      const Instant deadline = runtime_.now() + Duration::seconds(30);
      const auto status = co_await (*dialled)->request(out, deadline, answer);
      statuses_.push_back(status ? *status : ReplyStatus::kBusy);
    }
    (*dialled)->close({Errc::kClosed, "all is said"});
    scope.cancel();
    co_await scope.join();
  }

  wire::Keyring keys_ = link::test_keyring();
  Audit audit_;
  link::RefusalWatch refusals_{{callback_to<&Audit::on_refused>(audit_), {}}, Duration::zero()};
  link::ServerSettings serving_;
  link::DialSettings dialling_;
  MessageRouter router_{MessageClasses(&message::message_of<dispatch::JobMessage>())};
  MessageRouter deaf_;
  Taker taker_;
  std::vector<ReplyStatus> statuses_;
};

TEST_F(MessageRouterTest, every_role_may_send_what_the_table_says_and_nothing_else) {
  for (const Role role : kEveryRole) {
    for (const Message& message : kMessages) {
      SCOPED_TRACE(std::string(to_string(role)) + ", " + std::to_string(message.type) + "." +
                   std::to_string(message.message));
      const std::string senders = message.senders;
      const bool allowed = senders.find(to_string(role)[0]) != std::string::npos;
      const bool piece = message.type == 700 || message.type == 701;  // which the router itself is for
      taker_ = {};
      const uint64_t refused = router_.refused();
      const wire::RefusalCounts told = refusals_.counts();
      const uint64_t unknown = router_.unknown();
      statuses_.clear();
      machine_.run(say(role, "n1", {message}));
      ASSERT_EQ(statuses_.size(), 1U);
      const auto reason = senders.empty() ? ReplyStatus::kUnknownType : ReplyStatus::kNotPermitted;
      EXPECT_EQ(statuses_[0], allowed ? (piece ? ReplyStatus::kFailed : ReplyStatus::kOk) : reason);
      EXPECT_EQ(taker_.requests, allowed && !piece ? 1 : 0);
      EXPECT_EQ(taker_.messages, allowed && !piece ? 1 : 0);
      const uint64_t of_both = allowed || senders.empty() ? 0 : 2;
      EXPECT_EQ(router_.refused() - refused, of_both);
      const uint64_t for_nobody = allowed && piece ? 1 : 0;  // news of this type are
      EXPECT_EQ(router_.unknown() - unknown, senders.empty() ? 2 : for_nobody);
      const auto why = senders.empty() ? wire::Refusal::kUnknownMessage : wire::Refusal::kSender;
      EXPECT_EQ(refusals_.counts().of(why) - told.of(why), allowed ? 0 : 2);
      EXPECT_EQ(refusals_.counts().total() - told.total(), allowed ? 0 : 2);
    }
  }
}

TEST_F(MessageRouterTest, every_message_that_there_is_stands_in_the_table_above) {
  std::set<std::pair<int, uint32_t>> known;
  for (const Message& message : kMessages) known.emplace(message.type, message.message);
  std::ifstream file("src/cluster/net/message_classes.h");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(text.empty());
  const std::regex constant(R"(constexpr uint16_t (k\w+) = (\d+);)");
  for (std::sregex_iterator at(text.begin(), text.end(), constant), end; at != end; ++at) {
    EXPECT_TRUE(known.contains({std::stoi((*at)[2]), 0U})) << (*at)[1];
  }
  const message::Message& messages = message::message_of<dispatch::JobMessage>();
  for (std::size_t i = 0; i < messages.count; ++i) {
    EXPECT_TRUE(known.contains({message_type::kDispatch, messages.fields[i].number})) << messages.fields[i].name;
  }
}

TEST_F(MessageRouterTest, with_a_certificate_a_node_says_what_its_role_may_say_and_the_rest_is_refused_by_name) {
  const runtime::TemporaryFolder folder;
  const runtime::TestAuthority authority(folder);
  const auto of_m1 = authority.issue("m1", "DNS:m1,URI:bellwether://flock/test/dc1/role/manager/node/m1");
  const auto of_w1 = authority.issue("w1", "URI:bellwether://flock/test/dc1/role/worker/node/w1");
  serving_.tls = *runtime::TlsContext::server({of_m1.certificate, of_m1.key, {}, authority.ca_file()});
  runtime::TlsClientOptions options;
  options.ca_file = authority.ca_file();
  options.certificate_file = of_w1.certificate;
  options.key_file = of_w1.key;
  dialling_.tls = *runtime::TlsContext::client(options);
  // What its kind says; then a candidacy, a registration that is gone, an order.
  machine_.run(say(Role::kWorker, "w1", {{500, 2}, {200, 0}, {400, 0}, {500, 8}}));
  EXPECT_THAT(statuses_, testing::ElementsAre(ReplyStatus::kOk, ReplyStatus::kNotPermitted, ReplyStatus::kNotPermitted,
                                              ReplyStatus::kNotPermitted));
  EXPECT_EQ(taker_.requests, 1);
  ASSERT_EQ(audit_.lines.size(), 6U);
  EXPECT_EQ(audit_.lines[0],
            "sender: worker 'w1': message 200 (leadership) is not permitted for a worker and was ignored");
  EXPECT_THAT(audit_.lines[4], HasSubstr("message 500 (stop) is not permitted for a worker"));
}

// A voter with its own certificate sends another one's message.
TEST_F(MessageRouterTest, nobody_stands_and_nobody_leads_in_the_name_of_another) {
  Bystander none;
  const auto nowhere = [](const std::string&) -> std::optional<PeerAddress> { return std::nullopt; };
  MemoryKv kv;
  PeerLinks links(runtime_, dialling_, keys_, deaf_, refusals_);
  router_.disconnect(message_type::kLeadership);
  ElectionSettings settings;
  settings.key = "flock";
  settings.self = "m1";
  settings.voters = {"m1", "n1", "n2"};
  settings.timing = quorum::QuorumTiming::lan();
  settings.first_start = true;
  ElectionDriver driver(runtime_, kv, links, router_, nowhere, settings, 1, none);
  runtime::Scope scope;
  scope.spawn(driver.run(scope.cancellation()));
  const auto as = [](const char* name, quorum::Body body) {
    return message::encode(quorum::Message{member_id(name), quorum::Term(9), 1, 1, std::move(body)});
  };
  const quorum::Heartbeat heartbeat{.round = 1, .lease = Duration::seconds(1), .members = {}};
  const std::string forged[] = {as("n2", quorum::PreVote{}), as("n2", quorum::Vote{}), as("n2", heartbeat),
                                as("n2", quorum::Resigned{}), as("m1", quorum::StandNow{})};
  std::vector<Message> messages;
  for (const std::string& one : forged) messages.push_back({200, 0, "", one});
  machine_.run(say(Role::kManager, "n1", messages));
  EXPECT_EQ(driver.refused(), 5U);
  EXPECT_EQ(router_.refused(), 5U);
  EXPECT_EQ(refusals_.counts().of(wire::Refusal::kName), 5U);
  EXPECT_LT(driver.kernel().term(), quorum::Term(9)) << "nothing was learnt of them";
  ASSERT_EQ(audit_.lines.size(), 5U);
  EXPECT_EQ(audit_.lines[0], "name: manager 'n1': an election message in the name of another node");

  const std::string own = as("n1", quorum::Vote{});
  machine_.run(say(Role::kManager, "n1", {{200, 0, "", own}}));
  EXPECT_EQ(driver.refused(), 5U) << "in its own name it may";
  scope.cancel();
  machine_.run([](runtime::Scope& ending, PeerLinks& open) -> task<void> {
    co_await ending.join();
    co_await open.close(Duration::zero());
  }(scope, links));
}

TEST_F(MessageRouterTest, what_no_version_knows_is_told_of_with_its_number) {
  machine_.run(say(Role::kManager, "m2", {{9'999, 0}, {500, 99}}));
  ASSERT_EQ(audit_.lines.size(), 4U);
  EXPECT_EQ(audit_.lines[0], "unknown_message: manager 'm2': message 9999 is unknown to this version and was ignored");
  EXPECT_THAT(audit_.lines[2], HasSubstr("message 500 is unknown"));
}

}  // namespace
}  // namespace bellwether::cluster
