// X.509 certificates (RFC 5280), each with a new key (P-256), as PEM texts (RFC 7468).
#pragma once

#include <string>

#include "core/base/result.h"

namespace bellwether::runtime {

struct Certified {
  std::string certificate;
  std::string key;  // PKCS #8, not encrypted: the caller keeps it secret
};

struct CertificateRequest {
  std::string name;            // the common name
  std::string alternatives{};  // in OpenSSL's notation: "DNS:m1,IP:127.0.0.1,URI:…"; empty: none
  bool authority = false;      // it may sign certificates that are no authorities; others serve both ends of TLS
  int days = 1;                // from now; it is good from a day ago on, for clocks differ
};

// Signed by `issuer`; by itself when that is nullptr. kIo: OpenSSL could not, and why, also for an issuer or names that
// it cannot read. Any thread.
Result<Certified> make_certificate(const CertificateRequest& request, const Certified* issuer = nullptr);

}  // namespace bellwether::runtime
