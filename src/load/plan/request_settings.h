// What a scenario says of requests without templates: the settings that are constant during the run (TLS, repetition),
// and which requests a threshold selects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"

namespace bellwether::plan {

// The content of a PEM file, shared by the steps that name the file.
struct PemFile {
  std::shared_ptr<const std::string> text;  // null: none
  std::string name;                         // for messages
  bool operator==(const PemFile&) const = default;
};

enum class TlsVersion : uint8_t { k12, k13 };

// How requests use TLS.
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

// A failed request is sent again. Each attempt is one request, and counts as one.
struct Retry {
  uint16_t times = 0;              // at most, after the first
  Duration wait;                   // before each of them
  bool on_error = true;            // there was no response
  bool on_any_status = true;       // a response that counts as failed
  std::vector<uint16_t> statuses;  // or one with such a status, failed or not
};

// Which requests a threshold selects by their response.
struct ResponseFilter {
  std::optional<uint16_t> status;  // 0: there was no response
  std::optional<bool> expected;    // false: it counts as failed
  bool takes_all() const { return !status && !expected; }
  bool takes(int of_response, bool is_expected) const {
    return (!status || *status == of_response) && (!expected || *expected == is_expected);
  }
  bool operator==(const ResponseFilter&) const = default;
};
// A time of a request.
enum class RequestTime : uint8_t { kResponse, kService, kLookUp, kConnect, kTls, kSend, kWait, kReceive };
// Requests of which one time is kept beside those of all requests of their step.
struct Watch {
  uint16_t step = 0;  // StepId
  ResponseFilter filter;
  RequestTime time = RequestTime::kResponse;
  bool operator==(const Watch&) const = default;
};

}  // namespace bellwether::plan
