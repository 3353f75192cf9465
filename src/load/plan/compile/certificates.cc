#include "load/plan/compile/certificates.h"

#include <algorithm>
#include <array>
#include <memory>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "core/base/freed.h"

namespace bellwether::plan {

bool holds_certificate(std::string_view pem) {
  static constexpr std::array<std::string_view, 3> kBeginnings{
      "-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----", "-----BEGIN X509 CERTIFICATE-----"};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [pem](std::string_view begin) { return pem.find(begin) != std::string_view::npos; });
}

bool holds_plain_key(std::string_view pem) {
  const std::size_t end = pem.find("PRIVATE KEY-----");
  return end != std::string_view::npos && !pem.substr(0, end).ends_with("ENCRYPTED ") &&
         pem.find("Proc-Type: 4,ENCRYPTED") == std::string_view::npos;
}

Status check_pair(std::string_view certificate_pem, std::string_view key_pem) {
  using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
  const auto memory = [](std::string_view pem) {
    return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  };
  // An encrypted key is an error. OpenSSL's own function would ask for the passphrase on the terminal.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  const Bio certificate_text = memory(certificate_pem);
  const std::unique_ptr<X509, Freed<X509_free>> certificate(
      PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const Bio key_text = memory(key_pem);
  const std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, no_passphrase, nullptr));
  const bool fits = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!certificate) return fail(Errc::kInvalid, "the certificate is damaged");
  if (!key) return fail(Errc::kInvalid, "the key is damaged");
  if (!fits) return fail(Errc::kInvalid, "the key belongs to another certificate");
  return {};
}

}  // namespace bellwether::plan
