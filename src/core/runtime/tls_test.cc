#include "core/runtime/tls.h"

#include <gmock/gmock.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "core/runtime/stream_testing.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::runtime {
namespace {

using testing::HasSubstr;
using StreamResult = Result<std::unique_ptr<Stream>>;

std::string asked_for;  // the name in the last handshake of a client

int note_name(SSL* ssl, int*, void*) {
  const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  asked_for = name == nullptr ? "" : name;
  return SSL_TLSEXT_ERR_OK;
}

// Changes the first byte of the next write when told to.
class Corrupting final : public Stream {
 public:
  Corrupting(std::unique_ptr<Stream> below, bool& armed)
      : Stream(below.get()), below_(std::move(below)), armed_(armed) {}
  void finish_writing() override { below_->finish_writing(); }

 protected:
  Io do_read(MutableBytes into) override { return below_->try_read(into); }
  Io do_write(Bytes bytes) override {
    std::string copy(as_text(bytes));
    if (std::exchange(armed_, false)) copy[0] = static_cast<char>(copy[0] ^ 0x55);
    return below_->try_write(as_bytes(copy));
  }

 private:
  std::unique_ptr<Stream> below_;
  bool& armed_;
};

// The key in PEM, or that of a new one.
std::string key_pem(EVP_PKEY* key) {
  EVP_PKEY* made = key == nullptr ? EVP_EC_gen("P-256") : nullptr;
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(memory, key == nullptr ? made : key, nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory, &text);
  std::string pem(text, static_cast<std::size_t>(size));
  BIO_free(memory);
  EVP_PKEY_free(made);
  return pem;
}

class TlsTest : public testing::Test {
 protected:
  static std::shared_ptr<TlsContext> server_for(const std::vector<std::string>& names) {
    auto made = TlsContext::self_signed_server(names, {"http/1.1"});
    EXPECT_TRUE(made.has_value());
    return *made;
  }
  static std::shared_ptr<TlsContext> client(bool verify, const std::string& ca_file = "") {
    TlsClientOptions options;
    options.verify = verify;
    options.ca_file = ca_file;
    options.alpn = {"http/1.1"};
    auto made = TlsContext::client(options);
    EXPECT_TRUE(made.has_value());
    return *made;
  }
  std::shared_ptr<TlsContext> client_trusting(const TlsContext& server) {
    return client(true, folder_.file("ca.pem", server.certificate_pem()));
  }

  task<std::pair<StreamResult, StreamResult>> shake_hands(Connected raw, std::shared_ptr<TlsContext> ours,
                                                          std::shared_ptr<TlsContext> theirs, std::string name) {
    auto accepting = tls_accept(*runtime_, std::move(raw.server), theirs, kPlenty, nullptr);
    StreamResult near = co_await tls_connect(*runtime_, std::move(raw.client), ours, name, kPlenty, nullptr);
    if (!near) {
      accepting = {};
      co_return std::pair<StreamResult, StreamResult>{std::move(near), fail(Errc::kCancelled, "")};
    }
    StreamResult far = co_await accepting;
    co_return std::pair<StreamResult, StreamResult>{std::move(near), std::move(far)};
  }
  // The outcome of a client's handshake.
  Error refused(const std::shared_ptr<TlsContext>& ours, const std::shared_ptr<TlsContext>& theirs,
                const std::string& name) {
    auto outcome = runtime_->run(shake_hands(runtime_->run(connect_loopback(*runtime_)), ours, theirs, name));
    return outcome.first ? Error{Errc::kOk, ""} : outcome.first.error();
  }
  // Two ends that trust each other.
  Connected secured(const std::shared_ptr<TlsContext>& theirs = server_for({"here.test"})) {
    auto ours = client_trusting(*theirs);
    auto both = runtime_->run(shake_hands(runtime_->run(connect_loopback(*runtime_)), ours, theirs, "here.test"));
    EXPECT_TRUE(both.first && both.second);
    return {std::move(*both.first), std::move(*both.second)};
  }
  Received received(Stream& stream, std::size_t most, std::size_t piece = 16 * 1024) {
    return runtime_->run(receive(stream, most, piece));
  }
  void sent(Stream& stream, const std::string& bytes) { EXPECT_EQ(runtime_->run(send_all(stream, bytes)), Errc::kOk); }

