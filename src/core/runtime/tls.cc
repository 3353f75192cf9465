#include "core/runtime/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <utility>

#include "core/base/freed.h"
#include "core/base/units.h"
#include "core/runtime/certificates.h"

namespace bellwether::runtime {
namespace {

// The oldest error of this thread's queue, which is emptied, in one line.
std::string tls_error_text() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

using X509Ptr = std::unique_ptr<X509, Freed<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free>>;

BioPtr reader_of(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int select_alpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size,
                void* context) {
  const auto* ours = static_cast<const std::vector<unsigned char>*>(context);
  unsigned char* chosen = nullptr;
  const int result =
      SSL_select_next_proto(&chosen, out_size, ours->data(), static_cast<unsigned>(ours->size()), in, in_size);
  if (result != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// One read of the stream below takes a whole record and the bytes behind it, instead of one for its header and one for
// the rest. Buffers are kept: releasing them would allocate for each record.
void common_settings(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

// Trusts the certificates of a text.
bool trust_pem(SSL_CTX* context, const std::string& pem) {
  const BioPtr memory = reader_of(pem);
  std::size_t trusted = 0;
  while (const X509Ptr certificate{PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get()) == 1) ++trusted;
  }
  if (trusted > 0) ERR_clear_error();  // the end of the text counts as an error
  return trusted > 0;
}

Status trust(SSL_CTX* context, const TlsClientOptions& options) {
  if (!options.ca_pem.empty()) {
    if (trust_pem(context, options.ca_pem)) return {};
    const std::string which = options.ca_file.empty() ? "that were given" : fmt::format("in '{}'", options.ca_file);
    return fail(Errc::kTls, "the CA certificates {} cannot be read: {}", which, tls_error_text());
  }
  const bool loaded = options.ca_file.empty()
                          ? SSL_CTX_set_default_verify_paths(context) == 1
                          : SSL_CTX_load_verify_locations(context, options.ca_file.c_str(), nullptr) == 1;
  if (loaded) return {};
  return fail(Errc::kTls, "the CA certificates in '{}' cannot be read: {}", options.ca_file, tls_error_text());
}

Status use_certificate(SSL_CTX* context, const std::string& certificate_file, const std::string& key_file) {
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return fail(Errc::kTls, "the certificate '{}' cannot be read: {}", certificate_file, tls_error_text());
  }
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(Errc::kTls, "the key '{}' cannot be used: {}", key_file, tls_error_text());
  }
  return {};
}

std::string name_of(const std::string& file) { return file.empty() ? "" : fmt::format(" '{}'", file); }

// An encrypted key is an error. OpenSSL's own function would ask for the passphrase on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

// The same from text: the certificate, its chain behind it, and its key. The files are for messages.
Status use_certificate_pem(SSL_CTX* context, const std::string& certificates, const std::string& key_text,
                           const std::string& certificate_file, const std::string& key_file) {
  const BioPtr memory = reader_of(certificates);
  const X509Ptr own(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  bool good = own != nullptr && SSL_CTX_use_certificate(context, own.get()) == 1;
  while (good) {
    const X509Ptr next(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    good = SSL_CTX_add1_chain_cert(context, next.get()) == 1;
  }
  if (!good)
    return fail(Errc::kTls, "the certificate{} cannot be read: {}", name_of(certificate_file), tls_error_text());
  ERR_clear_error();  // the end of the text counts as an error
  const KeyPtr key(PEM_read_bio_PrivateKey(reader_of(key_text).get(), nullptr, &no_passphrase, nullptr));
  if (key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1) return {};
  return fail(Errc::kTls, "the key{} of the certificate{} cannot be used: {}", name_of(key_file),
              name_of(certificate_file), tls_error_text());
}

int version_number(TlsVersion version) { return version == TlsVersion::k12 ? TLS1_2_VERSION : TLS1_3_VERSION; }

// Takes a session that the server offers. TLS 1.3 offers them after the handshake.
int take_session(SSL* ssl, SSL_SESSION* offered) {
  auto* const session = static_cast<TlsSession*>(SSL_get_app_data(ssl));
  if (session == nullptr) return 0;
  SSL_SESSION_free(std::exchange(session->latest, offered));
  return 1;
}

}  // namespace

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

TlsSession::~TlsSession() { SSL_SESSION_free(latest); }

Status TlsContext::set_alpn(const std::vector<std::string>& names, bool server) {
  for (const std::string& name : names) {
    if (name.empty() || name.size() > 255) return fail(Errc::kInvalid, "an ALPN name has 1 to 255 bytes");
    alpn_.push_back(static_cast<unsigned char>(name.size()));
    alpn_.insert(alpn_.end(), name.begin(), name.end());
  }
  if (alpn_.empty()) return {};
  if (server) {
    SSL_CTX_set_alpn_select_cb(context_, &select_alpn, &alpn_);
  } else {
    SSL_CTX_set_alpn_protos(context_, alpn_.data(), static_cast<unsigned>(alpn_.size()));
  }
  return {};
}

Result<std::shared_ptr<TlsContext>> TlsContext::client(const TlsClientOptions& options) {
  std::shared_ptr<TlsContext> made(new TlsContext);
  made->context_ = SSL_CTX_new(TLS_client_method());
  if (made->context_ == nullptr) return fail(Errc::kTls, "TLS cannot start: " + tls_error_text());
  common_settings(made->context_);
  made->verify_ = options.verify;
  made->check_name_ = options.check_name;
  if (options.verify) {
    SSL_CTX_set_verify(made->context_, SSL_VERIFY_PEER, nullptr);
    BW_RETURN_IF_ERROR(trust(made->context_, options));
  }
  if (!options.certificate_pem.empty()) {
    BW_RETURN_IF_ERROR(use_certificate_pem(made->context_, options.certificate_pem, options.key_pem,
                                           options.certificate_file, options.key_file));
  } else if (!options.certificate_file.empty()) {
    BW_RETURN_IF_ERROR(use_certificate(made->context_, options.certificate_file, options.key_file));
  }
  SSL_CTX_set_min_proto_version(made->context_, version_number(options.min_version));
  SSL_CTX_set_max_proto_version(made->context_, version_number(options.max_version));
  if (options.resume) {
    SSL_CTX_set_session_cache_mode(made->context_, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(made->context_, &take_session);
  }
  BW_RETURN_IF_ERROR(made->set_alpn(options.alpn, false));
  return made;
}

Result<std::shared_ptr<TlsContext>> TlsContext::server(const TlsServerOptions& options) {
  std::shared_ptr<TlsContext> made(new TlsContext);
  made->context_ = SSL_CTX_new(TLS_server_method());
  if (made->context_ == nullptr) return fail(Errc::kTls, "TLS cannot start: " + tls_error_text());
  common_settings(made->context_);
  SSL_CTX_set_num_tickets(made->context_, 0);
  BW_RETURN_IF_ERROR(use_certificate(made->context_, options.certificate_file, options.key_file));
  if (!options.client_ca_file.empty()) {
    if (SSL_CTX_load_verify_locations(made->context_, options.client_ca_file.c_str(), nullptr) != 1) {
      return fail(Errc::kTls, fmt::format("the CA certificates in '{}' cannot be read: {}", options.client_ca_file,
                                          tls_error_text()));
    }
    SSL_CTX_set_verify(made->context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    made->verify_ = true;
  }
  BW_RETURN_IF_ERROR(made->set_alpn(options.alpn, true));
  return made;
}

Result<std::shared_ptr<TlsContext>> TlsContext::self_signed_server(const std::vector<std::string>& names,
                                                                   const std::vector<std::string>& alpn) {
  if (names.empty()) return fail(Errc::kInvalid, "a certificate needs a name");
  std::string alternatives;
  for (const std::string& name : names) {
    if (!alternatives.empty()) alternatives += ",";
    alternatives += (IpAddress::parse(name) ? "IP:" : "DNS:") + name;
  }
  BW_TRY(const auto own, make_certificate({.name = names.front(), .alternatives = alternatives, .authority = true}));
  std::shared_ptr<TlsContext> made(new TlsContext);
  made->context_ = SSL_CTX_new(TLS_server_method());
  if (made->context_ == nullptr) return fail(Errc::kTls, "TLS cannot start: " + tls_error_text());
  common_settings(made->context_);
  SSL_CTX_set_num_tickets(made->context_, 0);
  BW_RETURN_IF_ERROR(use_certificate_pem(made->context_, own.certificate, own.key, {}, {}));
  BW_RETURN_IF_ERROR(made->set_alpn(alpn, true));
  return made;
}

std::string TlsContext::certificate_pem() const {
  X509* certificate = SSL_CTX_get0_certificate(context_);
  if (certificate == nullptr) return {};
  const BioPtr memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), certificate);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

namespace {

// The view of a connection for OpenSSL's callbacks.
struct Transport {
  Stream& below;
  Io last;                // how the last call of the stream below ended
  std::string untrusted;  // why the peer's certificate was refused
};

Transport& transport_of(BIO* bio) { return *static_cast<Transport*>(BIO_get_data(bio)); }

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  Transport& transport = transport_of(bio);
  // Without an announcement since the last short read no data is ready: a system call saved for each response.
  transport.last = transport.below.maybe_readable()
                       ? transport.below.try_read({reinterpret_cast<std::byte*>(into), static_cast<std::size_t>(size)})
                       : Io::would_block();
  if (transport.last.kind == Io::Kind::kDone) return static_cast<int>(transport.last.count);
  if (transport.last.kind == Io::Kind::kWouldBlock) BIO_set_retry_read(bio);
  return transport.last.kind == Io::Kind::kEnd ? 0 : -1;
}

int bio_write(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  Transport& transport = transport_of(bio);
  transport.last =
      transport.below.try_write({reinterpret_cast<const std::byte*>(from), static_cast<std::size_t>(size)});
  if (transport.last.kind == Io::Kind::kDone) return static_cast<int>(transport.last.count);
  if (transport.last.kind == Io::Kind::kWouldBlock) BIO_set_retry_write(bio);
  return -1;
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* stream_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
    BIO_meth_set_read(made, &bio_read);
    BIO_meth_set_write(made, &bio_write);
    BIO_meth_set_ctrl(made, &bio_control);
    return made;
  }();
  return method;
}

class TlsStream final : public Stream {
 public:
  TlsStream(std::unique_ptr<Stream> below, std::shared_ptr<TlsContext> context,
            std::shared_ptr<TlsSession> session = nullptr)
      : Stream(below.get()),
        below_(std::move(below)),
        transport_{*below_, Io::would_block(), {}},
        context_(std::move(context)),
        session_(std::move(session)),
        ssl_(SSL_new(context_->native())) {
    BIO* bio = BIO_new(stream_method());
    check(ssl_ != nullptr && bio != nullptr, "memory for a TLS connection");
    BIO_set_data(bio, &transport_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_, bio, bio);
    if (session_ == nullptr) return;
    SSL_set_app_data(ssl_, session_.get());
    if (session_->latest != nullptr) SSL_set_session(ssl_, session_->latest);
  }
  ~TlsStream() override {
    // OpenSSL gives up the session of a connection that was not shut down.
    if (session_ != nullptr) SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl_);
  }

  SSL* ssl() const { return ssl_; }

  void finish_writing() override {
    if (failure_.kind != Io::Kind::kError) SSL_shutdown(ssl_);
    below_->finish_writing();
  }

  // One step of the handshake. kDone: finished. After kError, OpenSSL's queue of errors has more.
  Io handshake() {
    forget_errors();
    if (SSL_do_handshake(ssl_) != 1) return refusal();
    if (SSL_has_pending(ssl_) != 0) keep_readable();  // the peer's first bytes came with its last message
    return Io::done(0);
  }
  bool wants_write() const { return SSL_want_write(ssl_); }
  const std::string& untrusted() const { return transport_.untrusted; }
  const std::string& failure() const { return words_; }
  Endpoint peer() const override { return below_->peer(); }

 protected:
  // A read of the stream below may take more than one record. While OpenSSL holds bytes, or the end, no reader may wait
  // for the stream below to become readable: they are given out now, or the stream is kept readable.
  Io do_read(MutableBytes into) override {
    forget_errors();
    std::size_t have = 0;
    while (have < into.size()) {
      std::size_t n = 0;
      if (SSL_read_ex(ssl_, into.data() + have, into.size() - have, &n) != 1) {
        const Io why = refusal();
        if (why.kind != Io::Kind::kWouldBlock) keep_readable();  // for the next call, which reports it too
        return have == 0 ? why : Io::done(have);
      }
      have += n;
      if (have < into.size() && SSL_has_pending(ssl_) == 0 && !below_->maybe_readable()) return Io::done(have);
    }
    if (have > 0) keep_readable();
    return Io::done(have);
  }

  Io do_write(Bytes bytes) override {
    if (bytes.empty()) return Io::done(0);
    forget_errors();
    std::size_t n = 0;
    return SSL_write_ex(ssl_, bytes.data(), bytes.size(), &n) == 1 ? Io::done(n) : refusal();
  }

  // The stream below may be readable with a session ticket or a change of keys, and no data.
  bool nothing_to_read() override {
    forget_errors();
    std::byte next;
    std::size_t n = 0;
    if (SSL_peek_ex(ssl_, &next, 1, &n) != 1 && refusal().kind == Io::Kind::kWouldBlock) return true;
    keep_readable();
    return false;
  }

 private:
  // Why the last call of OpenSSL did nothing. A failure stays, because OpenSSL gives no sensible second answer.
  Io refusal() {
    if (failure_.kind == Io::Kind::kError) return failure_;
    if (const unsigned long code = ERR_peek_error(); code != 0) {
      const char* words = ERR_reason_error_string(code);
      words_ = words == nullptr ? "no reason given" : words;
      return failure_ = Io::failed(Errc::kTls);
    }
    if (SSL_want_nothing(ssl_)) {
      const bool closed = (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
      return closed ? Io::end() : failure_ = Io::failed(Errc::kTls);
    }
    if (transport_.last.kind == Io::Kind::kWouldBlock) return Io::would_block();
    return failure_ = transport_.last.kind == Io::Kind::kError ? transport_.last : Io::failed(Errc::kReset);
  }

  static void forget_errors() {
    if (ERR_peek_error() != 0) ERR_clear_error();
  }

  std::unique_ptr<Stream> below_;
  Transport transport_;
  std::shared_ptr<TlsContext> context_;
  std::shared_ptr<TlsSession> session_;  // null: none is resumed
  SSL* ssl_;
  Io failure_;         // kError: the cause of the end
  std::string words_;  // and its text from OpenSSL
};

// Records the first fault of the peer's certificate chain, and its certificate.
int note_verification(int good, X509_STORE_CTX* store) {
  if (good == 1) return 1;
  const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  std::string& untrusted = transport_of(SSL_get_rbio(ssl)).untrusted;
  if (!untrusted.empty()) return 0;
  untrusted = X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
  const X509* certificate = X509_STORE_CTX_get_current_cert(store);
  char name[128];
  if (certificate != nullptr &&
      X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name) > 0) {
    for (char* c = name; *c != '\0'; ++c) {
      if (*c < ' ' || *c > '~') *c = '?';  // the message may be shown on a terminal
    }
    untrusted += fmt::format(" (CN={})", name);
  }
  return 0;
}

std::string handshake_failure(const TlsStream& stream, const std::string& peer, Errc code) {
  if (!stream.untrusted().empty()) {
    return fmt::format(
        "the certificate of {} cannot be trusted: {}; name its CA certificate, or switch verification off", peer,
        stream.untrusted());
  }
  if (code == Errc::kReset) return peer + " closed the connection during the TLS handshake";
  if (code != Errc::kTls) return fmt::format("the connection to {} failed during the TLS handshake", peer);
  std::string_view hint;
  switch (ERR_GET_REASON(ERR_peek_error())) {
    case SSL_R_WRONG_VERSION_NUMBER: hint = "; does it speak TLS on this port?"; break;
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION: hint = "; the two sides permit no common version of TLS"; break;
    default: break;
  }
  return fmt::format("the TLS handshake with {} failed: {}{}", peer, tls_error_text(), hint);
}

task<Result<std::unique_ptr<Stream>>> shake_hands(Runtime& runtime, std::unique_ptr<TlsStream> stream, std::string peer,
                                                  Duration timeout, Cancellation* cancel) {
  const Within within(runtime, *stream, runtime.now() + timeout, cancel);
  while (true) {
    const Io io = stream->handshake();
    if (io.kind == Io::Kind::kDone) break;
    if (io.kind != Io::Kind::kWouldBlock) {
      const Errc code = io.kind == Io::Kind::kError ? io.error : Errc::kReset;
      co_return fail(code, handshake_failure(*stream, peer, code));
    }
    Errc waited = Errc::kOk;
    if (stream->wants_write()) {
      waited = co_await stream->writable();
    } else {
      waited = co_await stream->readable();
    }
    if (waited == Errc::kTimeout) {
      co_return fail(Errc::kTimeout,
                     fmt::format("the TLS handshake with {} took longer than {}", peer, format_duration(timeout)));
    }
    if (waited != Errc::kOk) co_return fail(waited, "the TLS handshake with {} was cancelled", peer);
  }
  co_return std::unique_ptr<Stream>(std::move(stream));
}

task<Result<std::unique_ptr<Stream>>> refuse(std::string why) { co_return fail(Errc::kTls, std::move(why)); }

}  // namespace

task<Result<std::unique_ptr<Stream>>> tls_connect(Runtime& runtime, std::unique_ptr<Stream> below,
                                                  std::shared_ptr<TlsContext> context, std::string server_name,
                                                  Duration timeout, Cancellation* cancel,
                                                  std::shared_ptr<TlsSession> session) {
  const bool verify = context->verifies();
  const bool check_name = context->checks_name();
  auto stream = std::make_unique<TlsStream>(std::move(below), std::move(context), std::move(session));
  SSL* ssl = stream->ssl();
  const bool is_address = IpAddress::parse(server_name).has_value();
  // An empty name would switch the check of the name off.
  bool named = !server_name.empty() && (is_address || SSL_set_tlsext_host_name(ssl, server_name.c_str()) == 1);
  if (verify) SSL_set_verify(ssl, SSL_VERIFY_PEER, &note_verification);
  if (verify && named && check_name) {
    named = is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), server_name.c_str()) == 1
                       : SSL_set1_host(ssl, server_name.c_str()) == 1;
  }
  if (!named) return refuse(fmt::format("'{}' cannot be the name of a TLS server", server_name));
  SSL_set_connect_state(ssl);
  return shake_hands(runtime, std::move(stream), std::move(server_name), timeout, cancel);
}

