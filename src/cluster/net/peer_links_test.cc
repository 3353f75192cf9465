#include <gmock/gmock.h>

#include "cluster/net/peer_links_testing.h"
#include "core/runtime/certificates_testing.h"

namespace bellwether::cluster {
namespace {

using runtime::IpAddress;
using testing::ElementsAre;
using wire::Priority;

TEST_F(PeerLinksTest, connects_when_something_is_asked_and_keeps_the_connection) {
  EXPECT_EQ(links_->open_connections(), 0u);
  EXPECT_EQ(ask("one"), "one");
  EXPECT_EQ(ask("two"), "two");
  EXPECT_EQ(links_->open_connections(), 1u);
  EXPECT_EQ(server_->connections().size(), 1u);
}

TEST_F(PeerLinksTest, what_the_peer_refuses_is_an_error_with_its_words) {
  const auto answer = ask("wrong");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kRefused);
  EXPECT_EQ(answer.error().message, "wrong");
}

TEST_F(PeerLinksTest, what_nobody_is_for_is_said_to_be_unknown) {
  theirs_.disconnect(kQuestion);
  EXPECT_EQ(ask("x").error().code, Errc::kUnsupported);
  EXPECT_EQ(theirs_.unknown(), 1u);
}

TEST_F(PeerLinksTest, what_is_said_before_there_is_a_connection_arrives_in_order) {
  for (const char* text : {"a", "b", "c"}) {
    links_->send(m2(), kNews, Priority::kLeadership, text, Duration::seconds(20));
  }
  until([&] { return echo_.told.size() == 3; });
  EXPECT_THAT(echo_.told, ElementsAre("a", "b", "c"));
}

TEST_F(PeerLinksTest, a_peer_that_is_started_again_is_connected_to_again) {
  ASSERT_EQ(ask("one"), "one");
  stop_m2();
  until([&] { return links_->open_connections() == 0; });
  start_m2();
  EXPECT_EQ(ask("two"), "two");
}

TEST_F(PeerLinksTest, a_peer_whose_port_is_gone_is_told_of_once) {
  ASSERT_EQ(ask("one"), "one");
  stop_m2();
  until([&] { return !refused.empty(); });
  EXPECT_FALSE(ask("two"));
  EXPECT_FALSE(ask("three"));
  EXPECT_THAT(refused, ElementsAre("m2"));
}

TEST_F(PeerLinksTest, one_that_drops_connections_without_a_word_is_there_until_its_port_is_gone) {
  stop_m2();
  wire::Keyring changed = link::test_keyring();
  server_ = *link::Server::listen(runtime_, at_, serving_, changed, theirs_, refusals_);
  server_scope_ = std::make_unique<runtime::Scope>();
  serve();
  ASSERT_EQ(ask("one"), "one");
  changed = link::test_keyring("a secret of somebody else, 3W");
  server_->connections().front()->close({Errc::kClosed, "the test ends it"});
  until([&] { return refusals_.counts().of(wire::Refusal::kUnknownKey) > 0 && !troubles.empty(); });
  EXPECT_THAT(refused, ElementsAre());
  stop_m2();
  // No request goes to it: its port is tried all the same.
  until([&] { return !refused.empty(); });
  EXPECT_FALSE(ask("two"));
  EXPECT_FALSE(ask("three"));
  EXPECT_THAT(refused, ElementsAre("m2"));
}

TEST_F(PeerLinksTest, one_that_refuses_this_node_with_reasons_is_there) {
  ASSERT_EQ(ask("one"), "one");
  dialling_.handshake.self.identity.cluster = "herd";
  server_->connections().front()->close({Errc::kClosed, "the test ends it"});
  until([&] { return !troubles.empty(); });
  EXPECT_THAT(troubles.front(), testing::HasSubstr("this is the cluster 'flock', not 'herd'"));
  EXPECT_THAT(refused, ElementsAre());
}

TEST_F(PeerLinksTest, one_that_never_answered_is_no_proof_of_anything) {
  stop_m2();
  EXPECT_FALSE(ask("one"));
  EXPECT_THAT(refused, ElementsAre());
}

TEST_F(PeerLinksTest, somebody_else_at_the_address_is_not_taken_for_the_peer) {
  const auto answer = ask("one", {"m3", at_});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, testing::HasSubstr("is 'm2', not 'm3'"));
}

TEST_F(PeerLinksTest, a_peer_that_has_moved_is_found_at_its_new_address) {
  const runtime::Endpoint elsewhere{IpAddress::loopback(), 1};
  EXPECT_FALSE(ask("one", {"m2", elsewhere}));
  EXPECT_EQ(ask("two"), "two");
}

