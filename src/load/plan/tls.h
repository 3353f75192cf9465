// How requests use TLS, as a scenario says it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace bellwether::plan {

// The content of a PEM file, shared by the steps that name the file.
struct PemFile {
  std::shared_ptr<const std::string> text;  // null: none
  std::string name;                         // for messages
  bool operator==(const PemFile&) const = default;
};

enum class TlsVersion : uint8_t { k12, k13 };

struct Tls {
  bool verify = true;
  PemFile ca;               // to trust; none: the system's
  PemFile certificate;      // of the client, with its chain
  PemFile key;              // of that certificate. A secret
  std::string server_name;  // asked for and verified in place of the URL's host; empty: the host
  TlsVersion min_version = TlsVersion::k12;
  TlsVersion max_version = TlsVersion::k13;
  bool resume = false;  // a new connection of a user resumes the user's last session
  bool operator==(const Tls&) const = default;
};

}  // namespace bellwether::plan