task<Result<std::unique_ptr<Stream>>> tls_accept(Runtime& runtime, std::unique_ptr<Stream> below,
                                                 std::shared_ptr<TlsContext> context, Duration timeout,
                                                 Cancellation* cancel) {
  const bool verify = context->verifies();
  auto stream = std::make_unique<TlsStream>(std::move(below), std::move(context));
  if (verify) SSL_set_verify(stream->ssl(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &note_verification);
  SSL_set_accept_state(stream->ssl());
  return shake_hands(runtime, std::move(stream), "the client", timeout, cancel);
}

std::string tls_failure(const Stream& secured) {
  const auto* stream = dynamic_cast<const TlsStream*>(&secured);
  check(stream != nullptr, "only a secured stream fails as one");
  return stream->failure();
}

std::vector<std::string> tls_peer_uris(const Stream& secured) {
  const auto* stream = dynamic_cast<const TlsStream*>(&secured);
  check(stream != nullptr, "only a secured stream has a certificate");
  std::vector<std::string> uris;
  X509* certificate = SSL_get0_peer_certificate(stream->ssl());
  const bool verified =
      (SSL_get_verify_mode(stream->ssl()) & SSL_VERIFY_PEER) != 0 && SSL_get_verify_result(stream->ssl()) == X509_V_OK;
  if (certificate == nullptr || !verified) return uris;
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* text = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                      static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  GENERAL_NAMES_free(names);
  return uris;
}

}  // namespace bellwether::runtime