TEST_F(PeerLinksTest, whoever_is_at_an_address_can_be_asked) { EXPECT_EQ(ask("one", {"", at_}), "one"); }

TEST_F(PeerLinksTest, certificates_are_for_the_name_of_a_peer_and_for_the_address_of_one_without_a_name) {
  const runtime::TemporaryFolder folder;
  const runtime::TestAuthority authority(folder);
  const auto own = authority.issue("m1", "URI:bellwether://flock/test/*/role/operator/node/m1");
  const auto theirs = authority.issue("m2", "DNS:m2,IP:127.0.0.1,URI:bellwether://flock/test/*/role/manager/node/m2");
  stop_m2();
  serving_.tls = *runtime::TlsContext::server({theirs.certificate, theirs.key, {}, authority.ca_file()});
  runtime::TlsClientOptions options;
  options.ca_file = authority.ca_file();
  options.certificate_file = own.certificate;
  options.key_file = own.key;
  dialling_.tls = *runtime::TlsContext::client(options);
  start_m2();
  EXPECT_EQ(ask("one"), "one");
  EXPECT_EQ(ask("two", {"", at_}), "two");
  EXPECT_FALSE(ask("three", {"m3", at_}));
}

TEST_F(PeerLinksTest, a_connection_that_nobody_uses_is_closed_and_made_again_when_it_is_needed) {
  machine_.run(links_->close(Duration::seconds(5)));
  links_ = std::make_unique<PeerLinks>(runtime_, dialling_, keys_, ours_, refusals_, listener(), Duration::millis(40));
  ASSERT_EQ(ask("one"), "one");
  until([&] { return links_->open_connections() == 0; });
  EXPECT_EQ(ask("two"), "two");
  EXPECT_THAT(refused, ElementsAre());
}

TEST_F(PeerLinksTest, a_connection_that_is_renewed_ends_its_work_while_a_new_one_takes_what_comes) {
  std::optional<Result<std::string>> slow;
  runtime::Scope scope;
  scope.spawn(ask_slowly(*links_, m2(), slow));
  until([&] { return echo_.slow_one != nullptr; });
  const wire::KeyId old = keys_.in_use();
  const wire::KeyId next = *keys_.learn(*wire::Secret::take("the next secret for tests, 8R"));
  ASSERT_TRUE(keys_.use(next));
  links_->renew(old);
  links_->send(m2(), kNews, Priority::kLeadership, "news", Duration::seconds(20));
  EXPECT_EQ(ask("at once"), "at once");
  EXPECT_THAT(echo_.told, ElementsAre("news"));
  EXPECT_FALSE(slow) << "nobody has answered it yet";
  EXPECT_EQ(links_->open_connections(), 2u);
  echo_.slow_one->respond(echo_.slow_id, wire::ReplyStatus::kOk, as_bytes("slow"));
  until([&] { return slow.has_value() && links_->open_connections() == 1; });
  EXPECT_EQ(*slow, "slow");
  EXPECT_EQ(links_->connections().front()->agreement().key, next);
  EXPECT_THAT(refused, ElementsAre());
  machine_.run(joining(scope));
}

TEST_F(PeerLinksTest, what_is_asked_after_the_goodbye_of_the_peer_goes_over_a_new_connection) {
  std::optional<Result<std::string>> slow;
  runtime::Scope scope;
  scope.spawn(ask_slowly(*links_, m2(), slow));
  until([&] { return echo_.slow_one != nullptr; });
  echo_.slow_one->say_goodbye();
  until([&] { return links_->connections().front()->session().closing(); });
  EXPECT_EQ(ask("at once"), "at once");
  EXPECT_FALSE(slow) << "nobody has answered it yet";
  echo_.slow_one->respond(echo_.slow_id, wire::ReplyStatus::kOk, as_bytes("slow"));
  until([&] { return slow.has_value() && links_->open_connections() == 1; });
  EXPECT_EQ(*slow, "slow");
  machine_.run(joining(scope));
}

TEST_F(PeerLinksTest, news_that_nobody_took_in_time_is_lost_and_holds_up_nothing) {
  stop_m2();
  links_->send(m2(), kNews, Priority::kLeadership, "late", Duration::zero());
  until([&] { return !troubles.empty(); });
  start_m2();
  links_->send(m2(), kNews, Priority::kLeadership, "in time", Duration::seconds(20));
  until([&] { return !echo_.told.empty(); });
  EXPECT_THAT(echo_.told, ElementsAre("in time"));
}

}  // namespace
}  // namespace bellwether::cluster
