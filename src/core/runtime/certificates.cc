#include "core/runtime/certificates.h"

#include <memory>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "core/base/freed.h"

namespace bellwether::runtime {
namespace {

using X509Ptr = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO_free_all>>;

constexpr long kDay = 86400;

tl::unexpected<Error> failed(const std::string& what) {
  char text[256] = {};
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  return fail(Errc::kIo, "making a certificate: {}: {}", what, text);
}

bool add(X509* to, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(to, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool add_all(X509* to, X509* issuer, const CertificateRequest& request) {
  bool good = add(to, issuer, NID_subject_key_identifier, "hash");
  if (request.authority) {
    good = good && add(to, issuer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add(to, issuer, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature");
  } else {
    good = good && add(to, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
           add(to, issuer, NID_key_usage, "critical,digitalSignature") &&
           add(to, issuer, NID_ext_key_usage, "serverAuth,clientAuth") &&
           add(to, issuer, NID_authority_key_identifier, "keyid");
  }
  return good && (request.alternatives.empty() || add(to, issuer, NID_subject_alt_name, request.alternatives));
}

Memory reading(const std::string& text) { return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

template <class Write>
Result<std::string> as_pem(Write write) {
  const Memory memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || write(memory.get()) != 1) return failed("writing the certificate");
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace

Result<Certified> make_certificate(const CertificateRequest& request, const Certified* issuer) {
  const Key key(EVP_EC_gen("P-256"));
  const X509Ptr made(X509_new());
  uint64_t serial = 0;
  if (key == nullptr || made == nullptr || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) {
    return failed("a key and a serial number");
  }
  X509Ptr signer;
  Key signing;
  if (issuer != nullptr) {
    signer.reset(PEM_read_bio_X509(reading(issuer->certificate).get(), nullptr, nullptr, nullptr));
    signing.reset(PEM_read_bio_PrivateKey(reading(issuer->key).get(), nullptr, nullptr, nullptr));
    if (signer == nullptr || signing == nullptr) return failed("reading the issuer's certificate");
  }
  X509* const by = signer == nullptr ? made.get() : signer.get();
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), request.days * kDay);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(request.name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(by));
  if (!add_all(made.get(), by, request)) return failed(fmt::format("the names of '{}'", request.name));
  if (X509_sign(made.get(), signing == nullptr ? key.get() : signing.get(), EVP_sha256()) == 0) {
    return failed(fmt::format("signing the certificate of '{}'", request.name));
  }
  Certified out;
  BW_TRY(out.certificate, as_pem([&](BIO* to) { return PEM_write_bio_X509(to, made.get()); }));
  BW_TRY(out.key, as_pem([&](BIO* to) {
           return PEM_write_bio_PKCS8PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
         }));
  return out;
}

}  // namespace bellwether::runtime
