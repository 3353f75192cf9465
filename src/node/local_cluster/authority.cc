#include "node/local_cluster/authority.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <utility>

namespace bellwether::local_cluster {
namespace {

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO_free_all>>;

constexpr long kTenYears = 10L * 365 * 86400;
constexpr long kDay = 86400;  // clocks differ

tl::unexpected<Error> failed(const std::string& what) {
  char text[256] = {};
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  return fail(Errc::kIo, "making a certificate: " + what + ": " + text);
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

// Signed by `issuer` with its key; by itself when that is nullptr.
Result<Certificate> make_certificate(const std::string& name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
                                     const std::string& alternatives) {
  Certificate made(X509_new());
  uint64_t serial = 0;
  if (made == nullptr || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) {
    return failed("a serial number");
  }
  X509* const signer = issuer == nullptr ? made.get() : issuer;
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kTenYears);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(signer));
  bool good = add(made.get(), signer, NID_subject_key_identifier, "hash");
  if (issuer == nullptr) {
    good = good && add(made.get(), signer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add(made.get(), signer, NID_key_usage, "critical,keyCertSign,cRLSign");
  } else {
    good = good && add(made.get(), signer, NID_basic_constraints, "critical,CA:FALSE") &&
           add(made.get(), signer, NID_key_usage, "critical,digitalSignature") &&
           add(made.get(), signer, NID_ext_key_usage, "serverAuth,clientAuth") &&
           add(made.get(), signer, NID_authority_key_identifier, "keyid") &&
           add(made.get(), signer, NID_subject_alt_name, alternatives);
  }
  if (!good) return failed("the names of '" + name + "'");
  if (X509_sign(made.get(), issuer_key, EVP_sha256()) == 0) return failed("signing that of '" + name + "'");
  return made;
}

template <class Write>
Result<std::string> as_pem(Write write) {
  const Memory memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || write(memory.get()) != 1) return failed("writing it");
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

Result<std::string> pem_of(X509* certificate) {
  return as_pem([&](BIO* to) { return PEM_write_bio_X509(to, certificate); });
}

Result<std::string> pem_of(EVP_PKEY* key) {
  return as_pem([&](BIO* to) { return PEM_write_bio_PKCS8PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

}  // namespace

struct Authority::Parts {
  Key key;
  Certificate certificate;
  std::string text;
};

Authority::Authority(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Authority::~Authority() = default;
Authority::Authority(Authority&& other) noexcept = default;
Authority& Authority::operator=(Authority&& other) noexcept = default;

Result<Authority> Authority::make(const std::string& name) {
  auto parts = std::make_unique<Parts>();
  parts->key.reset(EVP_EC_gen("P-256"));
  if (parts->key == nullptr) return failed("a key");
  BW_TRY(parts->certificate, make_certificate(name, parts->key.get(), nullptr, parts->key.get(), {}));
  BW_TRY(parts->text, pem_of(parts->certificate.get()));
  return Authority(std::move(parts));
}

const std::string& Authority::certificate() const { return parts_->text; }

Result<IssuedTexts> Authority::issue(const std::string& name, const std::string& alternatives) const {
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return failed("a key");
  BW_TRY(const auto certificate,
         make_certificate(name, key.get(), parts_->certificate.get(), parts_->key.get(), alternatives));
  auto text = pem_of(certificate.get());
  auto secret = pem_of(key.get());
  if (!text || !secret) return tl::unexpected((text ? secret : text).error());
  return IssuedTexts{std::move(*text), std::move(*secret)};
}

}  // namespace bellwether::local_cluster
