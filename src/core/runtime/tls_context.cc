#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "core/base/freed.h"
#include "core/runtime/tls.h"
#include "core/runtime/tls_error.h"

namespace bellwether::runtime {
namespace {

using X509Ptr = std::unique_ptr<X509, Freed<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

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

// One read of the stream below takes a whole record and what is behind it, instead of one for its header and one for
// the rest. Buffers are kept: releasing them would allocate for each record.
void common_settings(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

X509Ptr make_certificate(EVP_PKEY* key, const std::vector<std::string>& names) {
  X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  const std::string& common = names.front();
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(common.c_str()), -1,
                             -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  std::string alternatives;
  for (const std::string& name : names) {
    if (!alternatives.empty()) alternatives += ",";
    alternatives += (IpAddress::parse(name) ? "IP:" : "DNS:") + name;
  }
  for (const auto& [nid, value] : {std::pair<int, std::string>{NID_subject_alt_name, alternatives},
                                   std::pair<int, std::string>{NID_basic_constraints, "critical,CA:TRUE"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    if (extension == nullptr) return nullptr;
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  if (X509_sign(certificate.get(), key, EVP_sha256()) == 0) return nullptr;
  return certificate;
}

// The certificates of a text, as those to trust.
bool trust_pem(SSL_CTX* context, const std::string& pem) {
  BIO* memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  std::size_t trusted = 0;
  while (const X509Ptr certificate{PEM_read_bio_X509(memory, nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get()) == 1) ++trusted;
  }
  BIO_free(memory);
  if (trusted > 0) ERR_clear_error();  // the end of the text counts as an error
  return trusted > 0;
}

Status trust(SSL_CTX* context, const TlsClientOptions& options) {
  if (!options.ca_pem.empty()) {
    if (trust_pem(context, options.ca_pem)) return {};
    const std::string which = options.ca_file.empty() ? "that were given" : "in '" + options.ca_file + "'";
    return fail(Errc::kTls, "the CA certificates " + which + " cannot be read: " + tls_error_text());
  }
  const bool loaded = options.ca_file.empty()
                          ? SSL_CTX_set_default_verify_paths(context) == 1
                          : SSL_CTX_load_verify_locations(context, options.ca_file.c_str(), nullptr) == 1;
  if (loaded) return {};
  return fail(Errc::kTls, "the CA certificates in '" + options.ca_file + "' cannot be read: " + tls_error_text());
}

Status use_certificate(SSL_CTX* context, const std::string& certificate_file, const std::string& key_file) {
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return fail(Errc::kTls, "the certificate '" + certificate_file + "' cannot be read: " + tls_error_text());
  }
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(Errc::kTls, "the key '" + key_file + "' cannot be used: " + tls_error_text());
  }
  return {};
}

// The same from text: the certificate, its chain behind it, and its key.
Status use_certificate_pem(SSL_CTX* context, const std::string& certificates, const std::string& key_text) {
  BIO* memory = BIO_new_mem_buf(certificates.data(), static_cast<int>(certificates.size()));
  const X509Ptr own(PEM_read_bio_X509(memory, nullptr, nullptr, nullptr));
  bool good = own != nullptr && SSL_CTX_use_certificate(context, own.get()) == 1;
  while (good) {
    const X509Ptr next(PEM_read_bio_X509(memory, nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    good = SSL_CTX_add1_chain_cert(context, next.get()) == 1;
  }
  BIO_free(memory);
  if (!good) return fail(Errc::kTls, "the client certificate that was given cannot be read: " + tls_error_text());
  ERR_clear_error();  // the end of the text counts as an error
  memory = BIO_new_mem_buf(key_text.data(), static_cast<int>(key_text.size()));
  const KeyPtr key(PEM_read_bio_PrivateKey(memory, nullptr, nullptr, nullptr));
  BIO_free(memory);
  if (key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1) return {};
  return fail(Errc::kTls, "the key of the client certificate that was given cannot be used: " + tls_error_text());
}

}  // namespace

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

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
  if (!options.certificate_file.empty()) {
    BW_RETURN_IF_ERROR(use_certificate(made->context_, options.certificate_file, options.key_file));
  } else if (!options.certificate_pem.empty()) {
    BW_RETURN_IF_ERROR(use_certificate_pem(made->context_, options.certificate_pem, options.key_pem));
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
      return fail(Errc::kTls,
                  "the CA certificates in '" + options.client_ca_file + "' cannot be read: " + tls_error_text());
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
  std::shared_ptr<TlsContext> made(new TlsContext);
  made->context_ = SSL_CTX_new(TLS_server_method());
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (made->context_ == nullptr || key == nullptr) return fail(Errc::kTls, "TLS cannot start: " + tls_error_text());
  common_settings(made->context_);
  SSL_CTX_set_num_tickets(made->context_, 0);
  const X509Ptr certificate = make_certificate(key.get(), names);
  if (certificate == nullptr || SSL_CTX_use_certificate(made->context_, certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(made->context_, key.get()) != 1) {
    return fail(Errc::kTls, "a certificate for '" + names.front() + "' cannot be made: " + tls_error_text());
  }
  BW_RETURN_IF_ERROR(made->set_alpn(alpn, true));
  return made;
}

std::string TlsContext::certificate_pem() const {
  X509* certificate = SSL_CTX_get0_certificate(context_);
  if (certificate == nullptr) return {};
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(memory, certificate);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory, &text);
  std::string pem(text, static_cast<std::size_t>(size));
  BIO_free(memory);
  return pem;
}

}  // namespace bellwether::runtime
