#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "runtime/tls.h"
#include "runtime/tls_error.h"

namespace bellwether::runtime {

std::string tls_error_text() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

namespace {

// OpenSSL's idea of a file that is a Stream: never blocks, says when to come back.
int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  auto* below = static_cast<Stream*>(BIO_get_data(bio));
  const Io io = below->try_read({reinterpret_cast<std::byte*>(into), static_cast<std::size_t>(size)});
  if (io.kind == Io::Kind::kDone) return static_cast<int>(io.count);
  if (io.kind == Io::Kind::kWouldBlock) BIO_set_retry_read(bio);
  return io.kind == Io::Kind::kEnd ? 0 : -1;
}

int bio_write(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  auto* below = static_cast<Stream*>(BIO_get_data(bio));
  const Io io = below->try_write({reinterpret_cast<const std::byte*>(from), static_cast<std::size_t>(size)});
  if (io.kind == Io::Kind::kDone) return static_cast<int>(io.count);
  if (io.kind == Io::Kind::kWouldBlock) BIO_set_retry_write(bio);
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
  TlsStream(std::unique_ptr<Stream> below, std::shared_ptr<TlsContext> context)
      : Stream(*below), below_(std::move(below)), context_(std::move(context)), ssl_(SSL_new(context_->native())) {
    BIO* bio = BIO_new(stream_method());
    BIO_set_data(bio, below_.get());
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_, bio, bio);
  }
  ~TlsStream() override { SSL_free(ssl_); }

  SSL* ssl() const { return ssl_; }

  void finish_writing() override {
    ERR_clear_error();
    SSL_shutdown(ssl_);
    below_->finish_writing();
  }

  // One step of the handshake. kDone: finished.
  Io handshake() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    if (result != 1) return outcome(result);
    if (SSL_has_pending(ssl_) != 0) keep_readable();  // the peer's first bytes came with its last message
    return Io::done(0);
  }
  bool wants_write() const { return SSL_want_write(ssl_); }

 protected:
  // A read of the stream below may take more than one record. As long as OpenSSL holds bytes, nobody may be sent to
  // wait for the stream below to become readable: they are given out now, or the stream is kept readable.
  Io do_read(MutableBytes into) override {
    std::size_t have = 0;
    while (have < into.size()) {
      ERR_clear_error();
      std::size_t n = 0;
      const int result = SSL_read_ex(ssl_, into.data() + have, into.size() - have, &n);
      if (result == 1) {
        have += n;
        if (SSL_has_pending(ssl_) == 0) break;
        continue;
      }
      if (have > 0) break;  // what ended the reading is met again by the next call
      return outcome(result);
    }
    if (SSL_has_pending(ssl_) != 0) keep_readable();
    return Io::done(have);
  }

  Io do_write(Bytes bytes) override {
    ERR_clear_error();
    std::size_t n = 0;
    const int result = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &n);
    return result == 1 ? Io::done(n) : outcome(result);
  }

 private:
  Io outcome(int result) {
    switch (SSL_get_error(ssl_, result)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE: return Io::would_block();
      case SSL_ERROR_ZERO_RETURN: return Io::end();
      case SSL_ERROR_SYSCALL: return Io::failed(Errc::kReset);
      default:
        // An end without close_notify: the message above knows by its own framing whether anything is missing.
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return Io::end();
        return Io::failed(Errc::kTls);
    }
  }

  std::unique_ptr<Stream> below_;
  std::shared_ptr<TlsContext> context_;
  SSL* ssl_;
};

std::string handshake_failure(SSL* ssl, const std::string& peer) {
  const long verified = SSL_get_verify_result(ssl);
  if (verified != X509_V_OK) {
    return "the certificate of " + peer + " is not trusted: " + X509_verify_cert_error_string(verified) +
           "; name its CA certificate, or switch verification off";
  }
  return "the TLS handshake with " + peer + " failed: " + tls_error_text();
}

task<Result<std::unique_ptr<Stream>>> shake_hands(Runtime& runtime, std::unique_ptr<TlsStream> stream, std::string peer,
                                                  Duration timeout, Cancellation* cancel) {
  Timer timer([](void* s) { static_cast<Stream*>(s)->interrupt(Errc::kTimeout); }, stream.get());
  runtime.timers().arm(timer, runtime.now() + timeout);
  CancelCallback on_cancel(
      cancel, [](void* s) { static_cast<Stream*>(s)->interrupt(Errc::kCancelled); }, stream.get());
  while (true) {
    const Io io = stream->handshake();
    if (io.kind == Io::Kind::kDone) break;
    if (io.kind == Io::Kind::kEnd) {
      co_return fail(Errc::kTls, peer + " closed the connection in the TLS handshake");
    }
    if (io.kind == Io::Kind::kError) {
      if (io.error == Errc::kReset) co_return fail(Errc::kTls, peer + " reset the connection in the TLS handshake");
      co_return fail(Errc::kTls, handshake_failure(stream->ssl(), peer));
    }
    Errc waited = Errc::kOk;
    if (stream->wants_write()) {
      waited = co_await stream->writable();
    } else {
      waited = co_await stream->readable();
    }
    if (waited == Errc::kTimeout) {
      co_return fail(Errc::kTimeout,
                     "the TLS handshake with " + peer + " took longer than " + std::to_string(timeout.ms()) + " ms");
    }
    if (waited != Errc::kOk) co_return fail(waited, "the TLS handshake with " + peer + " was cancelled");
  }
  co_return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace

task<Result<std::unique_ptr<Stream>>> tls_connect(Runtime& runtime, std::unique_ptr<Stream> below,
                                                  std::shared_ptr<TlsContext> context, std::string server_name,
                                                  Duration timeout, Cancellation* cancel) {
  const bool verify = context->verifies();
  auto stream = std::make_unique<TlsStream>(std::move(below), std::move(context));
  SSL* ssl = stream->ssl();
  if (IpAddress::parse(server_name)) {
    if (verify) X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), server_name.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl, server_name.c_str());
    if (verify) SSL_set1_host(ssl, server_name.c_str());
  }
  SSL_set_connect_state(ssl);
  return shake_hands(runtime, std::move(stream), std::move(server_name), timeout, cancel);
}

task<Result<std::unique_ptr<Stream>>> tls_accept(Runtime& runtime, std::unique_ptr<Stream> below,
                                                 std::shared_ptr<TlsContext> context, Duration timeout,
                                                 Cancellation* cancel) {
  auto stream = std::make_unique<TlsStream>(std::move(below), std::move(context));
  SSL_set_accept_state(stream->ssl());
  return shake_hands(runtime, std::move(stream), "the client", timeout, cancel);
}

}  // namespace bellwether::runtime