  std::unique_ptr<EpollRuntime> runtime_ = test_runtime();
  TemporaryFolder folder_;
};

TEST_F(TlsTest, bytes_go_both_ways) {
  const Connected ends = secured();
  sent(*ends.client, "question");
  EXPECT_EQ(received(*ends.server, 8).bytes, "question");
  sent(*ends.server, "answer");
  EXPECT_EQ(received(*ends.client, 6).bytes, "answer");
}

TEST_F(TlsTest, version_1_2_works_too) {
  auto theirs = server_for({"here.test"});
  SSL_CTX_set_max_proto_version(theirs->native(), TLS1_2_VERSION);
  const Connected ends = secured(theirs);
  sent(*ends.client, "question");
  EXPECT_EQ(received(*ends.server, 8).bytes, "question");
}

TEST_F(TlsTest, versions_before_1_2_are_refused) {
  auto theirs = server_for({"here.test"});
  SSL_CTX_set_security_level(theirs->native(), 0);
  SSL_CTX_set_min_proto_version(theirs->native(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(theirs->native(), TLS1_1_VERSION);
  EXPECT_EQ(refused(client(false), theirs, "here.test").code, Errc::kTls);
}

TEST_F(TlsTest, a_certificate_of_an_unknown_issuer_is_refused_in_words) {
  const Error error = refused(client(true), server_for({"here.test"}), "here.test");
  EXPECT_EQ(error.code, Errc::kTls);
  EXPECT_THAT(error.message, HasSubstr("the certificate of here.test cannot be trusted: self-signed certificate"));
  EXPECT_THAT(error.message, HasSubstr("(CN=here.test)"));
  EXPECT_THAT(error.message, HasSubstr("name its CA certificate"));
}

TEST_F(TlsTest, a_certificate_for_another_name_is_refused_in_words) {
  auto theirs = server_for({"there.test"});
  const Error error = refused(client_trusting(*theirs), theirs, "here.test");
  EXPECT_EQ(error.code, Errc::kTls);
  EXPECT_THAT(error.message, HasSubstr("hostname mismatch"));
}

TEST_F(TlsTest, an_expired_certificate_is_refused_in_words) {
  auto theirs = server_for({"here.test"});
  X509* expired = X509_dup(SSL_CTX_get0_certificate(theirs->native()));
  X509_gmtime_adj(X509_getm_notAfter(expired), -60);
  X509_sign(expired, SSL_CTX_get0_privatekey(theirs->native()), EVP_sha256());
  ASSERT_EQ(SSL_CTX_use_certificate(theirs->native(), expired), 1);
  X509_free(expired);
  const Error error = refused(client_trusting(*theirs), theirs, "here.test");
  EXPECT_EQ(error.code, Errc::kTls);
  EXPECT_THAT(error.message, HasSubstr("certificate has expired"));
}

TEST_F(TlsTest, an_address_must_be_in_the_certificate) {
  auto with = server_for({"here.test", "127.0.0.1"});
  EXPECT_EQ(refused(client_trusting(*with), with, "127.0.0.1").code, Errc::kOk);
  auto without = server_for({"here.test"});
  const Error error = refused(client_trusting(*without), without, "127.0.0.1");
  EXPECT_EQ(error.code, Errc::kTls);
  EXPECT_THAT(error.message, HasSubstr("IP address mismatch"));
}

TEST_F(TlsTest, nothing_is_checked_when_verification_is_off) {
  EXPECT_EQ(refused(client(false), server_for({"there.test"}), "here.test").code, Errc::kOk);
}

TEST_F(TlsTest, an_empty_name_is_refused_for_it_would_match_every_certificate) {
  auto theirs = server_for({"here.test"});
  EXPECT_EQ(refused(client_trusting(*theirs), theirs, "").code, Errc::kTls);
}

TEST_F(TlsTest, the_name_of_a_certificate_cannot_drive_the_terminal) {
  const Error error = refused(client(true), server_for({"a\x1b[2Jb"}), "here.test");
  EXPECT_THAT(error.message, HasSubstr("(CN=a?[2Jb)"));
}

TEST_F(TlsTest, the_server_is_told_the_name_that_is_meant_unless_it_is_an_address) {
  auto theirs = server_for({"here.test"});
  SSL_CTX_set_tlsext_servername_callback(theirs->native(), &note_name);
  EXPECT_EQ(refused(client(false), theirs, "here.test").code, Errc::kOk);
  EXPECT_EQ(asked_for, "here.test");
  EXPECT_EQ(refused(client(false), theirs, "127.0.0.1").code, Errc::kOk);
  EXPECT_EQ(asked_for, "");
}

task<void> answer_in_plain_text(Stream& stream) {
  const Received hello = co_await receive(stream, 5);
  check(hello.bytes.size() == 5);
  co_await send_all(stream, "HTTP/1.1 400 Bad Request\r\n\r\n");
}

TEST_F(TlsTest, a_server_that_speaks_no_tls_is_told_apart) {
  Connected raw = runtime_->run(connect_loopback(*runtime_));
  auto answering = answer_in_plain_text(*raw.server);
  const auto outcome =
      runtime_->run(tls_connect(*runtime_, std::move(raw.client), client(false), "here.test", kPlenty, nullptr));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::kTls);
  EXPECT_THAT(outcome.error().message, HasSubstr("does it speak TLS on this port?"));
}

TEST_F(TlsTest, sides_without_a_common_version_say_so) {
  const auto theirs = server_for({"here.test"});
  const auto old = TlsContext::client({.verify = false, .max_version = TlsVersion::k12}).value();
  SSL_CTX_set_min_proto_version(theirs->native(), TLS1_3_VERSION);
  EXPECT_THAT(refused(old, theirs, "here.test").message, HasSubstr("the two sides permit no common version of TLS"));
  const auto fresh = TlsContext::client({.verify = false, .min_version = TlsVersion::k13}).value();
  SSL_CTX_set_min_proto_version(theirs->native(), TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(theirs->native(), TLS1_2_VERSION);
  EXPECT_THAT(refused(fresh, theirs, "here.test").message, HasSubstr("the two sides permit no common version of TLS"));
}

TEST_F(TlsTest, a_server_that_closes_during_the_handshake_is_a_reset) {
  Connected raw = runtime_->run(connect_loopback(*runtime_));
  raw.server.reset();
  const auto outcome =
      runtime_->run(tls_connect(*runtime_, std::move(raw.client), client(false), "here.test", kPlenty, nullptr));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::kReset);
  EXPECT_THAT(outcome.error().message, HasSubstr("here.test closed the connection"));
}

TEST_F(TlsTest, a_silent_server_is_a_timeout) {
  Connected raw = runtime_->run(connect_loopback(*runtime_));
  const auto outcome = runtime_->run(
      tls_connect(*runtime_, std::move(raw.client), client(false), "here.test", Duration::millis(5), nullptr));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::kTimeout);
}

TEST_F(TlsTest, a_handshake_can_be_cancelled) {
  Connected raw = runtime_->run(connect_loopback(*runtime_));
  Cancellation cancel;
  auto shaking = tls_connect(*runtime_, std::move(raw.client), client(false), "here.test", kPlenty, &cancel);
  EXPECT_FALSE(shaking.done());
  cancel.cancel();
  const auto outcome = runtime_->run(std::move(shaking));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::kCancelled);
}

