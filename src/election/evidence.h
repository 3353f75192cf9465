// Evidence that a holder does its work. A renewal proves only that the renewing thread is alive; a holder whose work
// hangs, or whose disk does not answer, is alive and useless (a grey failure). So a renewal needs evidence of each
// required kind, no older than its limit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/time.h"

namespace bellwether::election {

enum class EvidenceKind : uint8_t {
  kWork,     // the guarded work moves: it reported progress. Counts only while it runs.
  kDisk,     // a small write to the disk of the work succeeded
  kCommand,  // the user's health command succeeded
  kSelf,     // the process finds itself fit, and no other candidate's turn comes before its own
};
inline constexpr std::size_t kEvidenceKinds = 4;
const char* to_string(EvidenceKind kind);

class Evidence {
 public:
  // From now on evidence of this kind must not be older than this.
  void require(EvidenceKind kind, Duration within);
  void good(Instant now, EvidenceKind kind);
  // An explicit report, which holds until good() of the same kind.
  void bad(Instant now, EvidenceKind kind, std::string why);
  // The work begins: required evidence counts from here.
  void begin(Instant now);

  // The reason against holding a key, or nothing. `working`: the work runs, so its progress counts; otherwise all other
  // required evidence must have been good once.
  std::optional<std::string> against(Instant now, bool working) const;

 private:
  struct Source {
    std::optional<Duration> within;
    Instant last_good;
    bool ever_good = false;
    bool bad = false;
    std::string why;
  };
  std::array<Source, kEvidenceKinds> sources_;
};

}  // namespace bellwether::election
