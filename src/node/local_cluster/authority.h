// A certificate authority for one cluster: a key and certificates as texts (PEM), made with OpenSSL's library.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace bellwether::local_cluster {

struct IssuedTexts {
  std::string certificate;
  std::string key;
};

class Authority {
 public:
  // With a new key (P-256), good for ten years. kIo: OpenSSL could not, and why.
  static Result<Authority> make(const std::string& name);
  ~Authority();
  Authority(Authority&& other) noexcept;
  Authority& operator=(Authority&& other) noexcept;

  // Of the authority itself.
  const std::string& certificate() const;
  // `alternatives` in OpenSSL's notation: "DNS:m1,IP:127.0.0.1,URI:…". Good for as long as the authority.
  Result<IssuedTexts> issue(const std::string& name, const std::string& alternatives) const;

 private:
  struct Parts;
  explicit Authority(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace bellwether::local_cluster
