#include "cluster/wire/handshake.h"

#include <gmock/gmock.h>

#include "cluster/wire/frame.h"
#include "cluster/wire/wire_testing.h"
#include "core/message/message_testing.h"

namespace bellwether::wire {
namespace {

using testing::HasSubstr;

constexpr WallTime kNow = wall_ms(1'800'000'000'000);

class HandshakeTest : public testing::Test {
 protected:
  SessionId draw() { return SessionId::draw(kNow, prng_); }
  // What the acceptor makes of the opener's hello, and the opener of its answer.
  void meet() {
    const Opener opener(opener_, opener_keys_, draw());
    hello_.assign(opener.hello().begin(), opener.hello().end());
    auto copy = hello_;
    auto answer = Acceptor::on_hello(acceptor_, acceptor_keys_, copy, draw(), opener_claims_);
    answer_ = answer.frame;
    at_acceptor_ = std::move(answer.agreed);
    auto answered = answer_;
    at_opener_ = opener.on_answer(opener_keys_, answered, acceptor_claims_);
  }
  // Both sides, and the opener is informed.
  void expect_refused(Refusal refusal, const std::string& detail) {
    meet();
    ASSERT_FALSE(at_acceptor_);
    EXPECT_EQ(at_acceptor_.error().refusal, refusal) << to_string(at_acceptor_.error().refusal);
    EXPECT_THAT(at_acceptor_.error().detail, HasSubstr(detail));
    ASSERT_FALSE(at_opener_);
    EXPECT_EQ(at_opener_.error().refusal, refusal) << to_string(at_opener_.error().refusal);
    EXPECT_THAT(at_opener_.error().detail, HasSubstr(detail));
  }
  // What the acceptor counts, who has decided; the opener was only told.
  void expect_mismatch(const std::string& expected, const std::string& received) {
    ASSERT_FALSE(at_acceptor_);
    EXPECT_EQ(at_acceptor_.error().mismatch.expected, expected);
    EXPECT_EQ(at_acceptor_.error().mismatch.received, received);
    ASSERT_FALSE(at_opener_);
    EXPECT_EQ(at_opener_.error().mismatch.expected, "");
  }
  // The acceptor says nothing at all.
  void expect_silence(Refusal refusal) {
    meet();
    ASSERT_FALSE(at_acceptor_);
    EXPECT_EQ(at_acceptor_.error().refusal, refusal) << to_string(at_acceptor_.error().refusal);
    EXPECT_TRUE(answer_.empty());
    EXPECT_FALSE(at_opener_);
  }