TEST_F(TlsTest, an_orderly_end_is_told_from_a_cut) {
  Connected orderly = secured();
  sent(*orderly.server, "last words");
  orderly.server->finish_writing();
  const Received whole = received(*orderly.client, kMegabyte);
  EXPECT_EQ(whole.bytes, "last words");
  EXPECT_TRUE(whole.end);

  Connected cut = secured();
  sent(*cut.server, "last words");
  cut.server.reset();
  const Received part = received(*cut.client, kMegabyte);
  EXPECT_EQ(part.bytes, "last words");
  EXPECT_FALSE(part.end);
  EXPECT_EQ(part.error, Errc::kReset);
}

TEST_F(TlsTest, one_direction_can_end_before_the_other) {
  const Connected ends = secured();
  ends.client->finish_writing();
  EXPECT_TRUE(received(*ends.server, 1).end);
  sent(*ends.server, "still here");
  EXPECT_EQ(received(*ends.client, 10).bytes, "still here");
}

TEST_F(TlsTest, a_failure_is_told_again_when_asked_again) {
  Connected ends = secured();
  ends.server.reset();
  EXPECT_EQ(received(*ends.client, 1).error, Errc::kReset);
  EXPECT_EQ(received(*ends.client, 1).error, Errc::kReset);
}

