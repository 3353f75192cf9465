#include "load/plan/compile/certificates.h"

#include <algorithm>
#include <array>

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

}  // namespace bellwether::plan