  Prng prng_{1};
  Keyring opener_keys_ = keyring_of();
  Keyring acceptor_keys_ = keyring_of();
  HandshakeSettings opener_ = node_of("w1", Role::kWorker);
  HandshakeSettings acceptor_ = node_of("m1", Role::kManager);
  Proof opener_claims_;
  Proof acceptor_claims_;
  std::vector<std::byte> hello_;
  std::vector<std::byte> answer_;
  Agreed at_acceptor_ = Agreement{};
  Agreed at_opener_ = Agreement{};
};

TEST_F(HandshakeTest, both_learn_who_the_other_is_and_share_keys) {
  opener_.self.session = draw();
  opener_.self.requests_max = 17;
  meet();
  ASSERT_TRUE(at_acceptor_) << at_acceptor_.error().detail;
  ASSERT_TRUE(at_opener_) << at_opener_.error().detail;
  EXPECT_EQ(at_acceptor_->peer.identity, opener_.self.identity);
  EXPECT_EQ(at_acceptor_->peer.session, opener_.self.session);
  EXPECT_EQ(at_acceptor_->peer.requests_max, 17U);
  EXPECT_EQ(at_acceptor_->peer.software, "bellwether test");
  EXPECT_EQ(at_opener_->peer.identity, acceptor_.self.identity);
  EXPECT_EQ(to_hex(at_opener_->send.bytes()), to_hex(at_acceptor_->receive.bytes()));
  EXPECT_EQ(to_hex(at_opener_->receive.bytes()), to_hex(at_acceptor_->send.bytes()));
  EXPECT_NE(to_hex(at_opener_->send.bytes()), to_hex(at_opener_->receive.bytes()));
  EXPECT_FALSE(at_opener_->role_proven);
}

TEST_F(HandshakeTest, two_connections_have_different_keys) {
  meet();
  const std::string first = to_hex(at_opener_->send.bytes());
  meet();
  EXPECT_NE(to_hex(at_opener_->send.bytes()), first);
}

TEST_F(HandshakeTest, the_keys_are_derived_as_the_format_says) {
  meet();
  ASSERT_TRUE(at_opener_);
  std::vector<std::byte> salt(hello_.begin() + 22, hello_.begin() + 38);
  salt.insert(salt.end(), answer_.begin() + 22, answer_.begin() + 38);
  auto info = bytes_of("bellwether stream 1");
  for (const Digest& digest : {sha256(hello_), sha256(answer_)}) info.insert(info.end(), digest.begin(), digest.end());
  Key expected;
  info.push_back(std::byte{1});
  hkdf_sha256(as_bytes("a secret for tests, 7Q"), salt, info, expected.bytes());
  EXPECT_EQ(to_hex(at_opener_->send.bytes()), to_hex(expected.bytes()));
  info.back() = std::byte{2};
  hkdf_sha256(as_bytes("a secret for tests, 7Q"), salt, info, expected.bytes());
  EXPECT_EQ(to_hex(at_opener_->receive.bytes()), to_hex(expected.bytes()));
}

TEST_F(HandshakeTest, another_cluster_is_refused_first) {
  opener_.self.identity.cluster = "herd";
  opener_.self.identity.environment = "prod";
  opener_.self.version = {2, 0};
  expect_refused(Refusal::kCluster, "this is the cluster 'flock', not 'herd'");
  expect_mismatch("flock", "herd");
}

TEST_F(HandshakeTest, another_environment_is_refused_second) {
  opener_.self.identity.environment = "prod";
  opener_.self.version = {2, 0};
  expect_refused(Refusal::kEnvironment, "this is the environment 'test', not 'prod'");
  expect_mismatch("test", "prod");
}

TEST_F(HandshakeTest, another_major_version_is_refused_before_the_role) {
  opener_.self.version = {2, 0};
  opener_.self.identity.role = Role::kClient;
  expect_refused(Refusal::kVersion, "this node uses protocol 1.6, the other one 2.0");
  expect_mismatch("", "");
}

TEST_F(HandshakeTest, a_role_that_may_not_connect_is_refused) {
  acceptor_.self.identity.role = Role::kGate;
  expect_refused(Refusal::kRole, "a worker may not connect to a gate");
  expect_mismatch("worker", "gate");
}

TEST_F(HandshakeTest, clients_reach_managers_only_where_there_are_no_gates) {
  opener_.self.identity.role = Role::kClient;
  expect_refused(Refusal::kRole, "of a cluster with gates");
  opener_.has_gates = acceptor_.has_gates = false;
  meet();
  EXPECT_TRUE(at_acceptor_ && at_opener_);
}

TEST_F(HandshakeTest, the_opener_checks_the_matrix_too) {
  opener_.self.identity.role = Role::kClient;
  acceptor_.has_gates = false;
  meet();
  EXPECT_TRUE(at_acceptor_);
  ASSERT_FALSE(at_opener_) << "its own configuration says that there are gates";
  EXPECT_EQ(at_opener_.error().refusal, Refusal::kRole);
}

TEST_F(HandshakeTest, a_node_does_not_talk_to_its_own_name) {
  opener_.self.identity = acceptor_.self.identity;
  expect_refused(Refusal::kOwnName, "this node has the name 'm1' too");
}

TEST_F(HandshakeTest, a_certificate_must_say_what_its_node_says) {
  opener_claims_ = {Claims{"flock", "test", "dc1", Role::kManager, "w1"}};
  expect_refused(Refusal::kCertificate, "the certificate does not permit its node to be a worker of flock/test/dc1");
  opener_claims_ = std::vector<Claims>();
  expect_refused(Refusal::kCertificate, "the certificate does not permit");
  opener_claims_ = {Claims{"flock", "test", "dc1", Role::kManager, "w1"},
                    Claims{"flock", "test", "*", Role::kWorker, "w1"}};
  meet();
  ASSERT_TRUE(at_acceptor_);
  EXPECT_TRUE(at_acceptor_->role_proven);
}

TEST_F(HandshakeTest, a_certificate_must_name_its_node) {
  opener_claims_ = {Claims{"flock", "test", "dc1", Role::kWorker, "w2"}};
  expect_refused(Refusal::kName, "the certificate belongs to 'w2', but the node's name is 'w1'");
  expect_mismatch("w2", "w1");
  opener_claims_ = {Claims{"flock", "test", "dc1", Role::kWorker, ""}};
  expect_refused(Refusal::kCertificate, "URI:bellwether://flock/test/dc1/role/worker/node/w1");
  opener_claims_.reset();
  acceptor_claims_ = {Claims{"flock", "test", "*", Role::kManager, "m2"}};
  meet();
  ASSERT_FALSE(at_opener_);
  EXPECT_EQ(at_opener_.error().refusal, Refusal::kName);
}

TEST_F(HandshakeTest, the_acceptors_certificate_is_checked_by_the_opener) {
  acceptor_claims_ = {Claims{"flock", "test", "dc1", Role::kWorker, "m1"}};
  meet();
  ASSERT_FALSE(at_opener_);
  EXPECT_EQ(at_opener_.error().refusal, Refusal::kCertificate);
}

TEST_F(HandshakeTest, minors_meet_at_the_lower_one) {
  opener_.self.version = {1, 1};
  meet();
  ASSERT_TRUE(at_acceptor_ && at_opener_);
  EXPECT_EQ(at_acceptor_->version, (ProtocolVersion{1, 1}));
  EXPECT_EQ(at_opener_->version, (ProtocolVersion{1, 1}));
}

TEST_F(HandshakeTest, who_does_not_know_the_secret_is_told_nothing) {
  opener_keys_ = keyring_of("another secret, 9Z");
  expect_silence(Refusal::kUnknownKey);
}

TEST_F(HandshakeTest, who_only_names_the_right_secret_is_told_nothing) {
  const Opener opener(opener_, opener_keys_, draw());
  std::vector<std::byte> forged(opener.hello().begin(), opener.hello().end());
  forged.back() ^= std::byte{1};
  const auto answer = Acceptor::on_hello(acceptor_, acceptor_keys_, forged, draw(), {});
  EXPECT_TRUE(answer.frame.empty());
  EXPECT_EQ(answer.agreed.error().refusal, Refusal::kForged);
}

TEST_F(HandshakeTest, a_hello_in_pieces_or_of_another_kind_is_told_nothing) {
  meet();
  for (std::size_t size = 0; size < hello_.size(); ++size) {
    std::vector<std::byte> cut(hello_.begin(), hello_.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_TRUE(Acceptor::on_hello(acceptor_, acceptor_keys_, cut, draw(), {}).frame.empty());
  }
  auto welcome = answer_;
  const auto answer = Acceptor::on_hello(acceptor_, acceptor_keys_, welcome, draw(), {});
  EXPECT_EQ(answer.agreed.error().refusal, Refusal::kUnexpected);
}

TEST_F(HandshakeTest, the_words_of_a_refusal_are_sealed) {
  opener_.self.identity.cluster = "herd";
  meet();
  EXPECT_THAT(std::string(as_text(answer_)), testing::Not(HasSubstr("flock")));
}

TEST_F(HandshakeTest, a_copied_hello_gives_the_copier_no_keys) {
  meet();
  const auto recorded = hello_;
  auto copy = recorded;
  const auto again = Acceptor::on_hello(acceptor_, acceptor_keys_, copy, draw(), {});
  ASSERT_TRUE(again.agreed) << "it is authentic, so it is answered";
  EXPECT_NE(to_hex(again.agreed->receive.bytes()), to_hex(at_acceptor_->receive.bytes()))
      << "but frames recorded behind it do not open";
}

TEST_F(HandshakeTest, a_copied_answer_is_no_answer_to_another_hello) {
  meet();
  const auto recorded = answer_;
  const Opener later(opener_, opener_keys_, draw());
  auto copy = recorded;
  const auto agreed = later.on_answer(opener_keys_, copy, {});
  ASSERT_FALSE(agreed);
  EXPECT_EQ(agreed.error().refusal, Refusal::kForged);
}

TEST_F(HandshakeTest, an_acceptor_that_learnt_the_next_secret_welcomes_both) {
  const auto next = acceptor_keys_.learn(secret_of("the next secret, 2b!"));
  meet();
  EXPECT_TRUE(at_acceptor_ && at_opener_) << "the old one is in use at the opener";
  opener_keys_ = keyring_of("the next secret, 2b!");
  meet();
  ASSERT_TRUE(at_acceptor_ && at_opener_);
  EXPECT_EQ(at_acceptor_->key, *next);
}

TEST(Hello, travels_within_its_limits) { message::expect_sound<Announced>(); }
TEST(Hello, so_does_a_refusal) { message::expect_sound<RefusedText>(); }

TEST(Hello, the_bytes_are_those_of_every_version) {
  Announced announced = node_of("n", Role::kGate).self;
  announced.session = SessionId{};
  EXPECT_EQ(to_hex(as_bytes(message::encode(announced))),
            "0a04080110061205666c6f636b1a04746573742204676174652a0364633132016e3a0f62656c6c776574686572207465737"
            "44a1000000000000000000000000000000000508008");
}

TEST(Hello, features_that_older_versions_announce_are_ignored) {
  Announced announced = node_of("n", Role::kGate).self;
  const auto read = decode_hello(as_bytes(message::encode(announced) + "\x42\x0c" + "cancellation"));
  ASSERT_TRUE(read);
  EXPECT_EQ(message::encode(*read), message::encode(announced));
}

TEST(Hello, missing_fields_are_refused_by_name) {
  Announced announced = node_of("n", Role::kGate).self;
  const auto decoded = [](const Announced& from) { return decode_hello(as_bytes(message::encode(from))); };
  ASSERT_TRUE(decoded(announced));
  const auto error_of = [&](const Announced& from) { return decoded(from).error().message; };
  Announced broken = announced;
  broken.identity.cluster.clear();
  EXPECT_THAT(error_of(broken), HasSubstr("'cluster'"));
  broken = announced;
  broken.identity.node = "not a name";
  EXPECT_THAT(error_of(broken), HasSubstr("'node'"));
  broken = announced;
  broken.version = {};
  EXPECT_THAT(error_of(broken), HasSubstr("'version'"));
  broken = announced;
  broken.requests_max = 0;
  EXPECT_THAT(error_of(broken), HasSubstr("'requests_max'"));
  broken.version = {kVersion.major + 1, 0};
  broken.identity.node.clear();
  EXPECT_TRUE(decoded(broken)) << "another major has its own rules";
  EXPECT_THAT(decode_hello(as_bytes("garbage")).error().message, HasSubstr("cannot be read"));
}

TEST(SealedStream, frames_open_only_in_their_order_and_once) {
  Key key;
  key.bytes()[0] = std::byte{7};
  StreamSealer sealer(key);
  StreamOpener opener(key);
  const auto frame = [&](std::string_view text) {
    std::vector<std::byte> made(kStreamOverhead + text.size());
    std::memcpy(made.data() + kLengthBytes, text.data(), text.size());
    sealer.seal(made);
    return made;
  };
  auto one = frame("one");
  auto two = frame("two");
  auto three = frame("three");
  auto copy = one;
  MutableBytes text;
  ASSERT_TRUE(opener.open(one, text));
  EXPECT_EQ(as_text(text), "one");
  EXPECT_FALSE(opener.open(copy, text)) << "repeated";
  StreamOpener skipping(key);
  EXPECT_FALSE(skipping.open(three, text)) << "something was left out before it";
  StreamOpener late(key);
  EXPECT_FALSE(late.open(two, text));
}

}  // namespace
}  // namespace bellwether::wire