TEST_F(TlsTest, large_transfers_both_ways_at_once_lose_nothing) {
  for (const std::size_t piece : {std::size_t{1009}, std::size_t{16384}, std::size_t{100'000}}) {
    const Connected ends = secured();
    const std::string up = pattern(2 * kMegabyte, 1);
    const std::string down = pattern(2 * kMegabyte, 2);
    auto sending_up = send_all(*ends.client, up);
    auto sending_down = send_all(*ends.server, down);
    auto above = receive(*ends.server, up.size(), piece);
    EXPECT_TRUE(received(*ends.client, down.size(), piece).bytes == down) << piece;
    EXPECT_TRUE(runtime_->run(std::move(above)).bytes == up) << piece;
    EXPECT_EQ(runtime_->run(std::move(sending_up)), Errc::kOk);
    EXPECT_EQ(runtime_->run(std::move(sending_down)), Errc::kOk);
  }
}

TEST_F(TlsTest, many_records_that_came_together_are_all_given_out) {
  Connected ends = secured();
  std::string all;
  for (int i = 0; i < 200; ++i) {
    sent(*ends.server, std::to_string(i) + ";");
    all += std::to_string(i) + ";";
  }
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}}) {
    const Received first = received(*ends.client, 100, piece);
    EXPECT_EQ(first.bytes, all.substr(0, 100));
    all.erase(0, 100);
  }
  ends.server->finish_writing();
  const Received rest = received(*ends.client, kMegabyte);
  EXPECT_EQ(rest.bytes, all);
  EXPECT_TRUE(rest.end);
}

task<int> until_announced(Runtime& runtime, Stream& stream) {
  while (!stream.maybe_readable()) co_await runtime.sleep(Duration::micros(100));
  co_return 0;
}

TEST_F(TlsTest, tickets_of_the_server_leave_a_connection_idle_and_data_does_not) {
  auto theirs = server_for({"here.test"});
  SSL_CTX_set_num_tickets(theirs->native(), 2);
  const Connected ends = secured(theirs);
  runtime_->run(until_announced(*runtime_, *ends.client));
  EXPECT_TRUE(ends.client->idle_and_open());
  sent(*ends.client, "x");
  EXPECT_EQ(received(*ends.server, 1).bytes, "x");
  sent(*ends.server, "data");
  runtime_->run(until_announced(*runtime_, *ends.client));
  EXPECT_FALSE(ends.client->idle_and_open());
  EXPECT_EQ(received(*ends.client, 4).bytes, "data");
}

task<Errc> until_hangup(Stream& stream) {
  while (stream.idle_and_open()) {
    const Errc why = co_await stream.readable();
    if (why != Errc::kOk) co_return why;
  }
  co_return Errc::kOk;
}

TEST_F(TlsTest, a_connection_that_the_server_finished_is_not_idle) {
  Connected ends = secured();
  EXPECT_TRUE(ends.client->idle_and_open());
  ends.server->finish_writing();
  EXPECT_EQ(runtime_->run(until_hangup(*ends.client)), Errc::kOk);
  EXPECT_FALSE(ends.client->idle_and_open());
}

TEST_F(TlsTest, a_damaged_record_ends_the_connection) {
  Connected raw = runtime_->run(connect_loopback(*runtime_));
  bool armed = false;
  raw.server = std::make_unique<Corrupting>(std::move(raw.server), armed);
  auto both = runtime_->run(shake_hands(std::move(raw), client(false), server_for({"here.test"}), "here.test"));
  ASSERT_TRUE(both.first && both.second);
  sent(**both.second, "good");
  EXPECT_EQ(received(**both.first, 4).bytes, "good");
  armed = true;
  sent(**both.second, "evil");
  const Received got = received(**both.first, 4);
  EXPECT_EQ(got.bytes, "");
  EXPECT_EQ(got.error, Errc::kTls);
  EXPECT_EQ(received(**both.first, 4).error, Errc::kTls);
  EXPECT_EQ(runtime_->run(send_all(**both.first, "x")), Errc::kTls);
}

