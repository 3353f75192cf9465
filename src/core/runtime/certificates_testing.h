// A certificate authority for tests: issues certificates whose alternative names are those that a test wants.
#pragma once

#include <memory>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string>

#include "core/base/check.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::runtime {

struct IssuedFiles {
  std::string certificate;
  std::string key;
};

class TestAuthority {
 public:
  explicit TestAuthority(const TemporaryFolder& folder, std::string name = "authority")
      : folder_(folder), name_(std::move(name)), key_(EVP_EC_gen("P-256"), &EVP_PKEY_free) {
    certificate_ = make(key_.get(), "CN:" + name_, "");
    ca_file_ = write(certificate_.get(), name_ + "-ca.pem");
  }
  // PEM file of its own certificate.
  const std::string& ca_file() const { return ca_file_; }

  // `names` in OpenSSL's notation: "DNS:here.test,URI:bellwether://c/e/d/role/worker".
  IssuedFiles issue(const std::string& file, const std::string& names) const {
    const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    const Certificate certificate = make(key.get(), "CN:" + file, names);
    IssuedFiles files{write(certificate.get(), file + ".pem"), folder_.path(file + "-key.pem")};
    BIO* out = BIO_new_file(files.key.c_str(), "w");
    check(PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1, "a key is written");
    BIO_free(out);
    return files;
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
  using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

  // Signed by this authority; itself when it has no certificate yet.
  Certificate make(EVP_PKEY* key, const std::string& common, const std::string& names) const {
    Certificate made(X509_new(), &X509_free);
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -86400);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 86400);
    X509_set_pubkey(made.get(), key);
    const std::string name = common.substr(3);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    const X509* issuer = certificate_ == nullptr ? made.get() : certificate_.get();
    X509_set_issuer_name(made.get(), X509_get_subject_name(issuer));
    add(made.get(), NID_basic_constraints, certificate_ == nullptr ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (!names.empty()) add(made.get(), NID_subject_alt_name, names);
    check(X509_sign(made.get(), key_.get(), EVP_sha256()) != 0, "a certificate is signed");
    return made;
  }
  static void add(X509* to, int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    check(extension != nullptr, "the test's names are well formed");
    X509_add_ext(to, extension, -1);
    X509_EXTENSION_free(extension);
  }
  std::string write(X509* certificate, const std::string& file) const {
    BIO* out = BIO_new_file(folder_.path(file).c_str(), "w");
    check(PEM_write_bio_X509(out, certificate) == 1, "a certificate is written");
    BIO_free(out);
    return folder_.path(file);
  }

  const TemporaryFolder& folder_;
  std::string name_;
  Key key_;
  Certificate certificate_{nullptr, &X509_free};
  std::string ca_file_;
  mutable uint64_t serial_ = 0;
};

}  // namespace bellwether::runtime