TEST_F(TlsTest, alpn_offers_what_nobody_shares_without_failing) {
  auto theirs = TlsContext::self_signed_server({"here.test"}, {"h2"});
  EXPECT_EQ(refused(client(false), *theirs, "here.test").code, Errc::kOk);
  TlsClientOptions options;
  options.alpn = {std::string(256, 'x')};
  EXPECT_EQ(TlsContext::client(options).error().code, Errc::kInvalid);
  options.alpn = {""};
  EXPECT_EQ(TlsContext::client(options).error().code, Errc::kInvalid);
}

TEST_F(TlsTest, a_certificate_and_its_key_are_read_from_files) {
  auto made = server_for({"here.test"});
  const std::string certificate = folder_.file("cert.pem", made->certificate_pem());
  const std::string key = folder_.file("key.pem", key_pem(SSL_CTX_get0_privatekey(made->native())));
  const std::string other_key = folder_.file("other.pem", key_pem(nullptr));
  const auto loaded = TlsContext::server({certificate, key, {}});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(refused(client_trusting(*made), *loaded, "here.test").code, Errc::kOk);

  const auto mismatched = TlsContext::server({certificate, other_key, {}});
  ASSERT_FALSE(mismatched);
  EXPECT_THAT(mismatched.error().message, HasSubstr(other_key));
}

TEST_F(TlsTest, only_versions_that_both_ends_allow_are_spoken) {
  auto theirs = server_for({"here.test"});
  SSL_CTX_set_max_proto_version(theirs->native(), TLS1_2_VERSION);
  const auto with = [](TlsVersion min, TlsVersion max) {
    TlsClientOptions options;
    options.verify = false;
    options.min_version = min;
    options.max_version = max;
    return *TlsContext::client(options);
  };
  EXPECT_EQ(refused(with(TlsVersion::k12, TlsVersion::k12), theirs, "here.test").code, Errc::kOk);
  EXPECT_EQ(refused(with(TlsVersion::k13, TlsVersion::k13), theirs, "here.test").code, Errc::kTls);
  SSL_CTX_set_max_proto_version(theirs->native(), 0);
  SSL_CTX_set_min_proto_version(theirs->native(), TLS1_3_VERSION);
  EXPECT_EQ(refused(with(TlsVersion::k12, TlsVersion::k12), theirs, "here.test").code, Errc::kTls);
  EXPECT_EQ(refused(with(TlsVersion::k12, TlsVersion::k13), theirs, "here.test").code, Errc::kOk);
}

TEST_F(TlsTest, a_key_that_is_not_of_the_certificate_is_named) {
  TlsClientOptions options;
  options.certificate_file = "client.pem";
  options.certificate_pem = server_for({"me"})->certificate_pem();
  options.key_file = "client.key";
  options.key_pem = key_pem(nullptr);
  EXPECT_THAT(TlsContext::client(options).error().message,
              HasSubstr("the key 'client.key' of the certificate 'client.pem' cannot be used: "));
  options.certificate_pem = "-----BEGIN CERTIFICATE-----\n?";
  EXPECT_THAT(TlsContext::client(options).error().message, HasSubstr("the certificate 'client.pem' cannot be read: "));
}

TEST_F(TlsTest, both_ends_learn_their_peers_address) {
  const Connected ends = secured();
  EXPECT_EQ(ends.server->peer().address, IpAddress::loopback());
  EXPECT_NE(ends.client->peer().port, ends.server->peer().port);
}

TEST_F(TlsTest, files_that_cannot_be_read_are_named) {
  const auto no_certificate = TlsContext::server({"/nowhere/cert.pem", "/nowhere/key.pem", {}});
  EXPECT_EQ(no_certificate.error().code, Errc::kTls);
  EXPECT_THAT(no_certificate.error().message, HasSubstr("/nowhere/cert.pem"));
  TlsClientOptions options;
  options.ca_file = "/nowhere/ca.pem";
  EXPECT_THAT(TlsContext::client(options).error().message, HasSubstr("/nowhere/ca.pem"));
  options.ca_file = folder_.file("garbage.pem", "not a certificate");
  EXPECT_EQ(TlsContext::client(options).error().code, Errc::kTls);
}

}  // namespace
}  // namespace bellwether::runtime
